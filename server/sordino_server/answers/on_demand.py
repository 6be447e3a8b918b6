"""Answers to questions that are asked of a closed campaign, one by one: which round gives them, or why none does.

`on_demand_computing` computes them, in the process that keeps what it decoded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import anyio.to_thread
from sqlalchemy.orm import Session

from sordino_analysis.kinds.linear import LinearExtras
from sordino_analysis.kinds.strings import StringExtras
from sordino_analysis.questions.linear.on_demand import QuestionKind
from sordino_server import rounds
from sordino_server.answers.stored import read_estimate, stored_last
from sordino_server.campaigns import service as campaigns
from sordino_server.context import Context
from sordino_server.errors import ServerError
from sordino_shared.protocol import Manifest, Problem, Rotating

AnswersKind = QuestionKind | Literal["rule", "string"]


@dataclass(frozen=True, kw_only=True)
class AnsweringRound:
    """The last round of an estimated campaign, by its row number, and its plan by the digests of the two parts.

    `blanket` of its reports are random ones of a shuffler, as many of each of the `arms`.
    """

    campaign: str
    number: int
    index: int
    device_digest: str
    analyst_digest: str
    blanket: int = 0
    arms: int = 0

    def blanket_of(self, arm: int | None) -> int:
        """How many random reports are in an arm; None: in the whole round."""
        return self.blanket if arm is None else self.blanket // self.arms


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
    stored = stored_last(session, campaign, now)
    row = rounds.of_campaign(session, campaign)[-1]
    return AnsweringRound(
        campaign=campaign,
        number=row.id,
        index=row.index,
        device_digest=row.device_digest,
        analyst_digest=row.analyst_digest,
        blanket=_blanket(stored) if row.shuffled else 0,
        arms=row.arms,
    )


def _blanket(stored: bytes) -> int:
    """How many random reports of a shuffler the estimate says there were."""
    extras = read_estimate(stored).extras
    return (extras.blanket or 0) if isinstance(extras, LinearExtras | StringExtras) else 0


async def answers_document(
    context: Context, campaign: str, kind: AnswersKind, texts: tuple[str, ...], given: str | None = None
) -> bytes:
    """The document of the answers to questions of one kind, about all users or those of a group.

    Raises as `answering_round` does, and InvalidValue or ServerError for anything but a question about the domain.
    """
    closed = await anyio.to_thread.run_sync(_answering_round, context, campaign)
    url = context.database.url.render_as_string(hide_password=False)
    return await context.answers.run(_compute, url, closed, kind, texts, given)


def _compute(url: str, closed: AnsweringRound, kind: AnswersKind, texts: tuple[str, ...], given: str | None) -> bytes:
    # Imported here since the process that answers requests imports this module, and must not hold the estimators.
    from sordino_server.answers.on_demand_computing import compute_answers

    return compute_answers(url, closed, kind, texts, given)


def _answering_round(context: Context, campaign: str) -> AnsweringRound:
    with context.database.read("read closed round") as session:
        return answering_round(session, campaign, context.clock.now())
