"""Signed tasks: the same bytes for everybody, and a number that grows with every change."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy.orm import Session

from sordino_server.kit.db import Database
from sordino_server.models import SignedTask
from sordino_server.shuffled.round_keys import RoundKeys
from sordino_shared.protocol import Task
from sordino_shared.protocol.routes import SIGNATURE_BYTES


def signed(database: Database, keys: RoundKeys, task: Task) -> Task:
    """The task with a number and the collector's signature: the last one, unless something changed since."""
    campaign = str(task.campaign)
    with database.read("get signed task") as session:
        known = session.get(SignedTask, campaign)
    if known is not None and _same(Task.read(known.content), task):
        return Task.read(known.content)
    return database.run("sign task", lambda session: _sign(session, keys, campaign, task))


def _same(known: Task, task: Task) -> bool:
    return replace(known, number=0, signature=None) == task


def _sign(session: Session, keys: RoundKeys, campaign: str, task: Task) -> Task:
    known = session.get(SignedTask, campaign, with_for_update=True, populate_existing=True)
    if known is not None and _same(Task.read(known.content), task):
        return Task.read(known.content)
    number = 1 if known is None else known.number + 1
    unsigned = replace(task, number=number, signature=bytes(SIGNATURE_BYTES))
    made = replace(unsigned, signature=keys.sign_task(campaign, unsigned.signed_message))
    if known is None:
        session.add(SignedTask(campaign_id=campaign, number=number, content=made.content))
    else:
        known.number, known.content = number, made.content
    return made
