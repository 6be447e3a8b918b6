"""The tiles of the front page: each question with its state, one number with its error, and one sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

from sordino_analysis.answers.banded import BandedAnswer
from sordino_analysis.answers.headline import Headline
from sordino_analysis.figures import SHARE, amount
from sordino_server.campaigns.schemas import CampaignStatus
from sordino_server.console.inline_pictures import TILE, Bars, Curve, bars, curve
from sordino_server.models import Campaign
from sordino_shared.protocol import CampaignState
from sordino_shared.quantities import quantity

# As the stylesheet names them: a tick, a dot, a triangle, a cross and a pencil.
Look = Literal["done", "live", "look", "stop", "draft"]


class QuestionTile(BaseModel):
    """A question as the front page shows it; `number` is followed by its `error`, and `says` is its sentence."""

    id: str
    name: str
    look: Look
    state: str
    number: str
    error: str
    says: str
    devices: int
    wanted: int | None
    changed_at: int | None
    path: str


@dataclass(frozen=True, kw_only=True)
class DrawnTile:
    """A tile with the picture of its headline."""

    tile: QuestionTile
    more: int | None = None
    bars: Bars | None = None
    curve: Curve | None = None


def tile_of(row: Campaign, status: CampaignStatus) -> DrawnTile:
    """From the row, its counts and its stored headline: no estimate is read."""
    told = None if row.headline is None else Headline.model_validate_json(row.headline)
    look, state = _state(status, told)
    number, error, says = _unanswered(status) if told is None else _answered(told)
    closed = status.closed_at or status.opened_at or status.created_at
    shows_result = told is not None and not status.arms
    tile = QuestionTile(
        id=row.id,
        name=row.name,
        look=look,
        state=state,
        number=number,
        error=error,
        says=says,
        devices=sum(each.users for each in status.rounds),
        wanted=None if status.predicted is None else status.predicted.users_wanted,
        changed_at=closed,
        path=_path(status, shows_result),
    )
    of_bars, of_steps = _pictures(told)
    return DrawnTile(tile=tile, more=None if told is None else told.more, bars=of_bars, curve=of_steps)


def _path(status: CampaignStatus, shows_result: bool) -> str:
    if status.state is CampaignState.READY:
        return f"/console/campaigns/{status.id}/actions/open"
    if status.series is not None and shows_result:
        return f"/console/campaigns/{status.id}/series"
    if status.arms and shows_result is False and status.headline is not None:
        return f"/console/experiments/{status.id}"
    return f"/console/campaigns/{status.id}{'/estimate' if shows_result else ''}"


def _state(status: CampaignStatus, told: Headline | None) -> tuple[Look, str]:
    failed = any(each.error for each in status.rounds)
    if status.state is CampaignState.READY:
        return "draft", "Draft"
    if status.state is CampaignState.CANCELLED:
        return "stop", "Cancelled"
    if failed:
        return "stop", "Has no answer"
    if status.state is CampaignState.OPEN:
        return "live", "Every period" if status.series is not None else "Collecting"
    if told is None:
        return "live", "Being computed"
    return ("look", "Too few to tell") if told.too_few else ("done", "Answered")


def _answered(told: Headline) -> tuple[str, str, str]:
    """The number, its error, and the first sentence without them."""
    first = told.sentences[0] if told.sentences else ""
    if told.number is None:
        return "", "", first
    whole = f": {told.number}"
    says = first.removesuffix(whole) if first.endswith(whole) else "; ".join(filter(None, (told.label, first)))
    number, mark, error = told.number.partition(" ± ")
    if mark:
        return number, f"± {error}", says
    number, mark, error = told.number.partition(" (")
    return number, f"({error}" if mark else "", says


def _unanswered(status: CampaignStatus) -> tuple[str, str, str]:
    """Of one without an answer: how many answered and are wanted, and the error that is expected."""
    error = next((each.error for each in status.rounds if each.error), None)
    if error is not None:
        return "", "", error
    counted = sum(each.users for each in status.rounds)
    wanted = None if status.predicted is None else status.predicted.users_wanted
    expected = None if status.predicted is None else status.predicted.rmse_wanted
    noted = "" if expected is None or wanted is None else f"expected error {amount(expected, SHARE)} with {wanted:,}"
    if status.state is CampaignState.READY:
        return "", "", "; ".join(filter(None, ("planned, nobody has been asked yet", noted)))
    if status.state is CampaignState.OPEN:
        return f"{counted:,}", "devices" if wanted is None else f"of {wanted:,} devices", noted
    if status.state is CampaignState.CANCELLED:
        return "", "", f"{quantity(counted, 'device')} answered; nothing was computed"
    return f"{counted:,}", "devices", "the answer is being computed"


def _pictures(told: Headline | None) -> tuple[Bars | None, Curve | None]:
    """Of a histogram its bars, of a distribution its curve."""
    if told is None or not told.points:
        return None, None
    if told.form == "steps":
        return None, curve([(float(end), value, low, high) for end, value, low, high in told.points], TILE, "")
    shown = [
        BandedAnswer(label=str(label), value=value, low=low, high=high, unit=SHARE)
        for label, value, low, high in told.points
    ]
    return bars(shown), None
