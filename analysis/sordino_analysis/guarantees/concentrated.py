"""Zero-concentrated differential privacy: the guarantee of the Gaussian mechanisms of a trusted curator.

ρ is an integer number of nano-ρ, rounded up where it is spent and down where it is a cap. Devices and manifests do not
know this guarantee.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import ClassVar

from sordino_shared._checks import check_range
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import MAX_NANO, NANO, PureEpsilon, exact_decimal, exp_lower_bound

_LEAST = Fraction(1, NANO)
# Characters of a written number: more are refused before they are read.
_MAX_WRITTEN = 40
# Bits of the exponential that a price is decided with.
_BITS = 192


@dataclass(frozen=True, order=True)
class Zcdp:
    """D_α(M(X)‖M(X′)) ≤ αρ for every α > 1 and all neighbours X, X′, with ρ = nano_rho · 10⁻⁹."""

    kind: ClassVar[str] = "zcdp"
    nano_rho: int

    def __post_init__(self) -> None:
        check_range(self.nano_rho, 0, MAX_NANO, "ρ in nano-ρ")

    @classmethod
    def of(cls, rho: float | str | Decimal | Fraction) -> Zcdp:
        """ρ as a person writes it (.02, "0.1"), rounded up to a whole nano-ρ."""
        return cls(math.ceil(_positive(rho) * NANO))

    @classmethod
    def at_most(cls, cap: float | str | Decimal | Fraction) -> Zcdp:
        """A cap on ρ as a person writes it, rounded down to a whole nano-ρ; raises InvalidValue for one below 1e-9."""
        rho = _positive(cap)
        if rho < _LEAST:
            raise InvalidValue(f"a cap on ρ must be at least 1e-9, got {cap!r}; nothing less is ever spent", cap)
        return cls(math.floor(rho * NANO))

    @classmethod
    def implied_by(cls, pure: PureEpsilon) -> Zcdp:
        """ε·tanh(ε/2), rounded up: the least ρ that every ε-private mechanism has.

        Each is a post-processing of randomised response, whose D_α is ln[cosh((α−½)ε)/cosh(ε/2)]/(α−1). ln cosh √t is
        concave in t, so D_α ≤ α·ε·tanh(ε/2), with equality as α falls to 1. (Bun and Steinke 2016 prove ε²/2.)
        """
        # ε(e^ε − 1)/(e^ε + 1) grows with e^ε, of which this is above 2^192 times the true value.
        power, one = exp_lower_bound(pure.nano, _BITS) + 2, 1 << _BITS
        return cls(-(-pure.nano * (power - one) // (power + one)))

    @classmethod
    def pure_within(cls, cap: Zcdp) -> PureEpsilon:
        """The largest nano-ε that costs at most this ρ; 0 where none does."""
        low, high = 0, MAX_NANO + 1
        while high - low > 1:
            middle = (low + high) // 2
            if cls.implied_by(PureEpsilon(middle)) <= cap:
                low = middle
            else:
                high = middle
        return PureEpsilon(low)

    @property
    def exact(self) -> Fraction:
        """ρ as a ratio of integers, which the variance of the noise is computed from."""
        return Fraction(self.nano_rho, NANO)

    @property
    def rho(self) -> float:
        """ρ as a float, for display and design only."""
        return self.nano_rho / NANO

    def __add__(self, other: Zcdp) -> Zcdp:
        """Adaptive composition."""
        return Zcdp(self.nano_rho + other.nano_rho)

    def __str__(self) -> str:
        """`ρ = 0.02`, with every digit there is."""
        return f"ρ = {exact_decimal(self.nano_rho)}"


def _positive(rho: float | str | Decimal | Fraction) -> Fraction:
    number = rho if isinstance(rho, Fraction) else _decimal(rho)
    if not 0 < number <= MAX_NANO // NANO:
        raise InvalidValue(f"ρ must be above 0 and at most {MAX_NANO // NANO}, got {rho!r}", rho)
    # Below a nano-ρ the size does not matter, and an exponent like −10⁹ is never expanded.
    return Fraction(number) if number >= _LEAST else _LEAST / 2


def _decimal(rho: float | str | Decimal) -> Decimal:
    text = str(rho).strip()
    try:
        # Decimal also reads 1_000 and the digits of every script.
        number = Decimal(text) if len(text) <= _MAX_WRITTEN and text.isascii() and "_" not in text else None
    except InvalidOperation as error:
        raise InvalidValue(f"ρ must be a number, got {rho!r}", rho) from error
    if number is None or not number.is_finite():
        raise InvalidValue(f"ρ must be a finite number written like 0.02 or 2e-2, got {rho!r}", rho)
    return number
