"""What people read of a batch: one sentence for each state, the same on the command line, in pages and in errors."""

from __future__ import annotations

from sordino_server.kit.clock import iso_8601
from sordino_server.models import Batch, BatchState
from sordino_shared.protocol import RoundState
from sordino_shared.protocol.routes import ShuffledRoute
from sordino_shared.protocol.sealed import BatchEnd, BatchStatement
from sordino_shared.quantities import quantity

KEY_LOST = (
    "the key that opens this round's reports is not in SORDINO_ROUND_KEYS: restore the folder from its backup and "
    "retry the round; without it the reports are lost, and what devices spent stays spent"
)
ISSUER_LOST = (
    "the seed of the key that made this round's tokens is not in the database, so no token can be checked: restore the "
    "database from a backup and retry the round, or cancel the campaign"
)


def why_withheld(route: ShuffledRoute, content: bytes | None) -> str:
    """Why a shuffler released nothing, by its statement."""
    statement = BatchStatement.read(content or b"")
    if statement.ended is BatchEnd.ABANDONED:
        return f"{route.shuffler.name} gave the round up and released nothing: no report was opened"
    tokens = "" if route.issuer is None else ", or got no tokens for its random reports, which its log says"
    return (
        f"too few devices took part: {route.shuffler.name} received fewer than {route.floor} reports, or had released "
        f"the round before{tokens}, and deleted them unopened; ask again for longer, or with a lower floor"
    )


def said_of(batch: Batch, state: RoundState, route: ShuffledRoute, ends_at: int) -> str:
    """How far the batch of a round is, or whom it waits for; `ends_at` in Unix seconds."""
    name = route.shuffler.name
    match BatchState(batch.state):
        case BatchState.RECEIVING if state is RoundState.CANCELLED:
            return "the round was cancelled, and its reports are not opened"
        case BatchState.RECEIVING if batch.pages:
            pages, reports = quantity(batch.pages, "page"), quantity(batch.reports, "report")
            return f"the batch of {name} is on its way: {pages} with {reports} so far"
        case BatchState.RECEIVING if state is RoundState.CLOSED:
            return f"waiting for the batch of {name}, whose last report was due at {iso_8601(ends_at)}"
        case BatchState.RECEIVING:
            return f"{name} takes reports until {iso_8601(ends_at)}, and hands on its batch then"
        case BatchState.STATED:
            when = "is opened when the round closes" if state is RoundState.OPEN else "waits for a worker to open it"
            return f"the batch of {name} with {_parts(batch)} is here and {when}"
        case BatchState.COUNTED:
            refused = quantity(batch.refused, "report") if batch.refused else "none"
            return f"counted {_parts(batch)} of {name}, less {refused} refused"
        case BatchState.WITHHELD:
            return why_withheld(route, batch.statement)
        case BatchState.UNREADABLE:
            return KEY_LOST


def _parts(batch: Batch) -> str:
    """By the shuffler's statement."""
    return f"{quantity(batch.received, 'report')} of devices and {batch.blanket:,} random ones"
