"""δ(ε) of one report among those of a blanket, from the law of one loss."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Sequence

from sordino_shared.errors import InvalidValue

# (value, chance) of a loss L; the chances sum to 1.
LossLaw = Sequence[tuple[float, float]]
# (chances by place, n, cells) → (cells,) chances of the sum of n places modulo the cells.
LawOfSum = Callable[[dict[int, float], int, int], Sequence[float]]

# About the chance of sums that are left out of the transform; their part of δ is bounded and added.
_NEGLIGIBLE = 1e-17
_FEWEST_CELLS, _MOST_CELLS = 1 << 12, 1 << 16
# Cells are this part of the standard deviation of one loss, if that takes no more than the most cells.
_PART_OF_DEVIATION = 8
# With fewer values than this, the transform is summed directly.
_FEW_VALUES = 12


def delta_of(law: LossLaw, blanket: int, law_of_sum: LawOfSum | None = None) -> float:
    """At least E[(L₀ + … + L_m)₊]/(m + 1) for m = `blanket`, and above it by about as much as the grid is coarse.

    Each value of L is spread over two neighbouring points of a grid with its mean kept. By Jensen's inequality the
    expectation only grows. The law of the sum is one Fourier transform to the power m + 1; what lies above its window
    is bounded by Bernstein's inequality. Rounding adds less than 10⁻¹² + 10⁻⁴ δ. `law_of_sum` takes the place of the
    transform in plain Python.

    Raises:
        InvalidValue: `blanket` is negative, or the chances do not sum to 1.
    """
    if blanket < 0:
        raise InvalidValue(f"a blanket has at least 0 reports, got {blanket}", blanket)
    if not math.isclose(math.fsum(chance for _, chance in law), 1, abs_tol=1e-9):
        raise InvalidValue("the chances of a loss do not sum to 1", law)
    count = blanket + 1
    window = _Window(law, count)
    if window.top <= 0:
        return window.above(law, count) / count
    spread = window.spread(law)
    chances = (law_of_sum or _law_of_sum)(spread, count, window.cells)
    positive = math.fsum(chance * max(0.0, value) for chance, value in zip(chances, window.values(), strict=True))
    points = [(window.origin + place * window.step, chance) for place, chance in spread.items()]
    return (positive + window.above(points, count)) / count


class _Window:
    """A cyclic grid on which nearly all of a sum of `count` losses lies.

    A loss is `origin` plus a multiple of `step`, so a sum is `count · origin` plus one; `cells` multiples up to `top`
    are told apart. Sums below the window count as some above it, which makes δ larger.
    """

    def __init__(self, law: LossLaw, count: int) -> None:
        least, most = min(value for value, _ in law), max(value for value, _ in law)
        mean, variance = _moments(law)
        log = -math.log(_NEGLIGIBLE)
        high = min(count * most, count * mean + _reach(count * variance, most - mean, log))
        low = max(count * least, count * mean - _reach(count * variance, mean - least, log))
        width = max(high - low, 1e-300)
        wanted = width / max(math.sqrt(variance) / _PART_OF_DEVIATION, 1e-300)
        self.cells = _FEWEST_CELLS
        while self.cells < min(wanted, _MOST_CELLS):
            self.cells *= 2
        # Spreading moves each loss by less than a cell, so that few losses stay within the window for sure.
        margin = min(count, self.cells // 8) + 1
        self.step = width / (self.cells - 2 * margin)
        # The likeliest value lies on the grid and is not spread.
        self.origin = max(law, key=lambda pair: pair[1])[0]
        self._last = math.floor((high - count * self.origin) / self.step) + margin
        self.top = count * self.origin + self._last * self.step

    def spread(self, law: LossLaw) -> dict[int, float]:
        """Chances by multiple of the step, each value at its two neighbours with its mean kept."""
        spread: dict[int, float] = {}
        for value, chance in law:
            place = (value - self.origin) / self.step
            below = math.floor(place)
            above = place - below
            spread[below] = spread.get(below, 0.0) + chance * (1 - above)
            if above:
                spread[below + 1] = spread.get(below + 1, 0.0) + chance * above
        return spread

    def values(self) -> list[float]:
        """The sums that the places 0, …, cells − 1 of the cyclic grid stand for, `count · origin` included."""
        first = self._last - self.cells + 1
        top = self.top
        last, step, cells = self._last, self.step, self.cells
        return [top - (last - (first + (place - first) % cells)) * step for place in range(cells)]

    def above(self, law: LossLaw, count: int) -> float:
        """At least E[S₊; S > top] of a sum S of `count` losses of this law, by Bernstein's inequality.

        P(S − E S > u) ≤ e^−f(u) with f(u) = u²/(2(v + b u/3)); f is convex, so beyond u₀ it is above its tangent.
        """
        mean, variance = _moments(law)
        largest = max(value for value, _ in law)
        if count * largest <= self.top + self.step / 2:
            return 0.0
        bound, total = largest - mean, count * variance
        beyond = self.top - count * mean
        if beyond <= 0:
            return count * max(0.0, largest)
        scale = 2 * (total + bound * beyond / 3)
        exponent = beyond**2 / scale
        slope = (2 * beyond * scale - beyond**2 * 2 * bound / 3) / scale**2
        return math.exp(-exponent) * (max(0.0, self.top) + 1 / slope)


def _moments(law: LossLaw) -> tuple[float, float]:
    """Mean and variance."""
    mean = math.fsum(value * chance for value, chance in law)
    return mean, math.fsum((value - mean) ** 2 * chance for value, chance in law)


def _reach(variance: float, bound: float, log: float) -> float:
    """u with Bernstein's e^−u²/(2(v + b u/3)) = e^−log."""
    third = bound * log / 3
    return third + math.sqrt(third**2 + 2 * log * variance)


def _law_of_sum(spread: dict[int, float], count: int, cells: int) -> list[float]:
    """(cells,) chances of the sum of `count` copies modulo `cells`; what rounding makes negative is 0."""
    if len(spread) <= _FEW_VALUES:
        turn = 2j * math.pi / cells
        roots = [cmath.exp(turn * place) for place in range(cells)]
        pairs = [(place % cells, chance) for place, chance in spread.items()]
        waves = [sum(chance * roots[-place * k % cells] for place, chance in pairs) for k in range(cells)]
    else:
        dense = [0j] * cells
        for place, chance in spread.items():
            dense[place % cells] += chance
        waves = transform(dense)
    powers = [_power(wave, count) for wave in waves]
    return [max(0.0, chance.real) for chance in inverse_transform(powers)]


def _power(wave: complex, count: int) -> complex:
    """wave^count; a modulus that leaves the range of floats is 0, since none is above 1."""
    size = abs(wave)
    if size == 0 or count * math.log(size) < -700:
        return 0j
    return cmath.rect(math.exp(count * math.log(size)), count * cmath.phase(wave))


def transform(points: Sequence[complex]) -> list[complex]:
    """F_k = Σ_j points_j e^(−2πijk/n) for k = 0, …, n − 1, by Stockham's method, which needs no reordering.

    n is a power of two. Devices and shufflers prove (ε, δ) without any dependency, so there is no numpy here: 4,096
    points take about 10 ms.
    """
    return _stockham(list(points), -1)


def inverse_transform(waves: Sequence[complex]) -> list[complex]:
    """The points of which `waves` is the transform."""
    scale = 1 / len(waves)
    return [scale * point for point in _stockham(list(waves), 1)]


def _stockham(points: list[complex], sign: int) -> list[complex]:
    """One pass for each factor of two: rows a and b of the two halves become a + b and (a − b)·w, interleaved."""
    count = len(points)
    half, stride = count // 2, 1
    turn = sign * 2j * math.pi / count
    roots = [cmath.exp(turn * place) for place in range(half)]
    while half:
        result: list[complex] = [0j] * count
        for row in range(half):
            root = roots[row * stride]
            first = points[row * stride : (row + 1) * stride]
            second = points[(row + half) * stride : (row + half + 1) * stride]
            start = 2 * row * stride
            result[start : start + stride] = [a + b for a, b in zip(first, second, strict=True)]
            result[start + stride : start + 2 * stride] = [(a - b) * root for a, b in zip(first, second, strict=True)]
        points, half, stride = result, half // 2, stride * 2
    return points
