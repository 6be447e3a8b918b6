"""Quantiles and distribution functions that somebody asks of two closed rounds, as sides that are compared."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sordino_analysis.comparisons.difference import Side
from sordino_analysis.comparisons.matching import NotComparable
from sordino_analysis.comparisons.parts import MeasureCells, MeasuredSide
from sordino_analysis.comparisons.quantile_shift import tests_of_side
from sordino_analysis.comparisons.quantile_tests import quantile_tests
from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.estimation.answers_on_demand import answerer_of
from sordino_analysis.estimation.linear_on_demand import LinearOnDemand
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.panel.means import PooledMean
from sordino_analysis.questions.linear.building import build_workload
from sordino_analysis.questions.linear.on_demand import Quantile, parse_quantiles
from sordino_analysis.questions.linear.workload import WorkloadError
from sordino_shared.domains import Domain, Ordered
from sordino_shared.protocol import DevicePart

# Steps of a distribution function that are compared at once, as many as a plan of prefix sums has at most.
_MOST_STEPS = 1024
# Of so many the laws of reports are worked out, to tell how often intervals hold.
_JUDGED_STEPS = 64
# Slots of a sample: reporters count as independent draws.
_SAMPLED = 2


def side_of_quantiles(
    device: DevicePart, analyst: AnalystPart, aggregate: Aggregate, level: float, texts: Sequence[str], blanket: int = 0
) -> Side:
    """A closed round of which quantiles such as "delay:0.5" are asked.

    Raises WorkloadError for what is no quantile, EstimationError where the reports do not tell one, NotComparable.
    """
    workload = build_workload(device.domain, analyst.queries, analyst.workload)
    domain, answerer = workload.held_domain, answerer_of(device, analyst, aggregate, blanket=blanket)
    asked = parse_quantiles(domain, texts)
    measures = MeasuredSide(
        domain=domain,
        users=aggregate.count - blanket,
        bias=0.0,
        at=partial(_cells, asked, domain),
        quantiles={each.label: partial(quantile_tests, answerer, domain, each, level, {}) for each in asked},
    )
    return Side(
        workload=workload, parts=(), aggregates=(aggregate,), users=measures.users, level=level, measures=measures
    )


def quantiles_of_side(side: Side, texts: Sequence[str]) -> Side:
    """A side whose plan answers the distribution function of its one attribute, as a window of a series.

    Raises WorkloadError for what is no quantile, and NotComparable as `tests_of_side` does.
    """
    domain = side.workload.held_domain
    asked = parse_quantiles(domain, texts)
    measures = MeasuredSide(
        domain=domain,
        users=side.users,
        bias=0.0,
        at=partial(_cells, asked, domain),
        quantiles={each.label: partial(tests_of_side, side, each.share) for each in asked},
    )
    return Side(
        workload=side.workload,
        parts=(),
        aggregates=side.aggregates,
        users=side.users,
        level=side.level,
        warnings=side.warnings,
        measures=measures,
    )


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


def _cells(asked: Sequence[Quantile], domain: Domain, level: float) -> Sequence[MeasureCells]:
    """What rows of quantiles are about, the same at every level."""
    found = []
    for each in asked:
        attribute = domain.attributes[each.attribute]
        assert isinstance(attribute, Ordered)
        found.append({"kind": "quantile", "label": each.label, "unit": attribute.unit or None})
    return found
