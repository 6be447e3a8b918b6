"""The picture of answers on demand, the same in the console and from the command line."""

from __future__ import annotations

from sordino_analysis.charts import EstimateChart, draw_estimate
from sordino_server.answers.schemas import AnswerDocument, ShareOnDemand
from sordino_server.errors import ServerError
from sordino_shared.protocol import Problem
from sordino_shared.quantities import quantity


def draw(content: bytes, name: str) -> str:
    """The text of an SVG file: shares with intervals and band; raises `not-found` for quantiles and rules."""
    document = AnswerDocument.model_validate_json(content)
    shares = [each for each in document.answers if isinstance(each, ShareOnDemand)]
    if not shares:
        raise ServerError(
            Problem.NOT_FOUND,
            "there are pictures of shares that hold for all users, not of quantiles or rules",
        )
    chart = EstimateChart(
        title=name,
        subtitle=(
            f"{quantity(document.users, 'user')}, ε = {document.epsilon:g}; the band holds "
            f"{quantity(document.compared, 'question')} of this kind at once"
        ),
        level=document.level,
        labels=[each.label for each in shares],
        values=[each.value for each in shares],
        intervals=[each.interval for each in shares],
        bands=[each.band for each in shares],
    )
    return draw_estimate(chart)
