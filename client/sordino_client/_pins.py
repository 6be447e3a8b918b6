"""What tasks named and may never change: the plan of each round, and the number of a signed task, which only grows.

A round has one plan for all devices, permanently: a server that names two plans, or goes back to an older task, can
distinguish devices by it. Everything here runs in the caller's transaction.
"""

from __future__ import annotations

import sqlite3

from sordino_client._errors import PlanRefused
from sordino_client._storage import blob, whole
from sordino_shared.protocol import CampaignId, Task


def pinned_plans(connection: sqlite3.Connection, campaign: CampaignId) -> dict[int, bytes]:
    """The digests of the device parts that tasks have named so far, by round."""
    rows = connection.execute("SELECT round, digest FROM pinned_plans WHERE campaign = ?", (bytes(campaign),))
    return {index: blob(digest) for index, digest in rows}


def is_pinned(connection: sqlite3.Connection, task: Task) -> bool:
    """Whether a task says nothing that is not pinned yet; raises `PlanRefused` where it contradicts what is."""
    named, pinned = _named(task), pinned_plans(connection, task.campaign)
    for index in named.keys() & pinned.keys():
        _check_same_plan(task.campaign, index, pinned[index], named[index])
    return has_number(connection, task) and named.items() <= pinned.items()


def pin_task(connection: sqlite3.Connection, task: Task) -> None:
    """Pin the plans and the number of a task that `is_pinned` was asked about in this transaction."""
    rows = [(bytes(task.campaign), index, plan) for index, plan in _named(task).items()]
    connection.executemany("INSERT INTO pinned_plans VALUES (?, ?, ?) ON CONFLICT DO NOTHING", rows)
    pin_number(connection, task)


def has_number(connection: sqlite3.Connection, task: Task) -> bool:
    """Whether the number of a task is the highest that was seen; raises `PlanRefused` for one that falls."""
    found = connection.execute(
        "SELECT coalesce(task_number, 0) FROM campaigns WHERE campaign = ?", (bytes(task.campaign),)
    )
    seen = whole(found.fetchone()[0])
    if task.number < seen:
        raise PlanRefused("task", f"its number is {task.number}, and {seen} was seen before", task.campaign)
    return task.number == seen


def pin_number(connection: sqlite3.Connection, task: Task) -> None:
    """Remember the number of a signed task that `has_number` was asked about in this transaction."""
    row = (task.number, bytes(task.campaign))
    if task.number:
        connection.execute("UPDATE campaigns SET task_number = ? WHERE campaign = ?", row)


def _named(task: Task) -> dict[int, bytes]:
    return dict(enumerate(map(bytes, task.device_parts)))


def _check_same_plan(campaign: CampaignId, index: int, pinned: bytes, named: bytes) -> None:
    if named != pinned:
        reason = f"it names plan {named.hex()} for round {index}, where an earlier one named {pinned.hex()}"
        raise PlanRefused("task", reason, campaign)
