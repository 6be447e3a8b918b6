"""The bound of several families of queries about one ordered attribute, as plans publish it, and what it proves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from sordino_analysis.arrays import SUM_TOLERANCE, Floats
from sordino_analysis.documents.certificate import StackBound
from sordino_analysis.evaluation.grids.families import CellFamily, LineFamily, PrefixFamily, RangeFamily
from sordino_analysis.evaluation.grids.stacked import MatrixRows, StackFamily, family_of
from sordino_analysis.optimisation.bounds.intervals import even_range_bound
from sordino_analysis.optimisation.bounds.stacks import cosine_bound, gram_bound, row_bound
from sordino_analysis.optimisation.bounds.thresholds import evenly_spaced
from sordino_analysis.planning.tuning import STACKS
from sordino_analysis.questions.linear import Workload
from sordino_analysis.request_terms import Objective
from sordino_analysis.vectorized.arrays import array_of, ndarray
from sordino_shared.errors import InvalidValue

# Parts with their weights w, and what each query of a part weighs with the shares of a bound, ρ·w.
_Weighed = Sequence[tuple[LineFamily, float]]


def stack_bound(family: LineFamily, epsilon: float, objective: Objective) -> StackBound:
    """The best of a few shares of the parts for the worst query; for the mean they are the parts' own."""
    own = _own_shares(family)
    candidates = [own] if objective == "mean" else list(_shares(family, own))
    proved = [(_proved(family, shares, epsilon), shares) for shares in candidates]
    value, shares = max(proved, key=lambda one: one[0])
    return StackBound(value, array_of(shares, "<f8"))


def recheck_stack(bound: StackBound, workload: Workload, epsilon: float, objective: Objective) -> float | None:
    """What the published shares prove; None where they prove nothing about the workload.

    Raises InvalidValue for shares that are not shares.
    """
    family, shares = family_of(workload), ndarray(bound.shares)
    if family is None or len(shares) != len(family.parts):
        return None
    if not (shares >= 0).all() or not abs(float(shares.sum()) - 1) <= SUM_TOLERANCE:
        raise InvalidValue("the shares of a bound are not negative and sum to 1", shares)
    if objective == "mean" and not np.allclose(shares, _own_shares(family), rtol=SUM_TOLERANCE, atol=0):
        return None
    return _proved(family, shares, epsilon)


def _own_shares(family: LineFamily) -> Floats:
    return np.array([part.count for part in family.parts]) / family.count


def _shares(family: LineFamily, own: Floats) -> Iterator[Floats]:
    """Their own, each part alone, and between each part and the next some mixtures."""
    alone = np.eye(len(own))
    yield own
    yield from alone
    for first, second in pairwise(alone):
        yield from (share * first + (1 - share) * second for share in STACKS.mixtures)


def _proved(family: LineFamily, shares: Floats, epsilon: float) -> float:
    """By all parts together, or by each for itself: the least of a sum is no less than the sum of the least."""
    weights = family.shares if isinstance(family, StackFamily) else (1.0,)
    weighed = [
        (part, share * weight / part.count)
        for part, share, weight in zip(family.parts, shares.tolist(), weights, strict=True)
        if share > 0 and part.count
    ]
    together = _together(weighed, epsilon)
    if len(weighed) == 1:
        return together
    return max(together, sum(_together([one], epsilon) for one in weighed))


def _together(weighed: _Weighed, epsilon: float) -> float:
    first, weight = weighed[0]
    if all(isinstance(part, (PrefixFamily, CellFamily)) for part, _ in weighed):
        return _by_cosines(weighed, epsilon)
    if len(weighed) == 1 and isinstance(first, RangeFamily):
        return weight * first.count * even_range_bound(first.bins, first.count, epsilon)
    if len(weighed) == 1 and isinstance(first, MatrixRows):
        return row_bound(np.sqrt(weight) * first.factors, epsilon)
    return gram_bound(_gram(weighed, evenly_spaced(first.size, STACKS.most_types)), epsilon)


def _by_cosines(weighed: _Weighed, epsilon: float) -> float:
    """Of types only the bins of the prefix sums have weight, and one further member where there are any."""
    known = [part for part, _ in weighed if isinstance(part, (PrefixFamily, CellFamily))]
    types = min(part.bins + (part.bins < part.size) for part in known)
    prefix = sum(weight for part, weight in weighed if isinstance(part, PrefixFamily))
    cells = sum(weight for part, weight in weighed if isinstance(part, CellFamily))
    return cosine_bound(types, epsilon, prefix, cells)


def _gram(weighed: _Weighed, types: np.ndarray) -> Floats:
    """Σ ρ_q w_q v vᵀ over some types, (m, m)."""
    size, found = weighed[0][0].size, np.empty((len(types), len(types)))
    for start in range(0, len(types), STACKS.at_a_time):
        some = types[start : start + STACKS.at_a_time]
        unit = np.zeros((len(some), size))
        unit[np.arange(len(some)), some] = 1.0
        rows = np.sum([weight * part.gram(unit) for part, weight in weighed], axis=0)
        found[start : start + len(some)] = rows[:, types]
    return (found + found.T) / 2
