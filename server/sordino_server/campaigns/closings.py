"""A round that its rule closed, in the audit log: the server did it, and why."""

from __future__ import annotations

from sqlalchemy.orm import Session

from sordino_server import aggregates, rounds
from sordino_server.campaigns import repository
from sordino_server.keys import service as keys
from sordino_server.kit.db import Database
from sordino_server.rounds.periods import close_due_periods
from sordino_server.rounds.round_lifecycle import close_due_rounds


def close_due(database: Database, now: int) -> list[tuple[str, int]]:
    """Close the rounds and periods that have their reports or their time; campaign and number of each."""
    return [*close_due_rounds(database, now, note_closing), *close_due_periods(database, now, note_closing)]


def note_closing(session: Session, campaign: str, index: int, now: int) -> None:
    """Write that the worker closed a round, in the transaction that does: with how many reports, and by which rule."""
    row = rounds.find(session, campaign, index)
    if row is None:
        return
    counted = aggregates.counts_by_round(session, [row.id])[row.id]
    rule = repository.closing_rule(session, campaign, index)
    wanted = None if rule is None else rule.after_reports
    full = wanted is not None and counted >= wanted
    after = {"reports": counted, "wanted": wanted, "by": "reports" if full else "time"}
    keys.record(session, None, "close round", f"/v1/campaigns/{campaign}/rounds/{index}/close", now, after=after)
