"""Solving the cone program of `mixed_types_program` by Newton steps along its barrier's central path.

Every point of the path is inside the cone, so its numbers are a certificate. The barrier of S(x) counts twice, for the
reflected interval; at its least for a weight μ the objective is μ times the number of rows of all S from the optimum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.bounds.mixed_types import MixedTypes
from sordino_analysis.optimisation.bounds.mixed_types_program import MixedTypesProgram, Terms
from sordino_analysis.optimisation.bounds.trace import recheck
from sordino_analysis.optimisation.bounds.tuning import MIXED_TYPES
from sordino_analysis.optimisation.bounds.window_paths import Integers

# A step that has to be shorter moves nothing.
_SHORTEST = 1e-6
# Keeps the scaled Hessian invertible in double precision.
_RIDGE = 1e-11


def mixed_types_bound(
    thresholds: Integers,
    types: int,
    epsilon: float,
    *,
    intervals: int = 2,
    growth: int = 2,
    should_stop: Callable[[], bool] = lambda: False,
) -> MixedTypes:
    """Numbers whose `recheck_mixed_types` is within some 2 per mille of the best, with 2·`intervals` between nodes.

    A has numbers at distances from a threshold that grow by 1/`growth`. `thresholds` (Q,) increase, with k − t for
    every t of them. Keeps what it has once `should_stop()`.
    """
    rows = np.arange(types) < thresholds[:, None]
    even = recheck(rows.astype(float), epsilon, np.full(len(rows), 1 / len(rows)), np.full(types, 1 / types))
    program = MixedTypesProgram(thresholds, types, epsilon, intervals, growth)
    path = _Path(program)
    return program.certificate(path.followed(max(even, MIXED_TYPES.least_expected), should_stop))


@dataclass(frozen=True, eq=False)
class _Numbers:
    """Of A: a query's or the reflected one's, with the rows (n,) of S and shapes (k, n)."""

    sign: float
    rows: Integers
    shapes: Floats


@dataclass(frozen=True, eq=False)
class _Point:
    """x with the Cholesky factors of every S(x)."""

    x: Floats
    factors: list[Floats]


class _Path:
    """The function −cᵀx − μ (2 Σ log det S(x) + Σ log x_i over the positive ones), where 1 = `sums`ᵀx."""

    def __init__(self, program: MixedTypesProgram) -> None:
        self.program, self.numerators, self.queries = program, program.numerators, len(program.thresholds)
        self.objective, self.positive, self.sums = program.objective, program.positive, program.sums
        numerators, below = self.numerators, program.types + 1
        self._signed = [
            _Numbers(sign, below + numerators.rows[i], numerators.shapes[i]) for i, sign in enumerate((1.0, -1.0))
        ]
        self.rows = len(program.blocks) * 2 * (program.types + 1 + self.queries) + len(self.positive)

    def followed(self, expected: float, should_stop: Callable[[], bool]) -> Floats:
        """x (n,) near the optimum."""
        point = self._point(self.program.start(expected))
        assert point is not None, "the start is inside the cone"
        weight = MIXED_TYPES.first * expected / self.rows
        while weight * self.rows > MIXED_TYPES.last * expected:
            for _ in range(MIXED_TYPES.most_steps):
                if should_stop():
                    return point.x
                moved, decrement = self._stepped(point, weight)
                if moved is None:
                    break
                point = moved
                if decrement < MIXED_TYPES.centred:
                    break
            expected = max(expected, float(self.objective @ point.x) - 0.25)
            weight *= MIXED_TYPES.shrink
        return point.x

    def matrices(self, x: Floats) -> list[Floats]:
        """S(x) at both ends of every interval of the lower half."""
        types, matrices = self.program.types, []
        numerators = self.numerators.matrix(x, self.queries)
        for block in self.program.blocks:
            half = (block.left * (block.factors * x[block.places])) @ block.right.T
            half[types + 1 :, :types] += numerators
            matrices.append(half + half.T)
        return matrices

    def _point(self, x: Floats) -> _Point | None:
        """None outside the cone."""
        if x[self.positive].min() <= 0:
            return None
        try:
            return _Point(x, [np.asarray(np.linalg.cholesky(one), dtype=float) for one in self.matrices(x)])
        except np.linalg.LinAlgError:
            return None

    def _value(self, point: _Point, weight: float) -> float:
        logs = 4 * sum(float(np.log(np.diag(factor)).sum()) for factor in point.factors)
        return -float(self.objective @ point.x) - weight * (logs + float(np.log(point.x[self.positive]).sum()))

    def _stepped(self, point: _Point, weight: float) -> tuple[_Point | None, float]:
        """The point after a Newton step, None if there is none, and the squared length of the step over μ."""
        slopes, curvature = self.slopes(point, weight)
        scale = 1 / np.sqrt(np.diag(curvature))
        scaled = curvature * scale[:, None] * scale
        scaled[np.diag_indices_from(scaled)] += _RIDGE
        try:
            factor = cho_factor(scaled, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            return None, np.inf
        down, across = (scale * cho_solve(factor, scale * one) for one in (slopes, self.sums))
        step = across * float(self.sums @ down) / float(self.sums @ across) - down
        decrement, slope = float(step @ curvature @ step) / weight, float(slopes @ step)
        share, before = self._share(point, step), self._value(point, weight)
        while share > _SHORTEST:
            moved = self._point(point.x + share * step)
            if moved is not None and self._value(moved, weight) <= before + MIXED_TYPES.sufficient * share * slope:
                return moved, decrement
            share *= MIXED_TYPES.backtrack
        return None, decrement

    def _share(self, point: _Point, step: Floats) -> float:
        """How much of a step goes at most half the way to the boundary."""
        relative = [float((step[self.positive] / point.x[self.positive]).min())]
        for factor, matrix in zip(point.factors, self.matrices(step), strict=True):
            half = solve_triangular(factor, matrix, lower=True)
            both = solve_triangular(factor, half.T, lower=True)
            relative.append(float(np.linalg.eigvalsh((both + both.T) / 2)[0]))
        return min(1.0, -MIXED_TYPES.to_boundary / min(*relative, -MIXED_TYPES.to_boundary))

    def slopes(self, point: _Point, weight: float) -> tuple[Floats, Floats]:
        """(n,) and (n, n) first and second derivatives of the function."""
        slopes, curvature = -self.objective, np.zeros((self.program.size,) * 2)
        for factor, block in zip(point.factors, self.program.blocks, strict=True):
            self._add(slopes, curvature, np.asarray(np.linalg.inv(factor), dtype=float), 2 * weight, block)
        inside = point.x[self.positive]
        slopes[self.positive] -= weight / inside
        curvature[self.positive, self.positive] += weight / inside**2
        return slopes, curvature

    def _add(self, slopes: Floats, curvature: Floats, half: Floats, weight: float, block: Terms) -> None:
        """What −weight·log det S adds, from its inverse Cholesky factor: tr GE_i and tr GE_i GE_j with G = S⁻¹."""
        inverse = half.T @ half
        count = self.numerators.rows.shape[1]
        left, right = inverse @ block.left, inverse @ block.right
        mixed, factors = block.left.T @ right, weight * block.factors
        second = (block.left.T @ left) * (block.right.T @ right) + mixed * mixed.T
        np.add.at(curvature, (block.places[:, None], block.places), 2 * second * factors[:, None] * block.factors)
        np.add.at(slopes, block.places, -2 * factors * np.diag(mixed))
        for signed in self._signed:
            crossed = inverse[signed.rows, : self.program.types] @ signed.shapes
            slopes[:count] -= 2 * weight * signed.sign * np.diag(crossed)
            second = self._with_terms(left, right, signed) * (2 * signed.sign * factors)
            np.add.at(curvature, (block.places[:, None], np.arange(count)), second.T)
            np.add.at(curvature.T, (block.places[:, None], np.arange(count)), second.T)
            curvature[:count, :count] += 2 * weight * self._between(inverse, signed, signed)
        reflected = 2 * weight * self._between(inverse, *self._signed)
        curvature[:count, :count] -= reflected + reflected.T

    def _with_terms(self, left: Floats, right: Floats, numbers: _Numbers) -> Floats:
        """(n, terms) half of tr GE_i GE_j for numbers of A and terms of the block, whose sides are multiplied by G."""
        types = self.program.types
        second = left[numbers.rows] * (numbers.shapes.T @ right[:types])
        return np.asarray(second + right[numbers.rows] * (numbers.shapes.T @ left[:types]))

    def _between(self, inverse: Floats, one: _Numbers, other: _Numbers) -> Floats:
        """(n, n) half of tr GE_i GE_j for the numbers of A, without the signs of the queries and the reflected ones."""
        types = self.program.types
        curvature = one.shapes.T @ (inverse[:types, :types] @ other.shapes)
        curvature *= inverse[np.ix_(one.rows, other.rows)]
        curvature += (inverse[one.rows, :types] @ other.shapes) * (inverse[other.rows, :types] @ one.shapes).T
        return np.asarray(curvature)
