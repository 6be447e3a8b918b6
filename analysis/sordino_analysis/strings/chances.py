"""How likely a report of a level holds a device's own string, and any other one, by the shipped integers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import AnyRandomizer, Coarsened, FieldLabel

# The label is in the device part as bits; ten give ε from 7 on, which no cap allows.
MOST_LABEL_BITS = 9
# The smallest label whose variance is within 5 % of the best: each bit more doubles the work of decoding.
_NEARLY_BEST = 1.05


@dataclass(frozen=True)
class StringChances:
    """p = e^ε q/(1 + (e^ε − 1)q) of the own string and q = 2^−g of any other, exactly as the weights are shipped."""

    own: Fraction
    other: Fraction

    @classmethod
    def of(cls, randomizer: AnyRandomizer) -> StringChances:
        """Raises InvalidValue unless it has levels, each with one field label and the member 0 alone."""
        if not isinstance(randomizer, Coarsened):
            raise InvalidValue("strings are collected by levels", randomizer)
        labels = {level.label for level in randomizer.levels}
        members = {level.members for level in randomizer.levels}
        (label, *others), one = labels, members == {b"\x01"}
        if others or not isinstance(label, FieldLabel) or not one:
            raise InvalidValue("levels of strings share one field label, of which the member is 0 alone", randomizer)
        mass = randomizer.high + (label.count - 1) * randomizer.low
        return cls(Fraction(randomizer.high, mass), Fraction(1, label.count))

    @property
    def label_bits(self) -> int:
        """g, the bits of a label."""
        return self.other.denominator.bit_length() - 1

    @property
    def variance(self) -> float:
        """V = q(1 − q)/(p − q)², of one report about a string that its device does not hold."""
        return float(self.other * (1 - self.other) / (self.own - self.other) ** 2)


def label_variance(epsilon: float, label_bits: int) -> float:
    """V at a real ε and g = `label_bits`."""
    other = 2.0**-label_bits
    own = math.exp(epsilon) * other / (1 + math.expm1(epsilon) * other)
    return other * (1 - other) / (own - other) ** 2


def least_variance(epsilon: float) -> float:
    """V of the label that plans take at a real ε."""
    return label_variance(epsilon, best_label_bits(epsilon))


def best_label_bits(epsilon: float) -> int:
    """The least g whose V is within 5 % of the least, 1 to 9."""
    variances = [label_variance(epsilon, bits) for bits in range(1, MOST_LABEL_BITS + 1)]
    return 1 + next(at for at, each in enumerate(variances) if each <= _NEARLY_BEST * min(variances))
