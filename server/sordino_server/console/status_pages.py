"""/status/{id}: what device owners may read of a campaign that is public, without a key"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from fastapi import APIRouter, Request, Response
from sqlalchemy.orm import Session
from starlette.responses import HTMLResponse

from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.answers.shown import shown_answers
from sordino_analysis.answers.svg import is_drawable
from sordino_analysis.kinds.registry import kind_named
from sordino_server.answers import picture
from sordino_server.answers import stored as estimates
from sordino_server.answers.stored import read_estimate
from sordino_server.campaigns import service as campaigns
from sordino_server.campaigns.retention import days_kept
from sordino_server.campaigns.schemas import CampaignStatus
from sordino_server.campaigns.status import status_of
from sordino_server.console.budget_words import date_of
from sordino_server.console.console_route import ConsoleRoute
from sordino_server.console.estimate_pages import inline_picture
from sordino_server.console.owner_words import Sent, contact, kept, sent
from sordino_server.console.rendering import HEADERS, fragment
from sordino_server.console.shared_texts import SharedTexts
from sordino_server.context import Context, Injected
from sordino_server.errors import ServerError
from sordino_server.kit.path_parameters import DigestPath
from sordino_server.models import Campaign
from sordino_server.plans import service as plans
from sordino_shared.protocol import CampaignState, DevicePart, Manifest, OwnerText, Problem

router = APIRouter(prefix="/status", route_class=ConsoleRoute)

MAX_AGE_S = 60
_SHOWN_ANSWERS = 100
_PUBLIC_PARTS = ("answer", "band")
_DIGITS = 2
# A count of a few people says of each of them that they took part.
FEWEST = 100


@dataclass(frozen=True, kw_only=True)
class PublicStatus:
    """What anybody may know; `reports` is in words."""

    name: str
    purpose: str
    state: str
    epsilon: float
    attributes: tuple[str, ...]
    opened_at: int | None
    closed_at: int | None
    reports: str
    estimate: bytes | None
    look: tuple[str, str]
    texts: tuple[OwnerText, ...]
    sent: Sent
    kept: str
    contact: str | None
    shuffler: str | None


@router.get("/{campaign_id}")
async def get_status(request: Request, context: Injected, campaign_id: DigestPath) -> Response:
    """The page, the same for everybody, made once in ten seconds at most; 404 for a campaign that is not public."""
    texts: SharedTexts = request.app.state.public_texts
    content = await texts.get(f"/status/{campaign_id}", lambda: _page(context, campaign_id))
    return shared(HTMLResponse(content, headers=HEADERS))


def _page(context: Context, campaign_id: str) -> bytes:
    status = _public(context, campaign_id)
    answers = None if status.estimate is None else _answers(read_estimate(status.estimate))
    return fragment("status.html", title=status.name, campaign=campaign_id, status=status, answers=answers).encode()


def _answers(estimate: EstimateDocument) -> dict[str, object]:
    """The first answers with the band that holds all of them, and whether there is a picture."""
    kind, table = kind_named(estimate.kind), estimate.table
    rows = list(islice(kind.shown(estimate), _SHOWN_ANSWERS))
    shown = shown_answers(table, kind.row, rows=rows, parts=_PUBLIC_PARTS)
    finding = kind.finding(estimate)
    return inline_picture(table, finding) | {
        "finding": finding,
        "shown": shown,
        "count": len(table),
        "drawable": is_drawable(table),
    }


@router.get("/{campaign_id}/estimate.svg")
async def draw_status(request: Request, context: Injected, campaign_id: DigestPath) -> Response:
    """The estimate as a picture; 404 until there is one."""
    texts: SharedTexts = request.app.state.public_texts
    content = await texts.get(f"/status/{campaign_id}/estimate.svg", lambda: _drawn(context, campaign_id))
    headers = {"Content-Security-Policy": picture.POLICY}
    return shared(Response(content, headers=headers, media_type="image/svg+xml"))


def _drawn(context: Context, campaign_id: str) -> bytes:
    status = _public(context, campaign_id)
    if status.estimate is None:
        raise ServerError(Problem.NOT_FOUND, "the campaign has no estimate yet")
    return picture.draw(status.estimate, status.name, FEWEST).encode()


def rounded_down(count: int) -> int:
    """The count with all digits after the second as zeros: 12,999 is 12,000."""
    scale: int = 10 ** max(0, len(str(count)) - _DIGITS)
    return count // scale * scale


def counted(reports: int, is_open: bool) -> str:
    """The number of reports as it is shown: below 100 only that, and rounded down while a campaign is open."""
    if reports < FEWEST:
        return f"fewer than {FEWEST}"
    # Between two rounds a later count minus this one would tell who answered at the end.
    return f"at least {rounded_down(reports):,}" if is_open else f"{reports:,}"


def check_public(context: Context, campaign_id: str) -> None:
    """Raise `not-found` for a campaign that is not public, or was never opened."""
    with context.database.read("is it public") as session:
        _public_row(session, campaign_id)


def _public_row(session: Session, campaign_id: str) -> Campaign:
    row = campaigns.get(session, campaign_id)
    if not row.public or row.opened_at is None:
        raise ServerError(Problem.NOT_FOUND, "there is no public campaign of this id")
    return row


def _public(context: Context, campaign_id: str) -> PublicStatus:
    with context.database.read("public status") as session:
        row = _public_row(session, campaign_id)
        now = context.clock.now()
        status = status_of(session, row, now)
        estimate = _estimate(session, campaign_id, now) if status.state is CampaignState.CLOSED else None
        manifest = Manifest.read(row.manifest)
        part = _first_part(session, manifest)
        days = days_kept(session, context.settings.raw_report_retention_days)
    reports = sum(each.users for each in status.rounds)
    return PublicStatus(
        name=status.name,
        purpose=manifest.purpose,
        state=status.state.value,
        epsilon=status.epsilon,
        attributes=tuple(each.name for each in manifest.domain.attributes),
        opened_at=status.opened_at,
        closed_at=status.closed_at,
        reports=counted(reports, status.state is CampaignState.OPEN),
        estimate=estimate,
        look=_look(status),
        texts=manifest.texts,
        sent=sent(manifest, part),
        kept=kept(days, manifest),
        contact=contact(manifest.texts, context.settings.card_contact),
        shuffler=status.shuffler,
    )


def _first_part(session: Session, manifest: Manifest) -> DevicePart | None:
    plan = manifest.rounds[0].plan
    return None if plan is None else plans.device_part(session, str(plan.device))


def _look(status: CampaignStatus) -> tuple[str, str]:
    """How the question stands, in words with an icon."""
    if status.state is CampaignState.OPEN:
        return "live", "Every period" if status.series is not None else "Collecting"
    if status.state is CampaignState.CANCELLED:
        return "stop", "Cancelled"
    return "done", "Finished" if status.closed_at is None else f"Finished {date_of(status.closed_at)}"


def _estimate(session: Session, campaign_id: str, now: int) -> bytes | None:
    try:
        return estimates.stored_last(session, campaign_id, now)
    except ServerError as error:
        if error.problem is not Problem.ESTIMATE_NOT_READY:
            raise
        return None


def shared(response: Response) -> Response:
    """What caches may keep for a minute."""
    response.headers["Cache-Control"] = f"public, max-age={MAX_AGE_S}"
    return response
