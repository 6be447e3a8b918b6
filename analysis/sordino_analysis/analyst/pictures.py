"""Pictures of plans and estimates for a notebook or a file, the same as those of the console."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from pathlib import Path

from sordino_analysis.analyst.comparisons import EstimateComparison
from sordino_analysis.analyst.estimates import Estimate
from sordino_analysis.analyst.items import Items
from sordino_analysis.analyst.plans import Plan
from sordino_analysis.analyst.rules import RankedRules
from sordino_analysis.analyst.string_estimates import StringEstimate
from sordino_analysis.answers.svg import draw_answers_of
from sordino_analysis.answers.table import AnswerTable
from sordino_analysis.charts import (
    PlanVariances,
    VarianceChart,
    draw_kernel,
    draw_variances,
)
from sordino_analysis.figures import chosen
from sordino_analysis.kinds.series_document import SeriesRange, series_columns
from sordino_analysis.panel.series import SeriesEstimates
from sordino_shared.errors import InvalidValue
from sordino_shared.quantities import quantity

# Days after which the axis of days has a tick.
_WEEK = 7


@dataclass(frozen=True)
class Picture:
    """An SVG file as text, which a notebook shows."""

    svg: str

    def save(self, path: Path | str) -> None:
        """Write the file; raises OSError."""
        Path(path).write_text(self.svg, encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self.svg


@singledispatch
def chart(of: object) -> Picture:
    """The picture of an Estimate, an EstimateComparison, Items, RankedRules, a Plan (its kernel), plans, or a series.

    A StringEstimate is drawn, too. Several plans of one question show their variances against ε with the bounds.
    Raises TypeError for anything else, InvalidValue for a plan whose reports are too many to draw.

    >>> chart(estimate(three, Aggregate(600, np.array([300, 200, 100])))).svg[:4]
    '<svg'
    """
    known = (
        "an Estimate, an EstimateComparison, Items, RankedRules, a Plan, a list of plans, a StringEstimate or a series"
    )
    raise TypeError(f"chart draws {known}, not a {type(of).__name__}")


@chart.register
def _of_estimate(of: Estimate) -> Picture:
    subtitle = f"{quantity(of.users, 'user')}, ε = {chosen(of.plan.epsilon)}"
    return Picture(draw_answers_of(of.table, of.workload.name, subtitle))


@chart.register
def _of_strings(of: StringEstimate) -> Picture:
    subtitle = f"{quantity(of.users, 'user')}, ε = {chosen(of.plan.epsilon)}"
    return Picture(draw_answers_of(of.table, of.plan.analyst.workload, subtitle))


@chart.register
def _of_comparison(of: EstimateComparison) -> Picture:
    subtitle = f"{of.right} less {of.left}, {quantity(of.found.users, 'user')}"
    return Picture(draw_answers_of(of.table, "Differences", subtitle))


@chart.register
def _of_items(of: Items) -> Picture:
    return Picture(draw_answers_of(of.table, "Items", quantity(of.estimate.users, "user")))


@chart.register
def _of_rules(of: RankedRules) -> Picture:
    found = of.estimate
    base = found.known.text(found.base), float(found.losses[found.base])
    subtitle = f"{quantity(len(of.rules), 'rule')}, {quantity(found.users, 'user')}"
    return Picture(draw_answers_of(of.table, "Rules by loss", subtitle, base))


@chart.register
def _of_plan(of: Plan) -> Picture:
    subtitle = f"{of.mechanism}, {of.device.guarantee}, {of.domain.size:,} types of user"
    return Picture(draw_kernel(f"Kernel of {of.analyst.workload}", subtitle, of.device))


@chart.register(list)
@chart.register(tuple)
def _of_plans(of: Sequence[Plan]) -> Picture:
    if not of or any(not isinstance(plan, Plan) for plan in of):
        raise TypeError("chart draws a list of one or more plans")
    if len({(plan.analyst.workload, plan.objective) for plan in of}) > 1:
        raise InvalidValue("the variances of plans are compared for one workload and one objective", of)
    plans = [
        PlanVariances(
            epsilon=plan.epsilon, variances=[(plan.mechanism, plan.variance)], taken=plan.mechanism, bound=plan.bound
        )
        for plan in of
    ]
    title = f"Variance of {of[0].analyst.workload}"
    return Picture(draw_variances(VarianceChart(title=title, subtitle=f"objective {of[0].objective}", plans=plans)))


@chart.register
def _of_series(of: SeriesEstimates) -> Picture:
    if not of.periods:
        raise InvalidValue("the series has no period with reports yet", of)
    first, last = min(of.periods), max(of.periods)
    columns = series_columns(of, SeriesRange(first=first, last=last, window=_WEEK, trend=True))
    subtitle = f"windows of {_WEEK} periods end where they are drawn"
    return Picture(
        draw_answers_of(AnswerTable({"level": of.level}, columns), f"Series of {of.estimator.workload.name}", subtitle)
    )
