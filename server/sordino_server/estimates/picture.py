"""The picture of a stored estimate, the same in the console and from the command line."""

from __future__ import annotations

from sordino_analysis.charts import EstimateChart, RankedChart, RankedRow, draw_estimate, draw_ranked
from sordino_analysis.figures import only_unit
from sordino_analysis.percentages import percent
from sordino_server.errors import ServerError
from sordino_server.estimates.concept_schemas import ConceptDocument
from sordino_server.estimates.schemas import EstimateDocument
from sordino_server.estimates.stored_estimate import read_estimate
from sordino_shared.protocol import Problem
from sordino_shared.quantities import quantity

# A picture is a document of its own: its styles are inside, and it loads nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"


def draw(content: bytes, name: str, fewest: int = 0) -> str:
    """The text of an SVG file of the estimate of the campaign `name`; raises `not-found` for one that is a number.

    Fewer than `fewest` users are only called so.
    """
    match read_estimate(content):
        case EstimateDocument(queries=[_, *_]) as estimate:
            return draw_estimate(_answers(estimate, name, fewest))
        case ConceptDocument() as rules:
            return draw_ranked(_rules(rules, name, fewest))
    raise ServerError(Problem.NOT_FOUND, "this estimate is no list of answers; its table has all of it")


def answers_of(content: bytes) -> EstimateDocument | None:
    """The estimate of linear queries; None for any other kind and for one without answers."""
    estimate = read_estimate(content)
    return estimate if isinstance(estimate, EstimateDocument) and estimate.queries else None


def _answers(estimate: EstimateDocument, name: str, fewest: int) -> EstimateChart:
    unlisted = f"; {estimate.unlisted:,} more are not listed" if estimate.unlisted else ""
    return EstimateChart(
        title=name,
        subtitle=f"{estimate.workload}, {_users(estimate.users, fewest)}, ε = {estimate.epsilon:g}{unlisted}",
        level=estimate.level,
        labels=[each.label for each in estimate.queries],
        values=[each.value for each in estimate.queries],
        intervals=[each.interval for each in estimate.queries],
        bands=[each.band for each in estimate.queries],
        answer_unit=only_unit(each.unit for each in estimate.queries),
        kinds=[each.kind for each in estimate.queries],
        bounds=[each.bounds for each in estimate.queries],
    )


def _rules(document: ConceptDocument, name: str, fewest: int) -> RankedChart:
    level = percent(document.level)
    return RankedChart(
        title=name,
        subtitle=f"{quantity(document.concepts, 'rule')}, {_users(document.users, fewest)}, ε = {document.epsilon:g}",
        axis="loss of the rule, a share of users",
        leading="rule that may be the best",
        interval=f"{level} band of all rules",
        rows=[RankedRow(each.rule.text, each.loss, each.band, each.may_be_best) for each in document.rules],
        base=(f"better constant: {document.base.rule.text}", document.base.loss),
    )


def _users(users: int, fewest: int) -> str:
    return f"fewer than {fewest:,} users" if users < fewest else quantity(users, "user")
