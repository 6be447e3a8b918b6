"""The nearest answers that some histogram really has: simplex-constrained least squares, free of privacy cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression, nnls

from sordino_analysis.arrays import Floats
from sordino_analysis.questions.linear import LinearMap
from sordino_analysis.questions.linear.composed_maps import WithoutRow
from sordino_analysis.questions.linear.operators import Indices, Intervals, Prefix, Symmetry

# The excess over the least squared error that is asked for, as a share of the noise in the answers.
RELATIVE_GAP = 1e-4
# What a gap loses to rounding, as a share of the squared answers and entries that it is made of.
_ROUNDING = 1e-14
# Up to so many types a Gram matrix takes 32 MiB and its factor a second.
_DENSE_GRAM_TYPES = 2048
# Supports settle within a dozen guesses, or never where the answers cannot tell all types apart.
_MOST_ACTIVE_SETS = 15
# Steps at most; then the histogram so far is reported as unfinished.
_MOST_VERTEX_STEPS = 200
# Types that enter in a step at least: one by one they take a step each.
_LEAST_ENTERING = 8
# Nonnegative least squares takes about a pivot a column; it gives up at this many.
_MOST_PIVOTS = 30
# Keeps the Gram matrix of a support factorable where queries do not tell its types apart.
_RIDGE = 1e-13


@dataclass(frozen=True, eq=False)
class NearestHistogram:
    """Shares of the types (k,) with ‖W h − answers‖² at most `excess` above the least; `excess` is proved by a gap."""

    histogram: Floats
    excess: float
    tolerance: float

    @property
    def converged(self) -> bool:
        """Whether the excess is within the requested tolerance."""
        return self.excess <= self.tolerance


def nearest_histogram(operator: LinearMap, answers: Floats, tolerance: float) -> NearestHistogram:
    """argmin ‖W h − answers‖² over the simplex, that is the projection onto the sensitivity polytope conv{W e_x}.

    Plain least squares, not weighted by the answers' covariance: the true answers lie in the polytope, and its
    Euclidean projection is never farther from them than the unbiased answers were, whatever the noise; a weighted one
    promises that only in its own norm (Nikolov–Talwar–Zhang 2013). Histograms and distribution functions have closed
    forms, and types that no query tells apart are merged. Else supports are guessed and corrected for up
    to a few thousand types, and where that does not settle, or for more types, those types are taken in that lower the
    error most (Frank and Wolfe), each time solving for all that were. Where the steps run out, the best one so far
    comes with the excess that is proved for it.
    `answers` (Q,).
    """
    tolerance = max(tolerance, _ROUNDING * float(answers @ answers))
    merged = operator.merged()
    if merged is not None:
        found: Floats | None = merged.spread(nearest_histogram(merged.operator, answers, tolerance).histogram)
    else:
        found = _closed_form(operator, answers)
    if found is None and operator.shape[1] <= _DENSE_GRAM_TYPES:
        matrix = operator.rmatvec(operator.matvec(np.eye(operator.shape[1])))
        found = _by_active_sets(matrix, operator.rmatvec(answers), tolerance)
    if found is None:
        found = _by_vertices(operator, answers, tolerance)
    gradient = operator.rmatvec(operator.matvec(found) - answers)
    return NearestHistogram(found, _gap(gradient, found), tolerance)


def _is_prefix(operator: LinearMap) -> bool:
    """Whether the queries are the intervals up to each type, in order."""
    if not isinstance(operator, Intervals) or operator.starts.any():
        return False
    return bool((operator.stops == np.arange(1, len(operator.stops) + 1)).all())


def nearest_distribution(histogram: Floats) -> NearestHistogram:
    """The histogram whose distribution function is nearest to that of (k,) numbers that sum to 1, in O(k) steps.

    Monotone regression and bounds of 0 and 1: seconds for millions of types.
    """
    function = np.clip(isotonic_regression(np.cumsum(histogram)[:-1]).x, 0.0, 1.0)
    shares = np.diff(np.concatenate([[0.0], function, [1.0]]))
    return NearestHistogram(shares, excess=0.0, tolerance=0.0)


def _closed_form(operator: LinearMap, answers: Floats) -> Floats | None:
    """The projection onto the simplex for a histogram, the monotone regression for a distribution function."""
    if operator.symmetry is Symmetry.TYPES:
        return project_onto_simplex(answers)
    whole = operator.whole if isinstance(operator, WithoutRow) else operator
    size, beyond = operator.shape[1], operator.shape[1] - len(answers)
    if not (isinstance(whole, Prefix) or _is_prefix(whole)) or beyond == 0:
        return None
    # Of monotone functions the nearest one within bounds is the nearest one, cut at the bounds.
    function = np.clip(isotonic_regression(answers).x, 0.0, 1.0)
    shares = np.full(size, (1.0 - function[-1]) / beyond)
    shares[: len(answers)] = np.diff(function, prepend=0.0)
    return shares


def _by_active_sets(matrix: Floats, pulled: Floats, tolerance: float) -> Floats | None:
    """Solve on a support, drop types that came out negative, add those that would lower the error, until none does.

    The primal–dual active set method of Hintermüller, Ito and Kunisch (2003); None where the gap is not proved.
    """
    size = len(pulled)
    support = np.ones(size, dtype=bool)
    for _ in range(_MOST_ACTIVE_SETS):
        held = np.flatnonzero(support)
        system = matrix[np.ix_(held, held)] + _RIDGE * (np.trace(matrix) or 1.0) * np.eye(len(held))
        solved = np.linalg.solve(system, np.column_stack([pulled[held], np.ones(len(held))]))
        price = (solved[:, 0].sum() - 1) / solved[:, 1].sum()
        histogram = np.zeros(size)
        histogram[held] = solved[:, 0] - price * solved[:, 1]
        feasible = np.maximum(histogram, 0.0)
        feasible /= feasible.sum()
        if _gap(matrix @ feasible - pulled, feasible) <= tolerance:
            return np.asarray(feasible)
        slope = matrix @ histogram - pulled + price
        support = np.where(support, histogram > 0, slope < 0)
    return None


def _by_vertices(operator: LinearMap, answers: Floats, tolerance: float) -> Floats:
    """Histograms on few types: solve on these, add the types that would lower the error most, drop those unused.

    The fully corrective method of Frank and Wolfe, which ends after finitely many steps: the nearest point needs at
    most one type more than the answers have dimensions.
    """
    types = np.zeros(0, dtype=np.intp)
    mixture = _Mixture(answers)
    shares = np.zeros(0)
    for _ in range(_MOST_VERTEX_STEPS):
        slope = operator.rmatvec(mixture.fitted(shares) - answers)
        # ⟨∇f, h⟩ is over the types in use alone.
        if len(types) and 2.0 * float(slope[types] @ shares - slope.min()) <= tolerance:
            break
        count = min(max(_LEAST_ENTERING, len(types)), len(slope) - 1)
        entering = np.setdiff1d(np.argpartition(slope, count)[:count], types)
        if not len(entering):
            break
        mixture.add([operator.column(int(cell)) for cell in entering])
        found = mixture.best_shares(tolerance / 10)
        if found is None:
            break
        kept = np.flatnonzero(found > 0)
        types, shares = np.concatenate([types, entering])[kept], found[kept]
        mixture.keep(kept)
    histogram = np.zeros(operator.shape[1])
    histogram[types] = shares
    return histogram


class _Mixture:
    """A few columns of W, their Gram matrix, and the answers that are fitted with them."""

    def __init__(self, answers: Floats) -> None:
        self._answers = answers
        self._columns = np.zeros((len(answers), 0))
        self._gram = np.zeros((0, 0))

    def fitted(self, shares: Floats) -> Floats:
        return np.asarray(self._columns @ shares)

    def add(self, columns: list[Floats]) -> None:
        new = np.column_stack(columns)
        across = self._columns.T @ new
        self._gram = np.block([[self._gram, across], [across.T, new.T @ new]])
        self._columns = np.hstack([self._columns, new])

    def keep(self, kept: Indices) -> None:
        self._columns, self._gram = self._columns[:, kept], self._gram[np.ix_(kept, kept)]

    def best_shares(self, tolerance: float) -> Floats | None:
        """The nearest mixture of the columns; None where neither solver ends."""
        found = _by_active_sets(self._gram, self._columns.T @ self._answers, tolerance)
        return self._nearest_of_hull() if found is None else found

    def _nearest_of_hull(self) -> Floats | None:
        """Scaled to total 1, the x ≥ 0 of the least ‖(C − y1ᵀ)x‖² + (1ᵀx − 1)² mixes the nearest point to y."""
        hull = np.vstack([self._columns - self._answers[:, None], np.ones(self._columns.shape[1])])
        try:
            shares, _ = nnls(hull, np.append(np.zeros(len(self._answers)), 1.0), maxiter=_MOST_PIVOTS * hull.shape[1])
        except RuntimeError:
            return None
        return np.asarray(shares / shares.sum())


def project_onto_simplex(point: Floats) -> Floats:
    """The nearest vector with entries ≥ 0 and sum 1: (point − τ)₊ for the τ that makes the sum right.

    `point` (k,) → (k,).
    """
    ordered = np.sort(point)[::-1]
    excess = np.cumsum(ordered) - 1.0
    kept = np.flatnonzero(ordered * np.arange(1, len(point) + 1) > excess)[-1]
    projected: Floats = np.maximum(point - excess[kept] / (kept + 1), 0.0)
    return projected


def _gap(gradient: Floats, histogram: Floats) -> float:
    """⟨∇f, h⟩ − min_x ∂f/∂h_x for f = ½‖Wh − y‖², doubled: a bound on the excess squared error, by convexity."""
    return 2.0 * float(gradient @ histogram - gradient.min())
