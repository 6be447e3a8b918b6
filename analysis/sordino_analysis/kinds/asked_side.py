"""A distribution function that somebody asks of a closed round, as one of two sides that are compared."""

from __future__ import annotations

from sordino_analysis.comparisons.difference import Side
from sordino_analysis.comparisons.matching import NotComparable
from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.estimation.answers_on_demand import answerer_of
from sordino_analysis.estimation.linear_on_demand import LinearOnDemand
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.panel.means import PooledMean
from sordino_analysis.questions.linear.building import build_workload
from sordino_analysis.questions.linear.workload import WorkloadError
from sordino_shared.domains import Domain, Ordered
from sordino_shared.protocol import DevicePart

# Steps of a distribution function that are compared at once, as many as a plan of prefix sums has at most.
_MOST_STEPS = 1024
# Of so many the laws of reports are worked out, to tell how often intervals hold.
_JUDGED_STEPS = 64
# Slots of a sample: reporters count as independent draws.
_SAMPLED = 2


def side_of_distribution(
    device: DevicePart, analyst: AnalystPart, aggregate: Aggregate, level: float, name: str, blanket: int = 0
) -> Side:
    """A closed round of which all steps of the distribution function of the ordered attribute `name` are asked.

    Raises WorkloadError for another attribute, EstimationError where the reports do not tell the function, and
    NotComparable for too many steps.
    """
    decoded = answerer_of(device, analyst, aggregate, blanket=blanket)
    domain = build_workload(device.domain, analyst.queries, analyst.workload).held_domain
    place, attribute = _ordered(domain, name)
    if not isinstance(decoded, LinearOnDemand):
        raise NotComparable(
            f"reports of {analyst.mechanism} do not tell a whole distribution: ask for prefix sums in the workload",
            name,
        )
    if attribute.bins > _MOST_STEPS:
        raise NotComparable(
            f"{name!r} has {attribute.bins:,} bins, at most {_MOST_STEPS:,} are compared: compare quantiles", name
        )
    estimator, few = decoded.distribution(place), attribute.bins <= _JUDGED_STEPS
    mean = PooledMean.of(estimator, aggregate, _SAMPLED, level, lawful=few, judged=few)
    return Side(workload=estimator.workload, parts=mean.parts, aggregates=(aggregate,), users=mean.users, level=level)


def _ordered(domain: Domain, name: str) -> tuple[int, Ordered]:
    for place, attribute in enumerate(domain.attributes):
        if attribute.name == name and isinstance(attribute, Ordered):
            return place, attribute
    ordered = [each.name for each in domain.attributes if isinstance(each, Ordered)]
    has = f"it has {', '.join(ordered)[:1000]}" if ordered else "it has none: compare queries"
    raise WorkloadError(f"{name[:100]!r}: the domain has no ordered attribute of this name; {has}", name)
