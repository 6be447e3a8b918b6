"""The end of a round's tokens: its key, accounts and counted tokens are deleted once nothing comes of it any more."""

from __future__ import annotations

from functools import partial

from sqlalchemy.orm import Session

from sordino_server.kit.db import Database
from sordino_server.tokens import repository


def forget_ended(database: Database) -> list[tuple[str, int]]:
    """Forget the tokens of all rounds that are estimated or cancelled; returns (campaign, index) of each."""
    with database.read("find ended tokens") as session:
        over = repository.ended(session)
    for ended in over:
        database.run("forget tokens", partial(_forget, ended))
    return [(campaign, index) for campaign, index, _ in over]


def _forget(ended: tuple[str, int, int | None], session: Session) -> None:
    repository.forget(session, *ended)
