"""What to ask in place of a question whose plan is far from its bound: one that is known to have a good plan."""

from __future__ import annotations

import math

import numpy as np

from sordino_analysis.documents.queries import ProductQueries
from sordino_analysis.mechanisms.tuning import SHIFTED_GRIDS
from sordino_analysis.optimisation.bounds.intervals import even_prefix_bound
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.operators import Dense
from sordino_shared.domains import Ordered

# A coarser question is worth its loss of detail where it has at most this share of the variance.
_WORTH = 0.5
# Bins whose ends are named; of more their number is.
_MOST_NAMED_ENDS = 8
# Kinds of queries that shifted grids answer for one attribute.
_OF_AN_ORDER = ("prefix", "ranges")


def coarser_question(workload: Workload, epsilon: float, variance: float) -> str | None:
    """In words, with its figure; None where none is known that has much less than `variance`."""
    if len(workload.domain.attributes) > 1:
        return _one_attribute(workload, epsilon, variance)
    if isinstance(workload.operator, Dense):
        found = _equal_bins(workload.operator)
        if found is not None:
            return found
    return _wider_bins(workload, epsilon, variance)


def response_variance(bins: int, epsilon: float) -> float:
    """The worst variance of an interval of so many bins by randomized response: P(1 − P)/(p − q)² over its sizes."""
    other = 1 / (math.exp(epsilon) + bins - 1)
    step = math.expm1(epsilon) * other
    held = np.arange(1, bins)[:, None] * other + step * np.array([0.0, 1.0])
    # A bin in the interval has its own chance in place of that of another one.
    return float((held * (1 - held)).max() / step**2)


def _wider_bins(workload: Workload, epsilon: float, variance: float) -> str | None:
    if not isinstance(workload.domain.attributes[0], Ordered):
        return None
    most = SHIFTED_GRIDS.most_types
    if workload.operator.intervals is not None and workload.size > most:
        least = even_prefix_bound(most, epsilon)
        return f"shifted_grids take up to {most:,} wider bins, whose prefix sums have the bound {least:.3g}"
    bins = 1 << (workload.size - 1).bit_length() - 1
    while bins > 2 and response_variance(bins, epsilon) > _WORTH * variance:
        bins //= 2
    if bins <= 2:
        return None
    return f"{bins:,} wider bins have at most {response_variance(bins, epsilon):.3g}, by randomized_response"


def _equal_bins(operator: Dense) -> str | None:
    """Rows of a matrix that are constant on runs of bins."""
    ends = np.flatnonzero((np.diff(operator.matrix, axis=1) != 0).any(axis=0)) + 1
    if len(ends) >= operator.shape[1] // 2:
        return None
    named = ", ".join(map(str, ends[:_MOST_NAMED_ENDS].tolist())) + (", …" if len(ends) > _MOST_NAMED_ENDS else "")
    return (
        f"no row tells bins apart but at {named}: an attribute of these {len(ends) + 1} bins has the same answers, and "
        "a plan made for it"
    )


def _one_attribute(workload: Workload, epsilon: float, variance: float) -> str | None:
    """The kind of queries of one ordered attribute alone, by the bound that its plans come within a third of."""
    queries = workload.published
    if not isinstance(queries, ProductQueries):
        return None
    attributes = workload.domain.attributes
    ordered = [place for place, kind in enumerate(queries.factors) if kind in _OF_AN_ORDER]
    if not ordered:
        return None
    place = max(ordered, key=lambda one: attributes[one].size)
    least = even_prefix_bound(attributes[place].size, epsilon)
    if least > _WORTH * variance:
        return None
    kinds = [f"{a.name}: {queries.factors[place] if one == place else 'total'}" for one, a in enumerate(attributes)]
    return f"queries {{{', '.join(kinds)}}} have a plan near the bound of its prefix sums, {least:.3g}"
