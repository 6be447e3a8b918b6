"""Estimates of a series from the process that keeps what it decoded."""

from __future__ import annotations

from sordino_server.context import Context
from sordino_server.series.service import SeriesQuestion


async def computed(context: Context, campaign: str, question: SeriesQuestion) -> bytes:
    """The document of the answer; raises as `asked_periods` does."""
    url = context.database.url.render_as_string(hide_password=False)
    return await context.answers.run(_compute, url, campaign, question, context.clock.now())


def _compute(url: str, campaign: str, question: SeriesQuestion, now: int) -> bytes:
    # Imported here since the process that answers requests imports this module, and must not hold the estimators.
    from sordino_server.series.computing import compute_series

    return compute_series(url, campaign, question, now)
