"""The laws of a curator's noise: seeded χ² tests that accept the law and reject one whose parameter is 3 % off.

Each acceptance has a false-alarm rate of 10⁻⁶, drawn once with a fixed seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import chi2

from sordino_analysis.curator.coins import _Chances, exponential_coins
from sordino_analysis.curator.noise import CuratorNoise
from sordino_analysis.curator.shell_index import ShellIndex, eulerian_type_b, exponential_bracket
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.errors import InvalidValue
from sordino_shared.randomness import Randomness

FALSE_ALARM = 1e-6
DRAWS = 200_000
CELLS = 40


def seeded(seed: int) -> CuratorNoise:
    return CuratorNoise(SeededRandomness(seed), seeded_for_tests=True)


def gaussian_log_weight(z: np.ndarray, variance: float) -> np.ndarray:
    return -(z**2) / (2 * variance)


def laplace_log_weight(z: np.ndarray, scale: float) -> np.ndarray:
    return -np.abs(z) / scale


def rejects(drawn: np.ndarray, log_weight: Callable[[np.ndarray], np.ndarray], reach: int) -> bool:
    """Whether a χ² test over some 40 cells of equal probability rejects the law of these weights up to ±reach."""
    values = np.arange(-reach, reach + 1)
    chances = np.exp(log_weight(values.astype(float)))
    chances /= chances.sum()
    cells = np.minimum((np.cumsum(chances) * CELLS).astype(int), CELLS - 1)
    cells = np.unique(cells, return_inverse=True)[1]
    expected = len(drawn) * np.bincount(cells, chances)
    found = np.bincount(cells[np.clip(drawn, -reach, reach) + reach], minlength=len(expected))
    expected, found = expected[expected > 0], found[expected > 0]
    assert found.sum() == len(drawn)
    statistic = ((found - expected) ** 2 / expected).sum()
    return bool(chi2.sf(statistic, len(expected) - 1) < FALSE_ALARM)


@pytest.mark.parametrize("variance", [Fraction(1, 4), Fraction(1), Fraction(41, 2), Fraction(10**6)], ids=str)
def test_the_discrete_gaussian_has_its_law_and_no_variance_three_percent_off(variance: Fraction) -> None:
    drawn, exact, reach = seeded(1).gaussian(variance, DRAWS), float(variance), 10 * math.isqrt(int(variance)) + 10
    assert not rejects(drawn, lambda z: gaussian_log_weight(z, exact), reach)
    for share in (0.97, 1.03):
        assert rejects(drawn, lambda z, v=share * exact: gaussian_log_weight(z, v), reach) or variance < 1
    if variance < 1:  # few values: 10⁶ draws tell 3 % apart
        drawn = seeded(2).gaussian(variance, 10**6)
        assert not rejects(drawn, lambda z: gaussian_log_weight(z, exact), reach)
        for share in (0.97, 1.03):
            assert rejects(drawn, lambda z, v=share * exact: gaussian_log_weight(z, v), reach)


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(7, 3), Fraction(4096 * 10**9, 10**9 + 7)], ids=str)
def test_discrete_laplace_has_its_law_and_no_scale_three_percent_off(scale: Fraction) -> None:
    drawn, exact, reach = seeded(3).laplace(scale, DRAWS), float(scale), 30 * math.ceil(scale)
    assert not rejects(drawn, lambda z: laplace_log_weight(z, exact), reach)
    for share in (0.97, 1.03):
        assert rejects(drawn, lambda z, s=share * exact: laplace_log_weight(z, s), reach)


@pytest.mark.parametrize("exponent", [Fraction(1, 7), Fraction(1), Fraction(5, 2), Fraction(2**70 + 1, 2**70)])
def test_coins_of_an_exponential_fall_with_their_probability(exponent: Fraction) -> None:
    """Within five standard errors."""
    numerators = np.array([exponent.numerator] * DRAWS, dtype=object)
    heads = exponential_coins(numerators, exponent.denominator, SeededRandomness(8)).mean()
    chance = math.exp(-exponent)
    assert abs(heads - chance) < 5 * math.sqrt(chance * (1 - chance) / DRAWS)


def test_a_negative_exponent_is_refused() -> None:
    with pytest.raises(InvalidValue, match="at least 0"):
        exponential_coins(np.array([-1], dtype=object), 1, SeededRandomness(1))


def test_a_variance_of_sixty_bits_comes_out() -> None:
    """Standard error of the variance of 2·10⁵ draws: .32 %; five of them are 1.6 %, and 3 % is rejected."""
    drawn = seeded(4).gaussian(Fraction(2**60 + 1, 1), DRAWS).astype(float)
    assert abs(np.mean(drawn**2) / 2**60 - 1) < 5 * math.sqrt(2 / DRAWS) < 0.03


def radius_log_weight(dimension: int, scale: float) -> Callable[[np.ndarray], np.ndarray]:
    """‖z‖∞ = m has (2m+1)^d − (2m−1)^d points of weight e^(−m/scale)."""

    def weight(m: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            inner = np.where(m > 0, ((2 * m - 1) / (2 * m + 1)).clip(0), 0) ** dimension
            return np.where(m < 0, -np.inf, dimension * np.log(2 * abs(m) + 1) + np.log1p(-inner) - m / scale)

    return weight


@pytest.mark.parametrize(("dimension", "scale"), [(2, Fraction(3)), (3, Fraction(2, 3)), (16, Fraction(25, 2))])
def test_the_radius_of_the_ball_has_its_law_and_no_scale_three_percent_off(dimension: int, scale: Fraction) -> None:
    drawn = seeded(5).ball(scale, dimension, DRAWS // 3)
    assert drawn.shape[1] == dimension
    radii, reach = np.abs(drawn).max(axis=1), 60 * dimension * math.ceil(scale)

    def rejected(share: float) -> bool:
        weight = radius_log_weight(dimension, share * float(scale))
        peak = weight(np.arange(reach + 1.0)).max()
        return rejects(radii, lambda m: weight(m) - peak, reach)

    assert not rejected(1)
    assert rejected(0.97)
    assert rejected(1.03)


def test_the_ball_is_the_law_of_the_norm_point_by_point() -> None:
    """P(z) ∝ e^(−‖z‖∞) on the plane, every point with ‖z‖ ≤ 3: 49 cells and the rest."""
    draws = 50_000
    drawn = seeded(6).ball(Fraction(1), 2, draws)
    total = sum(8 * m * math.exp(-m) for m in range(1, 200)) + 1
    statistic = 0.0
    for x, y in product(range(-3, 4), repeat=2):
        expected = draws * math.exp(-max(abs(x), abs(y))) / total
        statistic += ((drawn == (x, y)).all(axis=1).sum() - expected) ** 2 / expected
    rest = draws * sum(8 * m * math.exp(-m) for m in range(4, 200)) / total
    statistic += ((np.abs(drawn).max(axis=1) > 3).sum() - rest) ** 2 / rest
    assert chi2.sf(statistic, 49) > FALSE_ALARM


@pytest.mark.parametrize("dimension", [1, 2, 5, 9])
def test_eulerian_numbers_generate_odd_powers(dimension: int) -> None:
    """The first 12 coefficients of B_d(x)/(1−x)^(d+1) are 1, 3^d, 5^d, …"""
    coefficients = eulerian_type_b(dimension)
    assert min(coefficients) > 0
    assert sum(coefficients) == 2**dimension * math.factorial(dimension)
    for r in range(12):
        found = sum(b * math.comb(r - j + dimension, dimension) for j, b in enumerate(coefficients[: r + 1]))
        assert found == (2 * r + 1) ** dimension


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(1, 10**9), Fraction(1, 3), Fraction(2), Fraction(49, 3)])
def test_the_bracket_of_an_exponential_is_narrow_and_holds(rate: Fraction) -> None:
    low, high = exponential_bracket(rate, 50)
    assert high - low <= 2
    assert low - 1 <= math.exp(-rate) * 2**50 <= high + 1
    fine_low, fine_high = exponential_bracket(rate, 200)
    assert Fraction(low, 2**50) <= Fraction(fine_high, 2**200)
    assert Fraction(fine_low, 2**200) <= Fraction(high, 2**50)


class Words(Randomness):
    """These bytes first, then those of a seed."""

    def __init__(self, first: bytes) -> None:
        self._first, self._rest = first, SeededRandomness(7)

    def bytes(self, count: int) -> bytes:
        taken, self._first = self._first[:count], self._first[count:]
        return taken + self._rest.bytes(count - len(taken))


def test_a_tie_of_the_first_bits_is_decided_by_more_of_them() -> None:
    """γ = 1/3 = .0101… in bits, and 62 bits that equal those of γ: the next two decide, 00 below and 1 above."""
    word = ((2**62 // 3) << 2).to_bytes(8, "little")
    chances = _Chances(np.array([1], dtype=object), 3)
    assert chances.draw(np.array([0]), Words(word + bytes(16))).tolist() == [True]
    assert chances.draw(np.array([0]), Words(word + b"\xff" * 8)).tolist() == [False]
    assert chances.draw(np.array([0]), Words(word + bytes(8) + b"\xff" * 8 + b"\xff" * 8)).tolist() == [False]


def test_a_shell_index_that_the_first_bits_leave_open_takes_more() -> None:
    """The first 128 bits of F_0: neither index is proved until the next bits are read."""
    index = ShellIndex(1, Fraction(1))
    edge = index._bracket(128)[0][0]
    assert index._decided(edge, 128) is None
    assert index._one(Words(edge.to_bytes(16, "big") + bytes(16))) == 0
    assert index._one(Words(edge.to_bytes(16, "big") + b"\xff" * 16)) == 1


def test_a_seed_is_refused_outside_tests() -> None:
    with pytest.raises(InvalidValue, match="leave out the seed"):
        CuratorNoise(SeededRandomness(1))
    assert CuratorNoise().gaussian(Fraction(3), 5).shape == (5,)


@pytest.mark.parametrize("variance", [Fraction(0), Fraction(-1), Fraction(2**81), 1.5])
def test_a_variance_outside_is_refused(variance: Fraction) -> None:
    with pytest.raises(InvalidValue, match="variance must be"):
        seeded(1).gaussian(variance, 1)


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(1, 1001), Fraction(2**51), 2.0])
def test_a_scale_outside_is_refused(scale: Fraction) -> None:
    with pytest.raises(InvalidValue, match="scale must be"):
        seeded(1).laplace(scale, 1)
    with pytest.raises(InvalidValue, match="scale must be"):
        seeded(1).ball(scale, 2, 1)


def test_no_draws_and_too_many_dimensions() -> None:
    assert seeded(1).gaussian(Fraction(1), 0).shape == (0,)
    assert seeded(1).ball(Fraction(1), 3, 0).shape == (0, 3)
    with pytest.raises(InvalidValue, match="dimension of a ball"):
        seeded(1).ball(Fraction(1), 1025, 1)
