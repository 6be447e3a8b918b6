"""Tiles of questions: three statements for any number of campaigns, and never an estimate, which may be megabytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from sqlalchemy.orm import Session

from sordino_analysis.answers.headline import Headline
from sordino_analysis.figures import SHARE, amount, figure
from sordino_server.campaigns import service as campaigns
from sordino_server.campaigns.campaign_filter import CampaignFilter
from sordino_server.campaigns.question import CampaignError, Question
from sordino_server.campaigns.schemas import SHOWN_PERIODS
from sordino_server.kit.pagination import Page
from sordino_server.models import Campaign
from sordino_server.questions import repository
from sordino_server.questions.repository import CountedRound
from sordino_server.questions.schemas import Look, QuestionList, QuestionTile, Show
from sordino_shared.protocol import CampaignState, Manifest, Rotating
from sordino_shared.quantities import quantity

_STATES: dict[Show, CampaignState | None] = {
    "all": None,
    "answered": CampaignState.CLOSED,
    "collecting": CampaignState.OPEN,
    "drafts": CampaignState.READY,
    "cancelled": CampaignState.CANCELLED,
}
# Number, error and sentence of a tile.
_Told = tuple[str, str, str]


def listed(session: Session, page: Page, show: Show) -> QuestionList:
    """A page of the questions in these states, newest first, and how many there are of each."""
    rows, token = campaigns.listed(session, page, CampaignFilter(state=_STATES[show], archived=False))
    rounds = repository.counted_rounds(session, [row.id for row in rows], SHOWN_PERIODS)
    by_state = campaigns.counts_by_state(session)
    return QuestionList(
        questions=[_tile_of(row, rounds[row.id]) for row in rows],
        counts={each: _count(by_state, _STATES[each]) for each in get_args(Show)},
        next_page_token=token,
    )


def _count(by_state: dict[CampaignState, int], state: CampaignState | None) -> int:
    return sum(by_state.values()) if state is None else by_state.get(state, 0)


def _tile_of(row: Campaign, rounds: Sequence[CountedRound]) -> QuestionTile:
    """From the row, its counts and its stored headline."""
    told = headline_of(row)
    manifest, devices = Manifest.read(row.manifest), sum(each.devices for each in rounds)
    is_series = isinstance(manifest.assignment, Rotating)
    error = next((each.error for each in rounds if each.error), None)
    question = None if row.question is None else Question.model_validate_json(row.question)
    expected = None if question is None else _expected(question, rounds, len(manifest.rounds))
    # The error of an experiment's answers is no error of the difference of its arms.
    noted = "" if question is None or expected is None or manifest.arms else _noted(question, expected)
    wanted = None if expected is None else expected.users_wanted
    look, state = state_of(row, told, error, is_series=is_series)
    number, after, says = _answered(told) if told is not None else _unanswered(row, devices, wanted, noted, error)
    return QuestionTile(
        id=row.id,
        name=row.name,
        look=look,
        state=state,
        number=number,
        error=after,
        says=says,
        devices=devices,
        wanted=wanted,
        changed_at=row.closed_at or row.opened_at or row.created_at,
        path=_path(row, told, is_series=is_series, is_experiment=bool(manifest.arms)),
        headline=told,
    )


def headline_of(row: Campaign) -> Headline | None:
    """The stored headline; None before there is one, and of a cancelled series, which tells nothing any more."""
    if row.headline is None or row.state == CampaignState.CANCELLED:
        return None
    return Headline.model_validate_json(row.headline)


def _expected(question: Question, rounds: Sequence[CountedRound], planned_rounds: int) -> CampaignError:
    """The error with the number of devices wanted."""
    closes_after = rounds[0].closes_after if rounds and planned_rounds == 1 else None
    return CampaignError.of(question, 0, closes_after)


def _noted(question: Question, expected: CampaignError) -> str:
    """The error with the number wanted, in words; empty where none is known."""
    rmse, wanted = expected.rmse_wanted, expected.users_wanted
    return "" if rmse is None or wanted is None else f"expected error {_error_text(question, rmse)} with {wanted:,}"


def _error_text(question: Question, rmse: float) -> str:
    """Of shares in per cent, of means in their unit or in per cent of their range, of a pairwise statistic as it is."""
    if question.variance is None:
        return figure(rmse, 3)
    if question.scale is None:
        return amount(rmse, SHARE)
    if question.unit:
        return amount(rmse, question.unit, rmse)
    return f"{amount(rmse / question.scale, SHARE, rmse / question.scale)} of the range"


def _path(row: Campaign, told: Headline | None, *, is_series: bool, is_experiment: bool) -> str:
    if row.state == CampaignState.READY:
        return f"/console/campaigns/{row.id}/actions/open"
    if told is None:
        return f"/console/campaigns/{row.id}"
    if is_experiment:
        return f"/console/experiments/{row.id}"
    return f"/console/campaigns/{row.id}/{'series' if is_series else 'estimate'}"


def state_of(row: Campaign, told: Headline | None, error: str | None, *, is_series: bool) -> tuple[Look, str]:
    """How a question stands, in one to three words, and the icon of that."""
    if row.state == CampaignState.READY:
        return "draft", "Draft"
    if row.state == CampaignState.CANCELLED:
        return "stop", "Cancelled"
    if error is not None:
        return "stop", "Has no answer"
    if row.state == CampaignState.OPEN:
        return "live", "Every period" if is_series else "Collecting"
    if told is None:
        return "live", "Being computed"
    return ("look", "Too few to tell") if told.too_few else ("done", "Answered")


def _answered(told: Headline) -> _Told:
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


def _unanswered(row: Campaign, devices: int, wanted: int | None, noted: str, error: str | None) -> _Told:
    """Of one without an answer: how many answered and are wanted, and the error that is expected."""
    if error is not None:
        return "", "", error
    if row.state == CampaignState.READY:
        return "", "", "; ".join(filter(None, ("planned, nobody has been asked yet", noted)))
    if row.state == CampaignState.OPEN:
        return f"{devices:,}", "devices" if wanted is None else f"of {wanted:,} devices", noted
    if row.state == CampaignState.CANCELLED:
        return "", "", f"{quantity(devices, 'device')} answered; no result is shown"
    return f"{devices:,}", "devices", "the answer is being computed"
