"""Maximising the doubly non-negative bound over its multipliers and weights; every point it visits is a bound.

With F = tr (A R′ Aᵀ)^½ the function 2F − t − ‖A D_π^½‖_F² is below the bound F²/t − ‖A D_π^½‖_F², equal to it where
F = t, and concave in multipliers and ρ together: F is the fidelity of AᵀA and R′, R′ is a Schur complement. Where R′
stops to be non-negative the slope of F is infinite, so an ascent needs no barrier of its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.optimize import Bounds, OptimizeResult, minimize

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.bounds.row_forms import row_form
from sordino_analysis.optimisation.bounds.tuning import PAIR_BOUND
from sordino_analysis.request_terms import Objective

# What a barrier ends at, relative to its first: below rounding of the value.
_NO_BARRIER = 1e-12
# A gradient that is nothing but rounding.
_FLAT = 1e-10


@dataclass(frozen=True, eq=False)
class DualPoint:
    """Multipliers (k,) and (k, k), query weights ρ and type weights π."""

    levels: Floats
    pairs: Floats
    rows: Floats
    columns: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class DualSlopes:
    """2F − t − ‖A D_π^½‖_F² at a point and its derivatives by everything in it."""

    fidelity: float
    spread: float
    first: float
    levels: Floats
    pairs: Floats
    rows: Floats
    columns: Floats

    @property
    def value(self) -> float:
        return 2.0 * self.fidelity - self.spread - self.first


class DualProblem:
    """The function of this module for W (Q, k), whose rows vary, with its gradient.

    The histogram's queries are added at a negligible weight, so that R′ counts on all of πᵀz = 0 whatever W is.
    """

    def __init__(self, matrix: Floats, epsilon: float, barrier: float) -> None:
        self.matrix, self.epsilon, self.barrier = matrix, epsilon, barrier

    def __call__(self, point: DualPoint) -> DualSlopes | None:
        """None where R′ is not positive on πᵀz = 0. Derivatives by ρ and π are up to a constant on the simplex."""
        form = row_form(point.levels, point.pairs, self.epsilon)
        if form.level <= 0:
            return None
        reduced, centred = form.reduced(), self.matrix - (self.matrix @ point.columns)[:, None]
        gram = self._gram(centred, point)
        spread = _Spread(gram, reduced)
        if spread.squares[0] <= 0:
            return None
        moments, means = spread.moments(), np.diag(gram)
        fidelity = float(np.sqrt(spread.squares).sum())
        by_rows = ((centred @ spread.by_gram()) * centred).sum(axis=1) - centred**2 @ point.columns
        by_columns = -2.0 * moments @ reduced.sum(axis=1) - means
        levels, pairs = form.products(moments + 1.0)
        first = float(means @ point.columns)
        return DualSlopes(
            fidelity=fidelity,
            spread=-float(reduced.sum()),
            first=first,
            levels=-levels,
            pairs=-pairs,
            rows=by_rows,
            columns=by_columns,
        )

    def bound(self, point: DualPoint) -> float:
        """F²/t − ‖A D_π^½‖_F², or −∞ where the point proves nothing."""
        slopes = self(point)
        if slopes is None or slopes.spread <= 0:
            return -np.inf
        return slopes.fidelity**2 / slopes.spread - slopes.first

    def _gram(self, centred: Floats, point: DualPoint) -> Floats:
        """AᵀA, with a little of the histogram's."""
        gram = (centred * point.rows[:, None]).T @ centred
        columns = point.columns
        histogram = np.eye(len(columns)) - columns - columns[:, None] + columns @ columns
        return np.asarray(gram + self.barrier * histogram)


class _Spread:
    """F = tr (A R′ Aᵀ)^½ through AᵀA = L Lᵀ and the eigenvectors of LᵀR′L; π spans the null space of AᵀA."""

    def __init__(self, gram: Floats, reduced: Floats) -> None:
        self.gram = gram
        eigenvalues, basis = np.linalg.eigh(gram)
        self.lengths = np.sqrt(np.maximum(eigenvalues[1:], np.finfo(float).tiny))
        self.basis = basis[:, 1:]
        left = self.basis * self.lengths
        self.squares, self.turn = np.linalg.eigh(left.T @ reduced @ left)

    def moments(self) -> Floats:
        """2 ∂F/∂R′ = L (LᵀR′L)^-½ Lᵀ: the moments E zzᵀ for which Cauchy–Schwarz is an equality."""
        turned = (self.basis * self.lengths) @ self.turn
        return np.asarray((turned / np.sqrt(self.squares)) @ turned.T)

    def by_gram(self) -> Floats:
        """2 ∂F/∂(AᵀA) = L^-ᵀ (LᵀR′L)^½ L⁻¹."""
        turned = (self.basis / self.lengths) @ self.turn
        return np.asarray((turned * np.sqrt(self.squares)) @ turned.T)


class DualAscent:
    """L-BFGS over multipliers, π and, for "max", ρ: `matrix` (Q, k) has rows that vary."""

    def __init__(self, matrix: Floats, epsilon: float, objective: Objective) -> None:
        self.matrix, self.epsilon, self.objective = matrix, epsilon, objective

    def run(
        self, rows: Floats, columns: Floats, tolerance: float, evaluations: int, should_stop: Callable[[], bool]
    ) -> DualPoint:
        """The point that proves most of those met from these weights ρ and π, at most `evaluations`.

        `rows` ρ (Q,), `columns` π (k,).
        """
        unit = float(rows @ (self.matrix**2).mean(axis=1))
        problems = [DualProblem(self.matrix, self.epsilon, barrier * unit) for barrier in PAIR_BOUND.barriers]
        plain = DualProblem(self.matrix, self.epsilon, _NO_BARRIER * unit)
        point = _begin(problems[0], rows, columns)
        best, top = point, plain.bound(point)
        for problem in problems:
            climb = _Climb(problem, point, self.objective)
            # At large ε the bound is a small difference of two moments, and so are the gains.
            least_gain = tolerance * max(top, PAIR_BOUND.small_share * climb.size)
            point = climb.run(least_gain, min(PAIR_BOUND.evaluations, evaluations), should_stop)
            evaluations -= climb.evaluations
            proved = plain.bound(point)
            settled = problem.barrier < PAIR_BOUND.settling * unit and abs(proved - top) <= tolerance * top
            if proved > top:
                best, top = point, proved
            if settled or evaluations <= 0 or should_stop():
                break
        return best


def _begin(problem: DualProblem, rows: Floats, columns: Floats) -> DualPoint:
    """The best multipliers levels = π, pairs = r·ππᵀ, scaled to F = t; r = 0 is the trace bound.

    At large ε rows of a single type are best; it takes r > 0 to exclude the others.
    """
    starts: list[tuple[float, DualPoint]] = []
    for ratio in PAIR_BOUND.ratios:
        point = DualPoint(columns, ratio * np.triu(np.outer(columns, columns), 1), rows, columns)
        slopes = problem(point)
        if slopes is not None and slopes.spread > 0:
            scale = (slopes.fidelity / slopes.spread) ** 2
            scaled = replace(point, levels=scale * point.levels, pairs=scale * point.pairs)
            starts.append((slopes.fidelity**2 / slopes.spread, scaled))
    return max(starts, key=lambda pair: pair[0])[1]


class _Climb:
    """One run of the optimiser from a point, its function in units of F there; it remembers the best point met."""

    def __init__(self, problem: DualProblem, start: DualPoint, objective: Objective) -> None:
        self.problem, self.variables = problem, _Variables(start, objective)
        slopes = problem(start)
        self.size = 1.0 if slopes is None else slopes.fidelity
        self.best, self.top = self.variables.start, -np.inf
        self.evaluations = 0

    def run(self, least_gain: float, evaluations: int, should_stop: Callable[[], bool]) -> DualPoint:
        """The best point once `should_stop()`, or once a number of steps gain no more than `least_gain`."""
        past: deque[float] = deque(maxlen=PAIR_BOUND.patience)

        def ends(intermediate_result: OptimizeResult) -> None:
            idle = len(past) == PAIR_BOUND.patience and self.top - past[0] <= least_gain
            if idle or should_stop():
                raise StopIteration
            past.append(self.top)

        options = {
            "maxfun": evaluations,
            "maxiter": evaluations,
            "maxcor": PAIR_BOUND.past_steps,
            "ftol": 0.0,
            "gtol": _FLAT,
        }
        start, bounds = self.variables.start, self.variables.bounds()
        minimize(self._descend, start, jac=True, method="L-BFGS-B", bounds=bounds, callback=ends, options=options)
        return self.variables.point(self.best)

    def _descend(self, values: Floats) -> tuple[float, Floats]:
        self.evaluations += 1
        point = self.variables.point(values)
        slopes = self.problem(point)
        if slopes is None:
            # Little above the best, so that the line search steps back by a factor and not to nothing.
            return (PAIR_BOUND.wall * abs(self.top) - self.top) / self.size, np.zeros_like(values)
        if slopes.value > self.top:
            self.best, self.top = values.copy(), slopes.value
        return -slopes.value / self.size, -self.variables.gradient(values, point, slopes) / self.size


class _Variables:
    """The optimiser's vector: multipliers, then ρ for "max", then π, each near 1.

    Weights are any positive numbers, divided by their sum.
    """

    def __init__(self, start: DualPoint, objective: Objective) -> None:
        types = len(start.columns)
        self.upper = np.triu_indices(types, 1)
        self.fixed_rows = start.rows if objective == "mean" else None
        self.scale = float(start.levels.sum()) / types
        weights = np.zeros(0) if objective == "mean" else start.rows * len(start.rows)
        parts = [start.levels / self.scale, start.pairs[self.upper] / self.scale, weights, start.columns * types]
        self.start = np.concatenate(parts)
        ends = [0, *np.cumsum([len(part) for part in parts]).tolist()]
        self.parts = [slice(start, stop) for start, stop in pairwise(ends)]

    def bounds(self) -> Bounds:
        lower = np.zeros(len(self.start))
        lower[self.parts[2].start :] = PAIR_BOUND.least_weight
        return Bounds(lower, np.inf)

    def point(self, values: Floats) -> DualPoint:
        levels, upper, rows, columns = (values[part] for part in self.parts)
        pairs = np.zeros((len(columns), len(columns)))
        pairs[self.upper] = upper * self.scale
        rows = rows / rows.sum() if self.fixed_rows is None else self.fixed_rows
        return DualPoint(levels * self.scale, pairs, rows, columns / columns.sum())

    def gradient(self, values: Floats, point: DualPoint, slopes: DualSlopes) -> Floats:
        rows, columns = values[self.parts[2]], values[self.parts[3]]
        parts = [slopes.levels * self.scale, slopes.pairs[self.upper] * self.scale]
        if self.fixed_rows is None:
            parts.append((slopes.rows - slopes.rows @ point.rows) / rows.sum())
        parts.append((slopes.columns - slopes.columns @ point.columns) / columns.sum())
        return np.concatenate(parts)
