"""Maximising the bound of `own_types` over weights, numerators and multipliers: concave, smoothed, by L-BFGS.

The largest violation over all rows is replaced by its smooth maximum at a temperature that falls. After the first one
only rows with likely numbers of high types are kept, and windows become as long as is affordable for these; the far
cells' numbers go on unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.optimize import minimize

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.bounds.own_types import OwnTypes, recheck_own_types, signed_sizes
from sordino_analysis.optimisation.bounds.smooth_paths import SmoothMaximum, SmoothPaths
from sordino_analysis.optimisation.bounds.tuning import MOST_ENUMERATED, OWN_TYPES
from sordino_analysis.optimisation.bounds.window_paths import Form, Integers, Lattice, Windows

# A share of the level, small against any gain.
_NO_TEMPERATURE = 1e-4


@dataclass(frozen=True, eq=False)
class WindowPoint:
    """Where an ascent stands, by thresholds: A_t over the weight of t, and roots of weights up to a factor, as totals
    of cells (Q, L + 2), and kν (k,)."""

    windows: Windows
    profiles: Floats
    roots: Floats
    multipliers: Floats

    @property
    def shares(self) -> Floats:
        """(Q, L + 2) weights of whole cells, which sum to 1."""
        return np.asarray(self.roots**2 / (self.roots**2).sum())

    @property
    def form(self) -> Form:
        """The numbers of every type."""
        shares, sizes = self.shares, np.maximum(self.windows.sizes, 1.0)
        weights = shares.sum(axis=1, keepdims=True)
        return Form(weights * self.profiles / sizes, shares / sizes, self.multipliers / self.windows.types)


def own_types_bound(
    thresholds: Integers,
    types: int,
    epsilon: float,
    *,
    length: int = OWN_TYPES.length,
    steps: int = OWN_TYPES.steps,
    most_states: float = np.inf,
    should_stop: Callable[[], bool] = lambda: False,
) -> OwnTypes:
    """The bound of `recheck_own_types` ascended at windows of up to `length` types; keeps what it has when stopped.

    `thresholds` (Q,) increase; there are up to `steps` at each of four temperatures, again for every smaller ε on the
    way to a large one, and `should_stop()` is asked at every one. Windows are longer than `first_length` only while one
    step goes through up to `most_states`. Raises InvalidValue for what `recheck_own_types` refuses.
    """
    before = max(0, int(np.ceil(epsilon - OWN_TYPES.largest_cold)))
    if before >= next((after for most, after in OWN_TYPES.large_after if types <= most), np.inf):
        length = min(length, OWN_TYPES.length_at_large)
    length, expected = min(length, types), OWN_TYPES.first_expected
    temperatures = OWN_TYPES.more_temperatures if before else OWN_TYPES.temperatures
    point = _begun(thresholds, types, first_length(types, epsilon, length, most_states))
    for earlier in range(before, -1, -1):
        rows = _every_row(point.windows, epsilon - earlier)
        ascent = _OwnTypesAscent(thresholds, epsilon - earlier, rows, steps, expected, should_stop)
        point = ascent.climb(point, temperatures[:1])
        if earlier == 0:
            point = ascent.lengthened(point, length, most_states)
        point = ascent.climb(point, temperatures[1:])
        temperatures, expected = OWN_TYPES.more_temperatures[1:], OWN_TYPES.expected_after * ascent.expected
    return ascent.proved(point)


def first_length(types: int, epsilon: float, length: int, most_states: float) -> int:
    """How long the windows of the first steps are, up to `length`; 0 if their states are too many."""
    if types <= MOST_ENUMERATED:
        return min(length, types)
    states = (_most_high(types, epsilon) + 1) ** 2 * types
    lengths = _lengths(min(2, length), min(OWN_TYPES.longest_first, length))
    return max((one for one in lengths if states << one <= most_states), default=0)


def _lengths(shortest: int, longest: int) -> list[int]:
    """Those of `shortest`, + 2, … types, and `longest`."""
    return [*range(shortest, longest, 2), longest]


def _most_high(types: int, epsilon: float) -> int:
    return int(min(types, OWN_TYPES.fewest_high + OWN_TYPES.most_high * types / (np.exp(epsilon) + 1)))


class _Rows(Protocol):
    """The rows of one ε over which a form has its smooth maximum at a temperature."""

    def smooth_maximum(self, form: Form, temperature: float) -> SmoothMaximum:
        """With its slopes."""

    def value(self, form: Form, temperature: float) -> float:
        """Alone."""

    def likely(self, form: Form, temperature: float) -> _Rows:
        """Fewer rows, with nearly all of the sum."""

    def states(self, length: int) -> float:
        """How many states of windows of so many types a step goes through."""

    def at(self, windows: Windows) -> _Rows:
        """The same rows, for forms of other windows."""


def _every_row(windows: Windows, epsilon: float) -> _Rows:
    if windows.types <= MOST_ENUMERATED:
        return EveryRow(windows, epsilon)
    return SmoothPaths(Lattice(windows, epsilon, np.arange(_most_high(windows.types, epsilon) + 1)))


class _OwnTypesAscent:
    """At one ε. Temperatures are relative to the value, or to what is expected before there is one."""

    def __init__(
        self,
        thresholds: Integers,
        epsilon: float,
        rows: _Rows,
        steps: int,
        expected: float,
        should_stop: Callable[[], bool],
    ) -> None:
        self.thresholds, self.epsilon, self.steps, self.should_stop = thresholds, epsilon, steps, should_stop
        self.rows, self.expected = rows, expected

    def climb(self, point: WindowPoint, temperatures: tuple[float, ...]) -> WindowPoint:
        """The point after the steps at each temperature, with fewer rows from one to the next."""
        point = self._scaled(point)
        for relative in temperatures:
            if self.should_stop():
                break
            temperature = relative * self.expected
            point = self._descended(point, temperature)
            self.rows = self.rows.likely(point.form, temperature)
            self._scaled(point)
        return point

    def lengthened(self, point: WindowPoint, length: int, most_states: float) -> WindowPoint:
        """The point at the longest windows of up to `length` types whose states are not too many."""
        present = point.windows.length
        affordable = [one for one in _lengths(present, length) if self.rows.states(one) <= most_states]
        longer = lifted(point, self.thresholds, max([present, *affordable]))
        self.rows = self.rows.at(longer.windows)
        return longer

    def _scaled(self, point: WindowPoint) -> WindowPoint:
        """The point with ν raised to what the rows need and A scaled best; notes what it about proves."""
        form = point.form
        correlation = float((form.numerators * signed_sizes(point.windows, self.thresholds)).sum()) / 2
        scale = max(abs(correlation), float(np.abs(form.multipliers).sum()))
        level = float(form.multipliers.sum())
        level += self.rows.value(form, _NO_TEMPERATURE * scale)
        factor = correlation / level
        raised = factor**2 * (point.multipliers + level - float(form.multipliers.sum()))
        self.expected = max(self.expected, correlation**2 / level - 0.25)
        return replace(point, profiles=factor * point.profiles, multipliers=raised)

    def _descended(self, point: WindowPoint, temperature: float) -> WindowPoint:
        variables = _CellVariables(point, signed_sizes(point.windows, self.thresholds))

        def objective(values: Floats) -> tuple[float, Floats]:
            moved = variables.point(values)
            return variables.slopes(moved, self.rows.smooth_maximum(moved.form, temperature))

        def stop_when_late(_: Floats) -> None:
            if self.should_stop():
                raise StopIteration

        options = {
            "maxfun": self.steps,
            "maxiter": self.steps,
            "maxcor": OWN_TYPES.past_steps,
            "ftol": 0.0,
            "gtol": 0.0,
        }
        optimum = minimize(
            objective, variables.start, jac=True, method="L-BFGS-B", options=options, callback=stop_when_late
        )
        return variables.point(optimum.x)

    def proved(self, point: WindowPoint) -> OwnTypes:
        form, windows = point.form, point.windows
        weights = form.weights / float((form.weights * windows.sizes).sum())
        numbers = {"weights": weights, "numerators": form.numerators, "multipliers": form.multipliers}
        value = recheck_own_types(self.thresholds, windows.types, self.epsilon, **numbers)
        return OwnTypes(value=value, thresholds=self.thresholds, **numbers)


class _CellVariables:
    """The optimiser's vector: profiles and roots of the cells that have types, and kν."""

    def __init__(self, point: WindowPoint, signed: Floats) -> None:
        self.windows, self.signed, self.full = point.windows, signed, point.windows.sizes > 0
        self.start = np.concatenate([point.profiles[self.full], point.roots[self.full], point.multipliers])

    def point(self, values: Floats) -> WindowPoint:
        count = int(self.full.sum())
        profiles, roots = np.zeros(self.full.shape), np.zeros(self.full.shape)
        profiles[self.full], roots[self.full] = values[:count], values[count : 2 * count]
        return WindowPoint(self.windows, profiles, roots, values[2 * count :])

    def slopes(self, point: WindowPoint, smooth: SmoothMaximum) -> tuple[float, Floats]:
        """Minus the smoothed bound 2⟨A, W⟩ − 1ᵀν − the smooth maximum, and its derivatives."""
        form, shares = point.form, point.shares
        weights, sizes = shares.sum(axis=1, keepdims=True), np.maximum(self.windows.sizes, 1.0)
        value = float((form.numerators * self.signed).sum()) - float(form.multipliers.sum()) - smooth.value
        by_numerators = self.signed - smooth.numerators
        by_profiles = by_numerators * weights / sizes
        by_shares = (by_numerators * point.profiles / sizes).sum(axis=1, keepdims=True) - smooth.weights / sizes
        centred = by_shares - float((shares * by_shares).sum())
        by_roots = 2.0 * point.roots / float((point.roots**2).sum()) * centred
        by_multipliers = (-1.0 - smooth.multipliers) / self.windows.types
        return -value, -np.concatenate([by_profiles[self.full], by_roots[self.full], by_multipliers])


def _begun(thresholds: Integers, types: int, length: int) -> WindowPoint:
    """Weights and profiles that fall like 1/distance on both sides of the threshold."""
    windows = Windows.around(thresholds, types, length)
    distance = np.abs(np.arange(types) + 0.5 - thresholds[:, None])
    signs = np.where(np.arange(types) < thresholds[:, None], 1.0, -1.0)
    before, after = (signs > 0) / distance, (signs < 0) / distance
    by_type = before / before.sum(axis=1, keepdims=True) + after / after.sum(axis=1, keepdims=True)
    roots = _roots(windows, windows.totals(by_type))
    return WindowPoint(windows, windows.totals(signs * by_type), roots, np.zeros(types))


def lifted(point: WindowPoint, thresholds: Integers, length: int) -> WindowPoint:
    """The same numbers of every type at longer windows, of `length` types around `thresholds` (Q,)."""
    windows = Windows.around(thresholds, point.windows.types, length)
    sizes = np.maximum(point.windows.sizes, 1.0)
    profiles = windows.totals(point.windows.spread(point.profiles / sizes))
    roots = _roots(windows, windows.totals(point.windows.spread(point.shares / sizes)))
    return WindowPoint(windows, profiles, roots, point.multipliers)


def _roots(windows: Windows, shares: Floats) -> Floats:
    """Of the weights of cells, at most 1; not nothing, from where steps would not move them."""
    return np.where(windows.sizes > 0, np.maximum(np.sqrt(shares / shares.max()), OWN_TYPES.least_root), 0.0)


class EveryRow:
    """The rows {1, e^ε}^k (2^k, k) for windows over k types, with the mean of each."""

    def __init__(self, windows: Windows, epsilon: float) -> None:
        self.windows, self.epsilon = windows, epsilon
        high = (np.arange(1 << windows.types)[:, None] >> np.arange(windows.types)) & 1
        self.rows = np.where(high, np.exp(epsilon), 1.0)
        self.means = self.rows.mean(axis=1)
        self.transposed = np.ascontiguousarray(self.rows.T)

    def smooth_maximum(self, form: Form, temperature: float) -> SmoothMaximum:
        """τ log Σ_v exp(f(v)/τ), and its derivatives of shapes (Q, L + 2) twice, and (k,)."""
        sums = self.windows.spread(form.numerators) @ self.transposed
        # v ≥ 1, so only a query without weight, whose sums are 0, has less.
        below = self.windows.spread(form.weights) @ self.transposed
        ratios = sums / np.maximum(below, np.finfo(float).tiny)
        values = (np.einsum("qv,qv->v", sums, ratios) - form.multipliers @ self.transposed) / self.means
        top = float(values.max())
        masses = np.exp((values - top) / temperature)
        total = float(masses.sum())
        chances = masses / (total * self.means)
        pushed = ratios * chances
        return SmoothMaximum(
            value=top + temperature * float(np.log(total)),
            numerators=2.0 * self.windows.totals(pushed @ self.rows),
            weights=-self.windows.totals((pushed * ratios) @ self.rows),
            multipliers=-(chances @ self.rows),
        )

    def value(self, form: Form, temperature: float) -> float:
        """The smooth maximum alone."""
        return self.smooth_maximum(form, temperature).value

    def likely(self, form: Form, temperature: float) -> EveryRow:
        """All rows: they are few."""
        return self

    def states(self, length: int) -> float:
        """The number of rows, at windows of any length."""
        return float(len(self.rows))

    def at(self, windows: Windows) -> EveryRow:
        """The same rows, for forms of other windows."""
        return EveryRow(windows, self.epsilon)
