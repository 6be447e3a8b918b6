"""Guarantees a mechanism carries, and the integer arithmetic that proves them.

Pure ε is the only guarantee of protocol v1: a document with any other tag is refused. ε is an integer number of
nano-ε, so that two sides never disagree about a last digit: rounded up where it is spent and down where it is a cap,
never in the spender's favour.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import ClassVar

from sordino_shared._checks import check_range
from sordino_shared._records import dataclass
from sordino_shared.errors import InvalidValue

NANO = 10**9
# A campaign or a lifetime may compose many rounds; one round is limited by MAX_ROUND_NANO below.
MAX_NANO = 1000 * NANO
# Below .001 the integer weights of a 60-bit kernel still tell the levels apart by 2^50, but no campaign of
# realistic size answers anything; above 16 an e^ε of 9·10^6 leaves nothing that deserves the name of privacy.
MIN_ROUND_NANO = NANO // 1000
MAX_ROUND_NANO = 16 * NANO
_FRACTION_BITS = 192
_ONE_NANO = Fraction(1, NANO)
# Decimal also reads 1_000 and the digits of every script, in which people take one number for another.
_WRITTEN = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True, order=True)
class PureEpsilon:
    """P(y|x) ≤ e^ε P(y|x′) for every output and every pair of values, with ε = nano · 10⁻⁹."""

    kind: ClassVar[str] = "pure_epsilon"
    nano: int

    def __post_init__(self) -> None:
        check_range(self.nano, 0, MAX_NANO, "ε in nano-ε")

    @classmethod
    def of(cls, epsilon: float | str | Decimal | Fraction) -> PureEpsilon:
        """ε as a person writes it (1, .5, "0.1"), rounded up to a whole nano-ε."""
        number = _positive(epsilon)
        # Below a nano-ε the ceiling is 1, and an exponent like −10⁹ is never expanded.
        return cls(1 if number < _ONE_NANO else math.ceil(Fraction(number) * NANO))

    @classmethod
    def at_most(cls, cap: float | str | Decimal | Fraction) -> PureEpsilon:
        """A cap on ε as a person writes it, rounded down to a whole nano-ε: never more than was asked for."""
        number = _positive(cap)
        if number < _ONE_NANO:
            raise InvalidValue(f"a cap on ε must be at least 1e-9, got {cap!r}; nothing less is ever spent", cap)
        return cls(math.floor(Fraction(number) * NANO))

    @property
    def epsilon(self) -> float:
        """ε as a float, for display and design only."""
        return self.nano / NANO

    def sentence(self, language: str = "en") -> str:
        """ε in odds, for the owner of a device: "… their odds about your answer change at most 2.72-fold. …".

        In English or German; raises InvalidValue for another language.
        """
        # What it needs is below in this module.
        from sordino_shared.odds import sentence

        return sentence(self.nano, language)

    def __add__(self, other: PureEpsilon) -> PureEpsilon:
        """Sequential composition."""
        return PureEpsilon(self.nano + other.nano)

    def __str__(self) -> str:
        """`ε = 1`, with every digit there is."""
        return f"ε = {exact_decimal(self.nano)}"


def exact_decimal(nano: int) -> str:
    """nano · 10⁻⁹ with every digit there is: a shorter text would show less than is spent, or more than is allowed."""
    whole, rest = divmod(nano, NANO)
    return f"{whole}.{rest:09d}".rstrip("0").rstrip(".")


def _positive(epsilon: float | str | Decimal | Fraction) -> Decimal | Fraction:
    number = epsilon if isinstance(epsilon, Fraction) else _decimal(epsilon)
    if number <= 0:
        raise InvalidValue(f"ε must be above 0, got {epsilon!r}", epsilon)
    if number > MAX_NANO // NANO:
        raise InvalidValue(
            f"ε must be at most {MAX_ROUND_NANO // NANO} for a round and {MAX_NANO // NANO} for a lifetime, "
            f"got {epsilon!r}",
            epsilon,
        )
    return number


def _decimal(epsilon: float | str | Decimal) -> Decimal:
    try:
        text = str(epsilon).strip()
        number = Decimal(text) if _WRITTEN.fullmatch(text) else None
    except (InvalidOperation, ValueError) as error:
        raise InvalidValue(f"ε must be a number, got {epsilon!r}", epsilon) from error
    if number is None or not number.is_finite():
        raise InvalidValue(f"ε must be a finite number written like 0.5 or 5e-1, got {epsilon!r}", epsilon)
    return number


def check_round_guarantee(guarantee: PureEpsilon) -> None:
    """ε of one round lies in [.001, 16]: outside, integer kernels or usefulness end."""
    if not MIN_ROUND_NANO <= guarantee.nano <= MAX_ROUND_NANO:
        raise InvalidValue(
            f"ε of one round must be from {MIN_ROUND_NANO / NANO:g} to {MAX_ROUND_NANO / NANO:g}, "
            f"got {exact_decimal(guarantee.nano)}",
            guarantee,
        )


def exp_lower_bound(nano: int, bits: int = _FRACTION_BITS) -> int:
    """⌊2^bits · e^(nano·10⁻⁹)⌋ or one less, for 0 ≤ nano ≤ MAX_NANO: never above the true value.

    The Taylor series has positive terms and every term is rounded down, so any partial sum is a lower bound. Term i
    loses at most Σ_j x^(i−j)/(i!/j!) < e^x units of 2^−guard, the whole series less than (terms)·e^x, and the guard of
    64 + 2x bits is above log2 of that.
    """
    check_range(nano, 0, MAX_NANO, "ε in nano-ε")
    guard = 64 + 2 * (nano // NANO)
    term = total = 1 << (bits + guard)
    index = 0
    while term:
        index += 1
        term = term * nano // (index * NANO)
        total += term
    return total >> guard


def ratio_within(numerator: int, denominator: int, nano: int) -> bool:
    """Whether numerator/denominator ≤ e^(nano·10⁻⁹), decided in integers with a lower bound of the exponential."""
    return numerator << _FRACTION_BITS <= denominator * exp_lower_bound(nano)


def epsilon_of_ratio(numerator: int, denominator: int) -> PureEpsilon | None:
    """The least nano-ε that provably covers the likelihood ratio; None when no ε up to the maximum does."""
    if denominator <= 0 or numerator < denominator:
        return None if denominator <= 0 else PureEpsilon(0)
    # The logarithms err by less than 10⁻⁴ nano-ε, so the search starts at least one below the answer.
    nano = max(0, math.floor(NANO * (math.log(numerator) - math.log(denominator))) - 1)
    while nano <= MAX_NANO:
        if ratio_within(numerator, denominator, nano):
            return PureEpsilon(nano)
        nano += 1
    return None
