"""The best kernel for one query whose values are public: a linear program on a small grid of values.

Values s_x are rounded at random to a neighbouring grid point; the kernel of the grid points minimises Σ_x π_x Var(x),
or max_x Var(x), over all ε-LDP kernels whose outputs a_y are on a grid of their own. So a device gets a few outputs'
rows, whatever k, and a type's column is a mixture of two grid points', which keeps every row's ratio.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from scipy.optimize import linprog

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.decoders import AnswerDecoder
from sordino_analysis.evaluation.integer_kernels import NULL_SHARE, KernelError, dense_kernel, probabilities
from sordino_shared.arrays import Array
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import FiniteKernel

# Twice as fine at ε = 1 is .2 % less variance and ten times the seconds; from ε = 3 it is 2 %, at ε = 8 it is 20 %.
_POINTS, _OUTPUTS = 17, 33
_FINE_POINTS, _FINE_OUTPUTS, _FINE_FROM = 33, 65, 3.0
# For the worst type: twice as many outputs are .1 % less variance at ε = 2, .3 % at ε = 4, and thrice the seconds.
_WORST_POINTS, _WORST_OUTPUTS, _FEW_OUTPUTS = 33, 129, 65
# Outputs beyond the two points that are enough, ±coth(ε/2) for values in ±1, by this factor; none was used above 1.5.
_REACH = 1.75
# Values that are few and this far apart are the grid themselves: exact, and in a fifth of the time.
_APART = 1e-4
# Grid points stand this far outside the values, so that rounding never has to leave the grid.
_MARGIN = 1e-6
# An output that is sent less often says nothing.
_NEVER = 1e-9
_FEASIBLE = 1e-10


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
    decoder = AnswerDecoder(Array.of(sent[None, :], "<f8"), Array.of(np.array([middle]), "<f8"))
    return QueryKernel(kernel, decoder, answer_variances(kernel, decoder))


def furthest_answer(guarantee: PureEpsilon) -> float:
    """Bound on the distance of a decoded report from the middle of the values, in halves of their range."""
    return _REACH * _enough(guarantee.epsilon) / (1.0 - NULL_SHARE)


def answer_variances(kernel: FiniteKernel, decoder: AnswerDecoder) -> Floats:
    """(k,) Var of one decoded answer of each type."""
    sent, chances = decoder.matrix.numpy()[0], probabilities(kernel)
    return np.asarray(sent**2 @ chances - (sent @ chances) ** 2)


def answer_cumulants(kernel: FiniteKernel, decoder: AnswerDecoder) -> tuple[Floats, Floats, Floats]:
    """(k,) each: the second, third and fourth cumulant of one decoded answer of each type."""
    sent, chances = decoder.matrix.numpy()[0], probabilities(kernel)
    off = sent[:, None] - sent @ chances
    second, third, fourth = ((chances * off**power).sum(axis=0) for power in (2, 3, 4))
    return second, third, fourth - 3.0 * second**2


def _table(scaled: Floats, type_weights: Floats | None, epsilon: float) -> tuple[Floats, Floats]:
    """K (m, k) and the output values (m,) for values in [−1, 1]: K's mean output is a type's value exactly."""
    points, sent = _grids(scaled, epsilon, worst=type_weights is None)
    enough = _enough(epsilon)
    outputs = np.linspace(-_REACH * enough, _REACH * enough, sent)
    outputs = np.union1d(outputs, [-enough, enough])
    weights = None
    if type_weights is not None:
        weights = _rounding(scaled, points) @ type_weights
        weights /= weights.sum()
    grid, outputs = _solve(points, weights, epsilon, outputs)
    # What the grid's columns mean exactly, not what they were asked to.
    table = grid @ _rounding(scaled, outputs @ grid)
    return table / table.sum(axis=0), outputs


def _grids(scaled: Floats, epsilon: float, *, worst: bool) -> tuple[Floats, int]:
    """The grid of values, and how many outputs there are. Few values are their own grid, and nothing is rounded."""
    distinct = np.unique(scaled)
    own = np.concatenate([[-1.0 - _MARGIN], distinct[1:-1], [1.0 + _MARGIN]])
    # Two points next to each other would be told apart by rounding only.
    few = len(distinct) <= _POINTS and np.diff(distinct).min() > _APART
    if not worst:
        count, sent = (_FINE_POINTS, _FINE_OUTPUTS) if epsilon >= _FINE_FROM else (_POINTS, _OUTPUTS)
        return own if few else np.linspace(-1.0 - _MARGIN, 1.0 + _MARGIN, count), sent
    if few:
        return own, _WORST_OUTPUTS
    return np.linspace(-1.0 - _MARGIN, 1.0 + _MARGIN, _WORST_POINTS), _FEW_OUTPUTS


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


def _solve(points: Floats, weights: Floats | None, epsilon: float, outputs: Floats) -> tuple[Floats, Floats]:
    """K (m, G) and the outputs a_y in use: θ_y ≤ K_yg ≤ e^ε θ_y, Σ_y K_yg = 1, Σ_y a_y K_yg = s_g.

    min Σ_g π_g Σ_y a_y² K_yg, or without weights min t with Σ_y a_y² K_yg − s_g² ≤ t for every g. The variables are
    u_yg = K_yg − θ_y ≥ 0, then θ_y ≥ 0, then t: half the rows that K_yg itself takes, and half the time.
    """
    count, sent = len(points), len(outputs)
    most = scipy.sparse.identity(sent * count, format="csr")
    least = scipy.sparse.kron(scipy.sparse.identity(sent), np.ones((count, 1)))
    above, limits = [most, -np.expm1(epsilon) * least], np.zeros(sent * count)
    aims = np.outer(outputs**2, np.zeros(count) if weights is None else weights)
    blocks, aim = [above], np.concatenate([aims.ravel(), aims.sum(axis=1)])
    equal = [_sums(np.ones(sent), count), _sums(outputs, count)]
    if weights is None:
        squares, worst = _sums(outputs**2, count), -np.ones((count, 1))
        blocks, aim = [[*above, None], [squares[:, :-sent], squares[:, -sent:], worst]], np.append(aim, 1.0)
        limits = np.concatenate([limits, points**2])
        equal = [scipy.sparse.hstack([part, scipy.sparse.csr_matrix((count, 1))]) for part in equal]
    found = linprog(
        aim,
        A_ub=scipy.sparse.bmat(blocks, format="csr"),
        b_ub=limits,
        A_eq=scipy.sparse.vstack(equal, format="csr"),
        b_eq=np.append(np.ones(count), points),
        method="highs-ds",
        options={"primal_feasibility_tolerance": _FEASIBLE},
    )
    if found.status != 0:
        raise KernelError(f"no kernel for the query was found: {found.message}", points)
    raised, lowest = found.x[: sent * count].reshape(sent, count), found.x[sent * count : sent * (count + 1)]
    table = raised + lowest[:, None]
    used = table.min(axis=1) > _NEVER
    return table[used] / table[used].sum(axis=0), outputs[used]


def _sums(factors: Floats, count: int) -> scipy.sparse.csr_matrix:
    """(G, m·G + m): Σ_y b_y K_yg for each g of `count`, of the variables u and θ, for the factors b (m,)."""
    own = scipy.sparse.kron(factors[None, :], scipy.sparse.identity(count))
    return scipy.sparse.hstack([own, np.tile(factors, (count, 1))], format="csr")
