"""What to ask in place of a question whose plan is far from its bound: one that is known to have a good plan.

Its figure is that of a mechanism that is made here without a search, so that a plan of the question has no more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sordino_analysis.documents.queries import MatrixQueries, ProductQueries, Queries, StackedQueries, StackQueries
from sordino_analysis.evaluation.grids.stacked import MatrixRows
from sordino_analysis.mechanisms.category_grids import CategoryGridsMechanism
from sordino_analysis.mechanisms.mechanism import Mechanism, Predicted, SharedWork
from sordino_analysis.mechanisms.randomized_response import RandomizedResponseMechanism
from sordino_analysis.mechanisms.request import PlanRequest
from sordino_analysis.mechanisms.shifted_grids import ShiftedGridsMechanism
from sordino_analysis.mechanisms.subset_selection import SubsetSelectionMechanism
from sordino_analysis.mechanisms.tuning import CATEGORY_GRIDS, SHIFTED_GRIDS
from sordino_analysis.planning.tuning import COARSER
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.progress import ignore_progress
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.building import build_workload
from sordino_analysis.questions.linear.operators import Dense
from sordino_analysis.request_terms import Objective
from sordino_analysis.vectorized.arrays import array_of, ndarray
from sordino_shared.domains import Attribute, Domain, Integers, Ordered

# Bins whose ends are named; of more their number is.
_MOST_NAMED_ENDS = 8
# Kinds of queries of an ordered attribute that grids answer for any number of bins.
_OF_AN_ORDER = ("prefix", "ranges")
# Made without a search, and always compared.
_QUICK: tuple[Mechanism, ...] = (
    ShiftedGridsMechanism(),
    CategoryGridsMechanism(),
    RandomizedResponseMechanism(),
    SubsetSelectionMechanism(),
)
_DESIGNED = ("shifted_grids", "category_grids")


@dataclass(frozen=True, eq=False)
class CoarserQuestion:
    """A `workload` in `words`, and what the objective's variance of its plan is at most: `figure` by a `mechanism`."""

    words: str
    workload: Workload
    figure: float
    mechanism: str

    def __str__(self) -> str:
        return f"{self.words} at most {_rounded_up(self.figure):.3g}, by {self.mechanism}"


def coarser_question(workload: Workload, epsilon: float, objective: Objective, variance: float) -> str | None:
    """In words, with its figure; None where none is known that has much less than `variance`."""
    if len(workload.domain.attributes) == 1 and isinstance(workload.operator, Dense):
        named = _equal_bins(workload.operator)
        if named is not None:
            return named
    found = coarser(workload, epsilon, objective, variance)
    if found is None:
        return None
    most = SHIFTED_GRIDS.most_types
    if len(workload.domain.attributes) == 1 and workload.size > most:
        return f"shifted_grids take up to {most:,} wider bins, and {found}"
    return str(found)


def coarser(workload: Workload, epsilon: float, objective: Objective, variance: float) -> CoarserQuestion | None:
    """The first of some coarser questions that has at most a share of `variance`."""
    for words, asked in _candidates(workload):
        figure, mechanism = least_known(asked, epsilon, objective)
        if figure <= COARSER.worth * variance:
            return CoarserQuestion(words, asked, figure, mechanism)
    return None


def least_known(workload: Workload, epsilon: float, objective: Objective) -> tuple[float, str]:
    """The objective's variance under the best mechanism that takes no search, and its name."""
    best = (math.inf, "")
    request = PlanRequest(workload, PlanningOptions.of(epsilon=epsilon, objective=objective))
    # Levels for the largest variance are searched for; those for the mean are made at once.
    of_mean = PlanRequest(workload, PlanningOptions.of(epsilon=epsilon, objective="mean"))
    for mechanism in _QUICK:
        work = SharedWork(of_mean if mechanism.name in _DESIGNED else request)
        if mechanism.reason_against(work) is not None:
            continue
        least = mechanism.least_variance(work) if isinstance(mechanism, Predicted) else None
        if least is None or least < best[0]:
            best = min(best, (mechanism.propose(work, ignore_progress).variance(request), mechanism.name))
    return best


def _candidates(workload: Workload) -> Iterator[tuple[str, Workload]]:
    """Coarser questions with the beginning of a sentence about each, the finest first."""
    attributes, published = workload.domain.attributes, workload.published
    if workload.dithering is not None:
        return
    if len(attributes) > 1:
        yield from _with_histograms(attributes, published)
        alone = _of_one_attribute(attributes, published)
        if alone is None:
            return
        attribute, queries = alone
        words = f"{queries.factors[0]} of {attribute.name!r} alone"
        if attribute.size <= COARSER.most_bins:
            yield f"{words} has", build_workload(Domain((attribute,)), queries)
        if not isinstance(attribute, Ordered):
            return
        for bins, asked in _of_wider_bins(attribute, queries):
            yield f"{words}, in {bins:,} wider bins, has", asked
    elif isinstance(attributes[0], Ordered):
        for bins, asked in _of_wider_bins(attributes[0], published):
            yield f"{bins:,} wider bins have", asked


def _with_histograms(attributes: tuple[Attribute, ...], queries: Queries) -> Iterator[tuple[str, Workload]]:
    """The ordered attribute of most bins as asked, and of each other one the histogram of a few wide bins."""
    if not isinstance(queries, ProductQueries):
        return
    pairs = list(enumerate(zip(attributes, queries.factors, strict=True)))
    ordered = {place: one for place, (one, kind) in pairs if kind in _OF_AN_ORDER and isinstance(one, Ordered)}
    if len(ordered) < 2:
        return
    kept = max(ordered, key=lambda place: ordered[place].bins)
    few = {place: _few_bins(one) for place, one in ordered.items() if place != kept}
    domain = Domain(tuple(few.get(place, one) for place, (one, _) in pairs))
    kinds = tuple("histogram" if place in few else kind for place, (_, kind) in pairs)
    if domain.size <= CATEGORY_GRIDS.most_types:
        named = " and ".join(
            f"{one.bins} wide bins of {one.name!r}" if one.bins < ordered[place].bins else repr(one.name)
            for place, one in few.items()
        )
        words = f"{kinds[kept]} of {attributes[kept].name!r} with the histogram of {named} has"
        yield words, build_workload(domain, ProductQueries(kinds))


def _few_bins(attribute: Ordered) -> Ordered:
    """An attribute like this one with as many bins as a histogram has beside others."""
    bins = COARSER.bins_of_a_histogram
    if attribute.bins <= bins:
        return attribute
    return Integers(attribute.name, 0, bins - 1, missing=attribute.missing, other=attribute.other)


def _of_wider_bins(attribute: Ordered, queries: Queries) -> Iterator[tuple[int, Workload]]:
    """The same queries about powers of 2 of bins."""
    largest = 1 << ((attribute.bins - 1).bit_length() - 1) if attribute.bins > 1 else 1
    bins = min(COARSER.most_bins, largest)
    while bins > 2:
        narrowed = _narrowed(queries, bins, attribute)
        if narrowed is None:
            return
        members = Integers(attribute.name, 0, bins - 1, missing=attribute.missing, other=attribute.other)
        yield bins, build_workload(Domain((members,)), narrowed)
        bins //= 2


def _narrowed_part(part: StackedQueries, bins: int, attribute: Ordered) -> StackedQueries | None:
    match narrowed := _narrowed(part.queries, bins, attribute):
        case ProductQueries() | MatrixQueries():
            return StackedQueries(narrowed, part.weight)
        case _:
            return None


def _narrowed(queries: Queries, bins: int, attribute: Ordered) -> Queries | None:
    """Queries about fewer bins, of the rows of a matrix their means; None of other kinds."""
    match queries:
        case ProductQueries():
            return queries
        case MatrixQueries() if attribute.bins == attribute.size:
            means = MatrixRows(ndarray(queries.matrix)).resized(bins).matrix
            return MatrixQueries(array_of(means, "<f8"), queries.labels)
        case StackQueries():
            parts = [_narrowed_part(part, bins, attribute) for part in queries.parts]
            made = tuple(part for part in parts if part is not None)
            return StackQueries(made) if len(made) == len(parts) else None
        case _:
            return None


def _of_one_attribute(attributes: tuple[Attribute, ...], queries: Queries) -> tuple[Attribute, ProductQueries] | None:
    """What is asked of the ordered attribute with most members, or of the largest; None where that is not written."""
    parts = [part.queries for part in queries.parts] if isinstance(queries, StackQueries) else [queries]
    products = [part for part in parts if isinstance(part, ProductQueries)]
    asked = [
        (factor in _OF_AN_ORDER, attribute.size, place, factor)
        for part in products
        for place, (attribute, factor) in enumerate(zip(attributes, part.factors, strict=True))
        if factor != "total" and attribute.size > 1
    ]
    if not asked:
        return None
    _, _, place, factor = max(asked)
    return attributes[place], ProductQueries((factor,))


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


def _rounded_up(figure: float) -> float:
    """To three digits, so that what is said holds."""
    unit = 10.0 ** (math.floor(math.log10(figure)) - 2) if figure > 0 else 1.0
    return math.ceil(figure / unit) * unit
