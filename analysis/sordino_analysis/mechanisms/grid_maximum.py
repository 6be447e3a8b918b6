"""The largest variance of grids as a function of the chances of their levels and of what their reports count.

With Mβ = v − c1 a query's variance at a type is Σ_ℓ p_ℓ f_ℓ² E_ℓ(β, x) − (v_x − t)², see `evaluation/grids/law.py`. The
power mean of these over some queries and all types stands for the largest. Its slopes by all p and f take one more
system of equations a query.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy import fft
from scipy.optimize import minimize

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.grids.law import GridLaw
from sordino_analysis.evaluation.grids.levels import GridLevel, WindowSums, folded, inner_sums
from sordino_analysis.mechanisms.tuning import GRID_MAXIMUM
from sordino_shared.errors import InvalidValue

# Steps are limited, and evaluations are not.
_UNLIMITED = 1 << 20
# A level that no report draws would stay at the chance 0, whatever it were worth.
_LEAST = 1e-9
# The logarithm of more than any variance.
_MOST = 1 << 7


@dataclass(frozen=True, eq=False)
class Slopes:
    """Derivatives of a value by the chances (L,) and by the factors (L,) of levels."""

    chances: Floats
    factors: Floats


@dataclass(frozen=True, eq=False)
class LargestVariance:
    """(mean of (w_q·Var_q(x))^power)^(1/power) over `queries` v (b, k) and all types x; `weights` w (b,)."""

    levels: Sequence[GridLevel]
    queries: Floats
    weights: Floats
    power: int

    @property
    def _size(self) -> int:
        return int(self.queries.shape[1])

    @cached_property
    def _kernels(self) -> Floats:
        """R (L, k)."""
        return np.array([level.kernel(self._size) for level in self.levels])

    def at(self, chances: Floats, factors: Floats) -> tuple[float, Slopes]:
        """The value and its slopes where levels have these `chances` and reports count these `factors`, (L,) each."""
        law = GridLaw(with_terms(self.levels, chances, factors), self._size)
        beta = law.weights(self.queries)
        sums = WindowSums.of(beta)
        variances = self.weights[:, None] * np.maximum(law.variances(self.queries, beta), 0.0)
        value, pulls = self._power_mean(variances)
        pulls *= self.weights[:, None]
        moments, by_beta = np.empty(len(self.levels)), np.zeros_like(beta)
        for place, level in enumerate(self.levels):
            moments[place], slope = _moment(level, sums, pulls)
            by_beta += chances[place] * factors[place] ** 2 * slope
        through = self._kernels @ self._by_matrix(law, beta, pulls, by_beta)
        by_chance = factors**2 * moments - factors * through
        return value, Slopes(by_chance, chances * (2 * factors * moments - through))

    def _power_mean(self, variances: Floats) -> tuple[float, Floats]:
        """The value, and its derivatives by each variance (b, k)."""
        largest = float(variances.max())
        shares = (variances / largest) ** (self.power - 1)
        mean = float((shares * variances / largest).mean())
        return largest * mean ** (1 / self.power), shares / variances.size * mean ** (1 / self.power - 1)

    def _by_matrix(self, law: GridLaw, beta: Floats, pulls: Floats, by_beta: Floats) -> Floats:
        """−(derivatives by the entries of M) by distance, (k,): what M does by way of β, t and c."""
        answers = self.queries @ law.density
        by_constant = 2 * (pulls * (self.queries - answers[:, None])).sum(axis=1)
        pulled = law.inverse.product(by_beta + by_constant[:, None])
        # c = ⟨a, v⟩ with a = (2φ − 1/k)/(2·1ᵀφ − 1) for φ = M⁻¹1.
        by_centre = (by_constant - pulled.sum(axis=1)) @ self.queries
        flat = law.inverse.product(np.ones(self._size))
        by_flat = 2 * (by_centre - by_centre @ law.centre) / (2 * flat.sum() - 1)
        return _by_distance(np.vstack([pulled, law.inverse.product(by_flat)]), np.vstack([beta, flat]))


def descended(largest: LargestVariance, steps: int) -> list[GridLevel]:
    """The levels at chances and factors of a smaller value, by quasi-Newton steps over their logarithms."""
    count, size = len(largest.levels), largest.queries.shape[1]

    def objective(logarithms: Floats) -> tuple[float, Floats]:
        chances, factors = _normalised(logarithms[:count]), np.exp(logarithms[count:])
        try:
            value, slopes = largest.at(chances, factors)
        except InvalidValue:
            # A step too long, to levels that together tell too little to be solved: a shorter one is tried.
            return float(_MOST), np.zeros(2 * count)
        by_chance = chances * (slopes.chances - chances @ slopes.chances)
        return float(np.log(value)), np.concatenate([by_chance, factors * slopes.factors]) / value

    start = np.array([[max(level.chance, _LEAST), level.factor(size)] for level in largest.levels])
    options = {"maxiter": steps, "maxfun": _UNLIMITED}
    # A level of hardly any chance must not make up for it by what it counts.
    bounds = [(None, None)] * count + [
        (math.log(GRID_MAXIMUM.least_factor), math.log(GRID_MAXIMUM.most_factor))
    ] * count
    logarithms = np.log(np.clip(start.T, _LEAST, GRID_MAXIMUM.most_factor).ravel())
    found = minimize(objective, logarithms, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
    return with_terms(largest.levels, _normalised(found[:count]), np.exp(found[count:]))


def with_terms(levels: Sequence[GridLevel], chances: Floats, factors: Floats) -> list[GridLevel]:
    """The levels with these `chances`, made to sum to 1, and with what a report of each counts, (L,) both."""
    terms = zip(levels, (chances / chances.sum()).tolist(), factors.tolist(), strict=True)
    return [replace(level, chance=chance, counts=factor) for level, chance, factor in terms]


def _normalised(logarithms: Floats) -> Floats:
    chances = np.exp(logarithms - logarithms.max())
    return np.asarray(chances / chances.sum())


def _moment(level: GridLevel, sums: WindowSums, pulls: Floats) -> tuple[float, Floats]:
    """Σ pulls·E[(Σ β(u−1))² | x] over queries and types, and its derivatives by β (b, k); `pulls` (b, k)."""
    whole, around = pulls.sum(axis=1, keepdims=True), WindowSums.of(pulls)
    if level.hashed:
        windows = sums.windows(level.width)
        counted = level.spread * whole + (level.own_spread - level.spread) * around.windows(level.width)
        counted *= windows / level.width
        return float((counted * windows).sum()), 2 * inner_sums(counted, level.width)
    step = level.high - level.low
    windows = (level.low - 1) * sums.total + step * folded(sums.windows(level.window), level.period)
    counted = level.low * whole + step * folded(around.windows(level.window), level.period)
    counted *= windows / level.period
    held = np.take(counted, np.arange(sums.size + level.window - 1) % level.period, axis=-1)
    slopes = (level.low - 1) * counted.sum(axis=1, keepdims=True) + step * inner_sums(held, level.window)
    return float((counted * windows).sum()), 2 * slopes


def _by_distance(left: Floats, right: Floats) -> Floats:
    """Σ_i Σ_{|x − x'| = d} left_ix·right_ix' for d = 0 … k − 1: (k,)."""
    size = left.shape[1]
    both = (fft.rfft(left, 2 * size) * fft.rfft(right, 2 * size).conj()).sum(axis=0)
    found = fft.irfft(both, 2 * size)
    found[1:size] += found[:size:-1]
    return np.asarray(found[:size])
