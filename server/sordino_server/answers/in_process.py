"""Answers from the process that keeps what it decoded."""

from __future__ import annotations

import anyio.to_thread

from sordino_server.answers.service import AnsweringRound, AnswersKind, answering_round
from sordino_server.context import Context


async def computed(context: Context, campaign: str, kind: AnswersKind, texts: tuple[str, ...]) -> bytes:
    """The document of the answers to questions of one kind.

    Raises as `answering_round` does, and InvalidValue or ServerError for what is no question about the domain.
    """
    closed = await anyio.to_thread.run_sync(_answering_round, context, campaign)
    url = context.database.url.render_as_string(hide_password=False)
    return await context.answers.run(_compute, url, closed, kind, texts)


def _compute(url: str, closed: AnsweringRound, kind: AnswersKind, texts: tuple[str, ...]) -> bytes:
    # Imported here since the process that answers requests imports this module, and must not hold the estimators.
    from sordino_server.answers.computing import compute_answers

    return compute_answers(url, closed, kind, texts)


def _answering_round(context: Context, campaign: str) -> AnsweringRound:
    with context.database.read("read closed round") as session:
        return answering_round(session, campaign, context.clock.now())
