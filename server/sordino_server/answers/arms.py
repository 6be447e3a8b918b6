"""The answers of each arm of a closed experiment: a function of the database alone.

`arms_document` asks the process that answers questions, which alone needs the estimators.
"""

from __future__ import annotations

import anyio.to_thread
from sqlalchemy.orm import Session

from sordino_server.answers.on_demand import AnsweringRound, answering_round
from sordino_server.campaigns import service as campaigns
from sordino_server.context import Context
from sordino_server.errors import ServerError
from sordino_shared.protocol import Manifest, Problem


async def arms_document(context: Context, campaign: str) -> bytes:
    """The document; raises `not-found` for a campaign without arms, and as `answering_round` does."""
    closed = await anyio.to_thread.run_sync(_closed_with_arms, context, campaign)
    url = context.database.url.render_as_string(hide_password=False)
    return await context.answers.run(_compute, url, closed)


def _closed_with_arms(context: Context, campaign: str) -> AnsweringRound:
    with context.database.read("read closed arms") as session:
        _check_arms(session, campaign)
        return answering_round(session, campaign, context.clock.now())


def _check_arms(session: Session, campaign: str) -> None:
    if not Manifest.read(campaigns.get(session, campaign).manifest).arms:
        raise ServerError(Problem.NOT_FOUND, f"the campaign has no arms: see /v1/campaigns/{campaign}/estimates")


def _compute(url: str, closed: AnsweringRound) -> bytes:
    # Imported here since the process that answers requests imports this module, and must not hold the estimators.
    from sordino_server.answers.arms_computing import compute_arms

    return compute_arms(url, closed)
