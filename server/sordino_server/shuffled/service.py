"""A batch is taken page by page, once, and only as its shuffler has signed it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from sordino_server import rounds
from sordino_server.errors import ServerError, found
from sordino_server.kit.db import Database
from sordino_server.models import Batch, BatchState, Campaign, Round, SealedPage
from sordino_server.plans import service as plans
from sordino_server.rounds import periods
from sordino_server.shuffled import repository
from sordino_server.shuffled.schemas import BatchStatus
from sordino_shared import ed25519
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Manifest, Problem, Rotating, RoundState
from sordino_shared.protocol.routes import ShuffledRoute
from sordino_shared.protocol.sealed import BatchEnd, BatchStatement, ShuffledPage, sealed_width
from sordino_shared.quantities import quantity


@dataclass(frozen=True, eq=False)
class _Receiving:
    """A shuffled round, locked, with its batch."""

    manifest: Manifest
    route: ShuffledRoute
    row: Round
    batch: Batch

    @property
    def status(self) -> BatchStatus:
        return BatchStatus.of(self.manifest, self.row, self.batch)

    def conflict(self, why: str) -> ServerError:
        """What is here already stands against what came."""
        members = {"next_page": self.batch.pages, "reports": self.batch.reports}
        return ServerError(Problem.BATCH_CONFLICT, f"round {self.row.index}: {why}", **members)


def status(session: Session, campaign: str, index: int) -> BatchStatus:
    """How far the batch is; raises `not-found`, and `wrong-route` for a campaign without a shuffler."""
    manifest, _ = _shuffled(session, campaign)
    row = rounds.find(session, campaign, index)
    if row is None:
        raise rounds.RoundNotFound(campaign, index)
    return BatchStatus.of(manifest, row, repository.find(session, row.id))


def take_page(
    database: Database, session: Session, campaign: str, index: int, number: int, page: ShuffledPage, now: int
) -> tuple[BatchStatus, bool]:
    """Where the batch stands, and whether the page is new: the same page again changes nothing.

    Raises `batch-conflict` for other bytes under its number, for a gap, for ids that do not ascend beyond the page
    before, and after the statement; `illegal-transition` or `round-not-open` where the round takes no batch.
    """
    if (str(page.campaign), page.round, page.page) != (campaign, index, number):
        raise InvalidValue(
            f"the page is number {page.page} of round {page.round} of campaign {page.campaign}", page.page
        )
    here = _receiving(database, session, campaign, index, now)
    known = repository.page(session, here.row.id, number)
    if known is not None:
        if known.digest != bytes(page.digest):
            raise here.conflict(f"page {number} was sent before with other reports")
        return here.status, False
    batch, ids = here.batch, page.ids()
    _check_width(session, here, page)
    if batch.state != BatchState.RECEIVING:
        raise here.conflict("its statement is here, and no page follows it")
    if number != batch.pages:
        raise here.conflict(f"page {batch.pages} is next, not {number}")
    if ids[0] <= batch.last_id:
        raise here.conflict("the ids of a page are above those of the page before")
    joined = b"".join(ids)
    session.add(SealedPage(round_id=here.row.id, page=number, digest=page.digest, ids=joined, sealed=page.sealed))
    batch.pages, batch.reports, batch.last_id = number + 1, batch.reports + page.count, bytes(ids[-1])
    return here.status, True


def _check_width(session: Session, here: _Receiving, page: ShuffledPage) -> None:
    payload = plans.device_part(session, here.row.device_digest).randomizer.payload_bytes
    width = sealed_width(payload + here.manifest.token_bytes, len(here.manifest.arms))
    if len(page.sealed) != width * page.count:
        raise InvalidValue(
            f"sealed reports of this round have {width} bytes, those of the page {len(page.sealed) // page.count}",
            page.page,
        )


def take_statement(
    database: Database, session: Session, campaign: str, index: int, statement: BatchStatement, now: int
) -> tuple[BatchStatus, bool]:
    """Where the batch stands, and whether the statement is new; raises `batch-conflict` where it does not fit.

    Raises InvalidValue unless the shuffler of the manifest has signed it.
    """
    if (str(statement.campaign), statement.round) != (campaign, index):
        raise InvalidValue(f"the statement is of round {statement.round} of campaign {statement.campaign}", index)
    here = _receiving(database, session, campaign, index, now)
    batch = here.batch
    if batch.statement is not None:
        if batch.statement != statement.content:
            raise here.conflict("another statement of this round is here: a round is released once")
        return here.status, False
    _check_signature(here.route, statement)
    if statement.ended is BatchEnd.TIME:
        _check_released(session, here, statement)
        batch.state = BatchState.STATED
    else:
        repository.delete_pages(session, here.row.id)
        batch.state, batch.pages, batch.reports = BatchState.WITHHELD, 0, 0
    batch.statement, batch.received, batch.blanket = statement.content, statement.received, statement.blanket
    return here.status, True


def _check_signature(route: ShuffledRoute, statement: BatchStatement) -> None:
    own = statement.key == route.shuffler.key
    if not own or not ed25519.verify(route.shuffler.key, statement.signature, statement.signed_message):
        raise InvalidValue(f"the statement is not signed by {route.shuffler.name}, whose key the manifest has", own)


def _check_released(session: Session, here: _Receiving, statement: BatchStatement) -> None:
    wanted = here.manifest.blanket
    if statement.blanket != wanted:
        raise here.conflict(f"the manifest wants {wanted} random reports, the statement has {statement.blanket}")
    if statement.received < here.route.floor:
        raise here.conflict(f"{statement.received} reports are below the floor of {here.route.floor}")
    if statement.reports != here.batch.reports:
        raise here.conflict(
            f"the statement is of {quantity(statement.reports, 'report')}, the pages have {here.batch.reports}"
        )
    if bytes(statement.root) != repository.root(session, here.row.id):
        raise here.conflict("the root of the statement is not that of the pages")


def _shuffled(session: Session, campaign: str) -> tuple[Manifest, ShuffledRoute]:
    manifest = Manifest.read(found(session.get(Campaign, campaign), "there is no campaign of this id").manifest)
    if not isinstance(manifest.route, ShuffledRoute):
        raise ServerError(Problem.WRONG_ROUTE, "devices of this campaign report to the server, not to a shuffler")
    return manifest, manifest.route


def _receiving(database: Database, session: Session, campaign: str, index: int, now: int) -> _Receiving:
    manifest, route = _shuffled(session, campaign)
    if isinstance(manifest.assignment, Rotating):
        periods.take_period(session, manifest, manifest.assignment, index, now)
    number = rounds.find(session, campaign, index)
    if number is None:
        raise rounds.RoundNotFound(campaign, index)
    row = rounds.lock_for_change(database, session, number.id)
    if row.state == RoundState.PENDING:
        raise ServerError(Problem.ROUND_NOT_OPEN, f"round {index} has not begun", state=row.state)
    if row.state == RoundState.CANCELLED:
        raise ServerError(Problem.ILLEGAL_TRANSITION, f"round {index} was cancelled: delete its batch", state=row.state)
    batch = repository.find(session, row.id)
    if batch is None:
        batch = Batch(
            round_id=row.id, state=BatchState.RECEIVING, pages=0, reports=0, last_id=b"", received=0, blanket=0,
            refused=0,
        )  # fmt: skip
        session.add(batch)
    return _Receiving(manifest, route, row, batch)
