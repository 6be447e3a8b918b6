"""ρ as people write it, and the (ε, δ) that it implies against the infimum over α in many digits."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from sordino_analysis.guarantees.approximate import Approximate, approximate_of, zcdp_within
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_shared.errors import InvalidValue

DELTAS = [Fraction(1, 10**12), Fraction(1, 10**6), Fraction(1, 1000)]
RHOS = ["0.000001", "0.001", "0.024356", "0.1", "0.5"]


def test_rho_is_rounded_up_where_it_is_spent_and_down_where_it_is_a_cap() -> None:
    assert Zcdp.of("0.0000000015") == Zcdp(2)
    assert Zcdp.at_most("0.0000000015") == Zcdp(1)
    assert Zcdp.of("1e-999999999") == Zcdp(1)
    assert str(Zcdp.of(0.1) + Zcdp.of("0.02")) == "ρ = 0.12"


@pytest.mark.parametrize("rho", ["0", "-1", "nan", "inf", "1_0", "", "0.1 or so", "1001", "1e99999", True, None])
def test_what_is_no_rho_is_refused(rho: str) -> None:
    with pytest.raises(InvalidValue, match="ρ must be"):
        Zcdp.of(rho)


def test_a_cap_below_a_nano_rho_is_refused() -> None:
    with pytest.raises(InvalidValue, match="at least 1e-9"):
        Zcdp.at_most("1e-10")


def log_delta(alpha: Decimal, rho: Decimal, epsilon: Decimal) -> Decimal:
    """ln of e^{(α−1)(αρ−ε)} (1−1/α)^{α−1}/α."""
    return (alpha - 1) * (alpha * rho - epsilon) + (alpha - 1) * (1 - 1 / alpha).ln() - alpha.ln()


def least_log_delta(rho: Decimal, epsilon: Decimal) -> Decimal:
    """The infimum over α: the exponent is convex in α once multiplied out, so a ternary search finds it."""
    low, high = Decimal("1e-3").ln(), Decimal("1e5").ln()
    for _ in range(120):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if log_delta(1 + left.exp(), rho, epsilon) < log_delta(1 + right.exp(), rho, epsilon):
            high = right
        else:
            low = left
    return log_delta(1 + low.exp(), rho, epsilon)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("rho", RHOS)
def test_epsilon_is_never_below_the_infimum_and_at_most_a_thousandth_above(rho: str, delta: Fraction) -> None:
    found = approximate_of(Zcdp.of(rho), delta).nano_epsilon
    with localcontext(prec=40):
        bound = (Decimal(delta.numerator) / delta.denominator).ln()
        epsilon = Decimal(found) / 10**9
        assert least_log_delta(Decimal(rho), epsilon) <= bound
        if found:
            lower = min(epsilon * Decimal("0.999"), epsilon - Decimal("1e-9"))
            assert least_log_delta(Decimal(rho), lower) > bound


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("rho", [*RHOS, "2", "20"])
def test_epsilon_covers_the_gaussian_that_has_exactly_this_rho(rho: str, delta: Fraction) -> None:
    """N(0, 1/2ρ) against N(1, 1/2ρ): δ(ε) = Φ(√(2ρ)/2 − ε/√(2ρ)) − e^ε Φ(−√(2ρ)/2 − ε/√(2ρ))."""
    epsilon, shift = approximate_of(Zcdp.of(rho), delta).nano_epsilon / 1e9, math.sqrt(2 * float(rho))
    exact = norm.cdf(shift / 2 - epsilon / shift) - np.exp(epsilon + norm.logcdf(-shift / 2 - epsilon / shift))
    assert exact <= float(delta)


def test_the_known_pair() -> None:
    """ρ = .024356 is (1, 10⁻⁶): six digits of what other accountants print."""
    assert approximate_of(Zcdp.of("0.024356"), Fraction(1, 10**6)).nano_epsilon == pytest.approx(1e9, rel=1e-5)
    assert str(approximate_of(Zcdp(0), Fraction(1, 2))) == "ε = 0 at δ = 0.5"


@pytest.mark.parametrize("delta", [*DELTAS, Fraction(1, 2)])
def test_rho_within_a_bound_stays_within_it_and_takes_nearly_all_of_it(delta: Fraction) -> None:
    rho = zcdp_within(Approximate(10**9, delta))
    assert 998_000_000 <= approximate_of(rho, delta).nano_epsilon <= 10**9


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1), Fraction(-1, 2), 1e-6])
def test_delta_outside_its_range_is_refused(delta: Fraction) -> None:
    with pytest.raises(InvalidValue, match="δ must be"):
        approximate_of(Zcdp.of(0.1), delta)


def test_an_epsilon_beyond_a_thousand_is_refused() -> None:
    with pytest.raises(InvalidValue, match="plan with less ρ"):
        approximate_of(Zcdp.of(1000), Fraction(1, 10**6))


def test_no_rho_is_within_a_bound_that_is_too_small() -> None:
    with pytest.raises(InvalidValue, match="allow a larger"):
        zcdp_within(Approximate(0, Fraction(1, 10**12)))
