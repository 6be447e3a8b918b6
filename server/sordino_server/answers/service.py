"""Answers of a closed campaign: which round gives them, or why none does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlalchemy.orm import Session

from sordino_analysis.questions.linear.on_demand import QuestionKind
from sordino_server import rounds
from sordino_server.campaigns import service as campaigns
from sordino_server.errors import ServerError
from sordino_server.estimates import service as estimates
from sordino_shared.protocol import Manifest, Problem, Rotating

AnswersKind = QuestionKind | Literal["rule"]


@dataclass(frozen=True, kw_only=True)
class AnsweringRound:
    """The last round of an estimated campaign, by its row number, and its plan by the digests of the two parts."""

    campaign: str
    number: int
    index: int
    device_digest: str
    analyst_digest: str


def answering_round(session: Session, campaign: str, now: int) -> AnsweringRound:
    """Raises ServerError: `not-found`, `estimate-not-ready`, or `invalid-request` for a pairwise statistic."""
    manifest = Manifest.read(campaigns.get(session, campaign).manifest)
    if manifest.protocol is not None:
        raise ServerError(
            Problem.INVALID_REQUEST,
            "the campaign asks for a pairwise statistic, whose reports answer nothing else: see "
            f"/v1/campaigns/{campaign}/estimates",
        )
    if isinstance(manifest.assignment, Rotating):
        raise ServerError(
            Problem.INVALID_REQUEST,
            f"a series has estimates of its periods and of windows of them: see /v1/campaigns/{campaign}/series",
        )
    estimates.stored_last(session, campaign, now)
    row = rounds.of_campaign(session, campaign)[-1]
    return AnsweringRound(
        campaign=campaign,
        number=row.id,
        index=row.index,
        device_digest=row.device_digest,
        analyst_digest=row.analyst_digest,
    )
