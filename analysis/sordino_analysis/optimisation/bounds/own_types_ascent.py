"""Maximising the bound of `own_types` over weights, numerators and multipliers: concave, smoothed, by L-BFGS.

The largest violation over all rows is replaced by its smooth maximum at a temperature that falls. Over few types
windows have their full length at once, as all rows are enumerated at the same cost; over more they grow by two types,
at which the far cells' numbers go on unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.optimize import minimize

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.bounds.own_types import OwnTypes, recheck_own_types, signed_sizes
from sordino_analysis.optimisation.bounds.smooth_enumeration import MOST_ENUMERATED, EveryRow
from sordino_analysis.optimisation.bounds.smooth_paths import SmoothMaximum, smooth_maximum
from sordino_analysis.optimisation.bounds.window_paths import Form, Integers, Lattice, Windows

# Relative to the value; after a lift, or from the solution for a smaller ε, the last ones are enough.
_TEMPERATURES: tuple[float, ...] = (0.1, 0.03, 0.01, 0.003, 0.001, 0.0003)
_WARMER, _WARM = _TEMPERATURES[1:], _TEMPERATURES[3:]
# A value that no ε up to the largest cold one is below, and by how much one for ε + 1 may be smaller.
_FIRST_EXPECTED, _EXPECTED_AFTER = 0.03, 0.35
_MEMORY = 30
# Beyond it an ascent starts from the solution for ε − 1: from nothing one for ε = 8 ends at half of it.
_LARGEST_COLD = 4.5
# Rows with more high types than some, and these times k/(e^ε + 1), hardly ever are the worst; the last check has all.
_MOST_HIGH, _FEWEST_HIGH = 4.0, 16
# A share of the level, small against any gain.
_NO_TEMPERATURE = 1e-4
_LEAST_ROOT = 1e-3


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
        own = shares.sum(axis=1, keepdims=True)
        return Form(own * self.profiles / sizes, shares / sizes, self.multipliers / self.windows.types)


def own_types_bound(
    thresholds: Integers,
    types: int,
    epsilon: float,
    *,
    length: int = 2,
    steps: int = 100,
    should_stop: Callable[[], bool] = lambda: False,
) -> OwnTypes:
    """The bound of `recheck_own_types` ascended at windows of up to `length` types; keeps what it has when stopped.

    `thresholds` (Q,) increase; there are up to `steps` at each of six temperatures and of three after a lift, and
    `should_stop()` is asked at every one. Raises InvalidValue for what `recheck_own_types` refuses.
    """
    before = max(0, int(np.ceil(epsilon - _LARGEST_COLD)))
    length, temperatures = min(length, types), _TEMPERATURES
    first = length if types <= MOST_ENUMERATED else min(2, length)
    point, expected = _begun(thresholds, types, first), _FIRST_EXPECTED
    for earlier in range(before, -1, -1):
        ascent = _OwnTypesAscent(thresholds, epsilon - earlier, steps, expected, should_stop)
        point = ascent.climb(point, temperatures)
        temperatures, expected = _WARMER, _EXPECTED_AFTER * ascent.expected
    while point.windows.length < length and not should_stop():
        point = ascent.climb(_lifted(point, thresholds, min(2 + point.windows.length, length)), _WARM)
    return ascent.proved(point)


def ascent_states(types: int, epsilon: float, length: int) -> int:
    """How many states of windows an evaluation goes through, on the way to windows of `length` types."""
    return (_most_high(types, epsilon) + 1) ** 2 * types << length


def _most_high(types: int, epsilon: float) -> int:
    return int(min(types, _FEWEST_HIGH + _MOST_HIGH * types / (np.exp(epsilon) + 1)))


# The smooth maximum over the rows of one ε, of a form at a temperature.
_Smooth = Callable[[Form, float], SmoothMaximum]


def _smooth_maximum(windows: Windows, epsilon: float) -> _Smooth:
    if windows.types <= MOST_ENUMERATED:
        return EveryRow(windows, epsilon).smooth_maximum
    return partial(smooth_maximum, Lattice(windows, epsilon, np.arange(_most_high(windows.types, epsilon) + 1)))


class _OwnTypesAscent:
    """At one ε. Temperatures are relative to the value, or to what is expected before there is one."""

    def __init__(
        self, thresholds: Integers, epsilon: float, steps: int, expected: float, should_stop: Callable[[], bool]
    ) -> None:
        self.thresholds, self.epsilon, self.steps, self.should_stop = thresholds, epsilon, steps, should_stop
        self.expected = expected

    def climb(self, point: WindowPoint, temperatures: tuple[float, ...]) -> WindowPoint:
        """The point after the steps at each temperature."""
        windows = point.windows
        smooth = _smooth_maximum(windows, self.epsilon)
        point = self._scaled(point, smooth)
        for temperature in temperatures:
            if self.should_stop():
                break
            point = self._descended(point, smooth, temperature * self.expected)
            self._scaled(point, smooth)
        return point

    def _scaled(self, point: WindowPoint, smooth: _Smooth) -> WindowPoint:
        """The point with ν raised to what the rows need and A scaled best; notes what it about proves."""
        form = point.form
        correlation = float((form.numerators * signed_sizes(point.windows, self.thresholds)).sum()) / 2
        scale = max(abs(correlation), float(np.abs(form.multipliers).sum()))
        level = float(form.multipliers.sum())
        level += smooth(form, _NO_TEMPERATURE * scale).value
        factor = correlation / level
        raised = factor**2 * (point.multipliers + level - float(form.multipliers.sum()))
        self.expected = max(self.expected, correlation**2 / level - 0.25)
        return replace(point, profiles=factor * point.profiles, multipliers=raised)

    def _descended(self, point: WindowPoint, smooth: _Smooth, temperature: float) -> WindowPoint:
        variables = _CellVariables(point, signed_sizes(point.windows, self.thresholds))

        def objective(values: Floats) -> tuple[float, Floats]:
            moved = variables.point(values)
            return variables.slopes(moved, smooth(moved.form, temperature))

        def stop_when_late(_: Floats) -> None:
            if self.should_stop():
                raise StopIteration

        options = {"maxfun": self.steps, "maxiter": self.steps, "maxcor": _MEMORY, "ftol": 0.0, "gtol": 0.0}
        found = minimize(
            objective, variables.start, jac=True, method="L-BFGS-B", options=options, callback=stop_when_late
        )
        return variables.point(found.x)

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
        own, sizes = shares.sum(axis=1, keepdims=True), np.maximum(self.windows.sizes, 1.0)
        value = float((form.numerators * self.signed).sum()) - float(form.multipliers.sum()) - smooth.value
        by_numerators = self.signed - smooth.numerators
        by_profiles = by_numerators * own / sizes
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


def _lifted(point: WindowPoint, thresholds: Integers, length: int) -> WindowPoint:
    """The same numbers of every type at longer windows."""
    windows = Windows.around(thresholds, point.windows.types, length)
    sizes = np.maximum(point.windows.sizes, 1.0)
    profiles = windows.totals(point.windows.spread(point.profiles / sizes))
    roots = _roots(windows, windows.totals(point.windows.spread(point.shares / sizes)))
    return WindowPoint(windows, profiles, roots, point.multipliers)


def _roots(windows: Windows, shares: Floats) -> Floats:
    """Of the weights of cells, at most 1; not nothing, from where steps would not move them."""
    return np.where(windows.sizes > 0, np.maximum(np.sqrt(shares / shares.max()), _LEAST_ROOT), 0.0)
