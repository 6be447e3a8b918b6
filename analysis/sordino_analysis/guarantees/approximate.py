"""(ε, δ) that follows from ρ, decided in integers: never below what is true.

zCDP implies (ε, δ) with δ = inf over α > 1 of e^{(α−1)(αρ−ε)} (1−1/α)^{α−1}/α (Canonne, Kamath and Steinke 2020,
section on conversions). Every α is a proof, so floats only choose it; what is published is decided in integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_shared._checks import check_range
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import MAX_NANO, NANO, exact_decimal, exp_lower_bound

# α is a multiple of 1/16. Both sides of the inequality are raised to this power, so that no root is left.
_PARTS = 16
# Bits of numbers in [0, 1], and of the lower bound of the exponential.
_BITS = 256
# The δ of what is shown where nobody names another.
DELTA = Fraction(1, 10**6)
# A smaller δ is below the chance of a hardware fault, and beyond what doubles add.
_SMALLEST_DELTA = Fraction(1, 10**15)
# ln(α − 1): from the least α of the grid to beyond what the least ρ of 10⁻⁹ asks for.
_ORDERS = (math.log(1 / _PARTS), 16.0)
# The order of a Rényi divergence is found to so much: ε is flat there, and any order is a proof.
_SAME_ORDER = 1e-9


@dataclass(frozen=True)
class Approximate:
    """P(M(X) ∈ S) ≤ e^ε P(M(X′) ∈ S) + δ for every set S, with ε = nano_epsilon · 10⁻⁹.

    Derived from another guarantee, for people to read: it is never added up and no ledger keeps it.
    """

    kind: ClassVar[str] = "approximate"
    nano_epsilon: int
    delta: Fraction

    def __post_init__(self) -> None:
        check_range(self.nano_epsilon, 0, MAX_NANO, "ε in nano-ε")
        check_delta(self.delta)

    def __str__(self) -> str:
        """`ε = 1 at δ = 1e-06`."""
        return f"ε = {exact_decimal(self.nano_epsilon)} at δ = {float(self.delta):g}"


def check_delta(delta: Fraction) -> None:
    """Raise InvalidValue unless 10⁻¹⁵ ≤ δ < 1."""
    if not isinstance(delta, Fraction) or not _SMALLEST_DELTA <= delta < 1:
        raise InvalidValue(f"δ must be a fraction from 1e-15 to below 1, got {delta!r}", delta)


def approximate_of(guarantee: Zcdp, delta: Fraction) -> Approximate:
    """The least nano-ε at one well chosen α for which ρ-zCDP is proved to imply (ε, δ)-DP.

    Raises InvalidValue for a δ outside [10⁻¹⁵, 1) and where ε would be above 1000.
    """
    check_delta(delta)
    order = _best_order(guarantee.rho, float(delta))
    low, high = -1, MAX_NANO
    if not _implies(guarantee.nano_rho, high, delta, order):
        raise InvalidValue(f"{guarantee} implies no ε up to {MAX_NANO // NANO} at this δ: plan with less ρ", guarantee)
    while high - low > 1:
        middle = (low + high) // 2
        if _implies(guarantee.nano_rho, middle, delta, order):
            high = middle
        else:
            low = middle
    return Approximate(high, delta)


def zcdp_within(bound: Approximate) -> Zcdp:
    """The largest ρ found whose derived ε at this δ is proved to be at most the bound's.

    Raises InvalidValue where not even ρ = 10⁻⁹ stays within it.
    """
    low, high = 0, MAX_NANO + 1
    while high - low > 1:
        middle = (low + high) // 2
        if _implies(middle, bound.nano_epsilon, bound.delta, _best_order(middle / NANO, float(bound.delta))):
            low = middle
        else:
            high = middle
    if low == 0:
        raise InvalidValue(f"no ρ of at least 1e-9 gives {bound}: allow a larger ε or δ", bound)
    return Zcdp(low)


def _implies(nano_rho: int, nano_epsilon: int, delta: Fraction, order: int) -> bool:
    """Whether e^{(α−1)(αρ−ε)} (1−1/α)^{α−1}/α ≤ δ at α = order/16, both sides to the power of 16."""
    beyond = order - _PARTS
    # ⌊16 (α−1)(ε−αρ)⌋ in nano: rounding down makes the claim harder to prove.
    exponent = beyond * (_PARTS * nano_epsilon - order * nano_rho) // _PARTS
    if exponent < -MAX_NANO:
        return False
    left = _power_above(beyond, order, beyond) * _PARTS**_PARTS * delta.denominator**_PARTS
    right = delta.numerator**_PARTS * order**_PARTS * _exponential_below(min(exponent, MAX_NANO))
    return bool(left <= right)


def _exponential_below(nano: int) -> int:
    """At most 2^256 e^(nano·10⁻⁹), for either sign; exp_lower_bound is the floor or one less."""
    if nano >= 0:
        return exp_lower_bound(nano, _BITS)
    return (1 << 2 * _BITS) // (exp_lower_bound(-nano, _BITS) + 2)


def _power_above(numerator: int, denominator: int, exponent: int) -> int:
    """At least 2^256 (numerator/denominator)^exponent, by squaring with every product rounded up."""
    base, result = -(-(numerator << _BITS) // denominator), 1 << _BITS
    while exponent:
        if exponent & 1:
            result = -(-result * base >> _BITS)
        base = -(-base * base >> _BITS)
        exponent >>= 1
    return result


def _best_order(rho: float, delta: float) -> int:
    """16α for the multiple of 1/16 near the α that proves the least ε."""

    def epsilon(log_beyond: float) -> float:
        beyond = math.exp(log_beyond)
        order = 1 + beyond
        return order * rho - math.log(delta) / beyond + math.log(beyond / order) - math.log(order) / beyond

    # Processes that answer requests import this module for the forms of results, and must not hold a solver.
    from scipy.optimize import minimize_scalar

    best = minimize_scalar(epsilon, bounds=_ORDERS, method="bounded", options={"xatol": _SAME_ORDER})
    return _PARTS + max(1, round(_PARTS * math.exp(float(best.x))))
