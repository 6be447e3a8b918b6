"""The best kernel for one query whose values are public: a linear program on a small grid of values.

Values s_x are rounded at random to a neighbouring grid point; the kernel of the grid points minimises Σ_x π_x Var(x),
or max_x Var(x), over all ε-LDP kernels whose outputs a_y are on a grid of their own. So a device gets a few outputs'
rows, whatever k, and a type's column is a mixture of two grid points', which keeps every row's ratio.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy.sparse
from scipy.optimize import linprog

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.decoders import AnswerDecoder
from sordino_analysis.evaluation.integer_kernels import NULL_SHARE, KernelError, dense_kernel, probabilities
from sordino_analysis.mechanisms.tuning import SINGLE_QUERY
from sordino_analysis.vectorized.arrays import array_of, ndarray
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import FiniteKernel

# Where few values are this far apart, they are the grid themselves: exact, and in a fifth of the time.
_APART = 1e-4
# Grid points stand this far outside the values, so that rounding never has to leave the grid.
_MARGIN = 1e-6
# An output that is sent less often says nothing.
_NEVER = 1e-9
# What a column of the program may miss its value by.
_FEASIBLE = 1e-10
# Programs that are kept: the planner asks for the same ones again.
_KEPT = 1 << 3


@dataclass(frozen=True, eq=False)
class QueryKernel:
    """A kernel for the one query and its unbiased decoder; `variances` (k,) are exact, of one report of each type."""

    kernel: FiniteKernel
    decoder: AnswerDecoder
    variances: Floats


def query_kernel(values: Floats, type_weights: Floats | None, guarantee: PureEpsilon) -> QueryKernel:
    """The ε-LDP kernel with the least Σ_x π_x Var(x) for values s (k,) and weights π (k,), up to the grids.

    Without weights it is the one with the least max_x Var(x). Raises KernelError where the values are all the same:
    there is nothing to ask.
    """
    middle, radius = (values.max() + values.min()) / 2.0, (values.max() - values.min()) / 2.0
    if not radius > 0:
        raise KernelError("the query has the same answer for every type: nothing needs to be asked", values)
    table, outputs = _table((values - middle) / radius, type_weights, guarantee.epsilon)
    kernel = dense_kernel(table, guarantee)
    # The null output, whose value is the middle, takes NULL_SHARE of every column.
    sent = radius * np.append(outputs, 0.0)[: kernel.outputs] / (1.0 - NULL_SHARE)
    decoder = AnswerDecoder(array_of(sent[None, :], "<f8"), array_of(np.array([middle]), "<f8"))
    return QueryKernel(kernel, decoder, answer_variances(kernel, decoder))


def furthest_answer(guarantee: PureEpsilon) -> float:
    """Bound on the distance of a decoded report from the middle of the values, in halves of their range."""
    return SINGLE_QUERY.reach * _enough(guarantee.epsilon) / (1.0 - NULL_SHARE)


def answer_variances(kernel: FiniteKernel, decoder: AnswerDecoder) -> Floats:
    """(k,) Var of one decoded answer of each type."""
    sent, chances = ndarray(decoder.matrix)[0], probabilities(kernel)
    return np.asarray(sent**2 @ chances - (sent @ chances) ** 2)


def answer_cumulants(kernel: FiniteKernel, decoder: AnswerDecoder) -> tuple[Floats, Floats, Floats]:
    """(k,) each: the second, third and fourth cumulant of one decoded answer of each type."""
    return cumulants(ndarray(decoder.matrix)[0], probabilities(kernel))


def cumulants(sent: Floats, chances: Floats) -> tuple[Floats, Floats, Floats]:
    """(k,) each: the second, third and fourth of numbers `sent` (m,) with these `chances` (m, k)."""
    off = sent[:, None] - sent @ chances
    second, third, fourth = ((chances * off**power).sum(axis=0) for power in range(2, 5))
    return second, third, fourth - 3.0 * second**2


def _table(scaled: Floats, type_weights: Floats | None, epsilon: float) -> tuple[Floats, Floats]:
    """K (m, k) and the output values (m,) for values in [−1, 1]: K's mean output is a type's value exactly."""
    points, sent = _grids(scaled, epsilon, worst=type_weights is None)
    weights = None
    if type_weights is not None:
        weights = _rounding(scaled, points) @ type_weights
        weights /= weights.sum()
    grid, outputs = _solve(points, weights, epsilon, sent)
    # What the grid's columns mean exactly, not what they were asked to.
    table = grid @ _rounding(scaled, outputs @ grid)
    return table / table.sum(axis=0), outputs


def _grids(scaled: Floats, epsilon: float, *, worst: bool) -> tuple[Floats, int]:
    """The grid of values, and how many outputs there are. Few values are their own grid, and nothing is rounded."""
    values = _apart(np.unique(scaled))
    few = len(values) <= (SINGLE_QUERY.own_points if worst else SINGLE_QUERY.points)
    if not worst:
        count, sent = (
            (SINGLE_QUERY.fine_points, SINGLE_QUERY.fine_outputs)
            if epsilon >= SINGLE_QUERY.fine_from
            else (SINGLE_QUERY.points, SINGLE_QUERY.outputs)
        )
        return values if few else np.linspace(-1.0 - _MARGIN, 1.0 + _MARGIN, count), sent
    if few:
        return values, SINGLE_QUERY.worst_outputs
    return np.linspace(-1.0 - _MARGIN, 1.0 + _MARGIN, SINGLE_QUERY.worst_points), SINGLE_QUERY.few_outputs


def _apart(distinct: Floats) -> Floats:
    """Those of increasing values in [−1, 1] that are far from the one before, with the ends a little outside.

    Between two points next to each other, rounding at random costs almost no variance.
    """
    kept = [-1.0 - _MARGIN]
    for value in distinct[1:-1]:
        if min(value - kept[-1], 1.0 - value) > _APART:
            kept.append(float(value))
    return np.array([*kept, 1.0 + _MARGIN])


def _enough(epsilon: float) -> float:
    """Where two outputs are enough for values in ±1."""
    return float((1.0 + _MARGIN) / np.tanh(epsilon / 2.0))


def _rounding(values: Floats, points: Floats) -> Floats:
    """(G, k) chances with which each value is rounded to its two neighbours among increasing points."""
    upper = np.clip(np.searchsorted(points, values), 1, len(points) - 1)
    share = (values - points[upper - 1]) / (points[upper] - points[upper - 1])
    chances = np.zeros((len(points), len(values)))
    types = np.arange(len(values))
    chances[upper, types] = share
    chances[upper - 1, types] = 1.0 - share
    return chances


def _solve(points: Floats, weights: Floats | None, epsilon: float, sent: int) -> tuple[Floats, Floats]:
    """K (m, G) and the outputs a_y in use: θ_y ≤ K_yg ≤ e^ε θ_y, Σ_y K_yg = 1, Σ_y a_y K_yg = s_g.

    min Σ_g π_g Σ_y a_y² K_yg, or without weights min t with Σ_y a_y² K_yg − s_g² ≤ t for every g.
    """
    count, rules = len(points), _rules(len(points), sent, epsilon, weights is None)
    aims = np.outer(rules.outputs**2, np.zeros(count) if weights is None else weights)
    aim, limits = np.concatenate([aims.ravel(), aims.sum(axis=1)]), np.zeros(aims.size)
    if weights is None:
        aim, limits = np.append(aim, 1.0), np.concatenate([limits, points**2])
    solution = linprog(
        aim,
        A_ub=rules.most,
        b_ub=limits,
        A_eq=rules.equal,
        b_eq=np.append(np.ones(count), points),
        method="highs-ds",
        options={"primal_feasibility_tolerance": _FEASIBLE},
    )
    if solution.status != 0:
        raise KernelError(f"no kernel for the query was found: {solution.message}", points)
    raised, least = solution.x[: aims.size].reshape(aims.shape), solution.x[aims.size : aims.size + len(aims)]
    table = raised + least[:, None]
    used = table.min(axis=1) > _NEVER
    return table[used] / table[used].sum(axis=0), rules.outputs[used]


@dataclass(frozen=True, eq=False)
class _Rules:
    """Outputs a_y, and the rows of the program, `most` of those that are ≤ and `equal` of the others.

    The variables are u_yg = K_yg − θ_y ≥ 0, then θ_y ≥ 0, then t for the worst type: half the rows that K_yg takes.
    """

    outputs: Floats
    most: scipy.sparse.csr_matrix
    equal: scipy.sparse.csr_matrix


@lru_cache(maxsize=_KEPT)
def _rules(count: int, sent: int, epsilon: float, worst: bool) -> _Rules:
    """For `count` values: they are the same for all values, and take as long to build as the program to solve."""
    enough = _enough(epsilon)
    outputs = np.union1d(
        np.linspace(-SINGLE_QUERY.reach * enough, SINGLE_QUERY.reach * enough, sent), [-enough, enough]
    )
    per_output = scipy.sparse.identity(len(outputs))
    raised = scipy.sparse.identity(len(outputs) * count)
    most = [[raised, -np.expm1(epsilon) * scipy.sparse.kron(per_output, np.ones((count, 1)))]]
    equal = [_sums(np.ones(len(outputs)), count), _sums(outputs, count)]
    if worst:
        squares, nothing = _sums(outputs**2, count), scipy.sparse.csr_matrix((count, 1))
        most = [[*most[0], None], [squares[:, : -len(outputs)], squares[:, -len(outputs) :], -np.ones((count, 1))]]
        equal = [scipy.sparse.hstack([part, nothing]) for part in equal]
    return _Rules(outputs, scipy.sparse.bmat(most, format="csr"), scipy.sparse.vstack(equal, format="csr"))


def _sums(factors: Floats, count: int) -> scipy.sparse.csr_matrix:
    """(G, m·G + m): Σ_y b_y K_yg for each g of `count`, of the variables u and θ, for the factors b (m,)."""
    sums_of_points = scipy.sparse.kron(factors[None, :], scipy.sparse.identity(count))
    return scipy.sparse.hstack([sums_of_points, np.tile(factors, (count, 1))], format="csr")
