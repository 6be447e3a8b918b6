"""/console/log: the public log of what is asked, its witnesses, and the logs that this server witnesses"""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel
from sqlalchemy.orm import Session

from sordino_server.console.console_route import Analyst, ConsoleRoute
from sordino_server.console.pages import ConsolePage, page
from sordino_server.context import Injected
from sordino_server.kit.page_parameters import PageQuery
from sordino_server.models import Log
from sordino_server.public_log import repository, signers
from sordino_server.public_log.schemas import LogDocument, LogEntries, LogWitnesses
from sordino_server.public_log.standing import LogStanding, entries_page, vouching

router = APIRouter(prefix="/console", route_class=ConsoleRoute)

_COLUMNS = ("number", "kind", "at", "subject", "campaign", "round", "leaf", "text")


class LogPage(BaseModel):
    """The log as it stands, its witnesses, and a page of its entries; `log` is null on a server that keeps none."""

    log: LogDocument | None
    vouching: LogWitnesses
    entries: LogEntries

    @property
    def next_page_token(self) -> str | None:
        """Of the entries."""
        return self.entries.next_page_token


@page(router, "/log", "log.html", _COLUMNS)
def show_log(_: Analyst, context: Injected, requested: PageQuery) -> ConsolePage:
    """The newest checkpoint, who cosigned it, and the entries, newest first."""
    with context.database.read("console log") as session:
        log = repository.current(session)
        standing = None if log is None else LogStanding.of(session, log, context.clock.now())
        none = LogEntries(entries=[], next_page_token=None)
        document = LogPage(
            log=None if standing is None else standing.document(),
            vouching=vouching(session, standing, context.settings),
            entries=none if log is None else entries_page(session, log, requested),
        )
        rows = document.entries.entries
        values = {
            "kept": repository.kept_campaigns(session, {each.campaign for each in rows if each.campaign is not None}),
            "ending": () if standing is None else standing.ending,
            "signers": [] if log is None else _signers(session, log, context.clock.now()),
        }
    return ConsolePage(title="Public log", document=document, rows=rows, values=values)


def _signers(session: Session, log: Log, now: int) -> list[tuple[str, str, int | None]]:
    """Key, state and end of each key that signs manifests."""
    return [(key.hex(), each.state(now), each.expires) for key, each in signers.named(session, log).items()]
