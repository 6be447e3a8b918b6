"""Claims of (ε, δ) for one round's blanket: what a manifest says, and whether it is true."""

from __future__ import annotations

import math
from collections.abc import Iterable

from sordino_shared.protocol.routes import WHOLE_ATTO, PrivacyClaim
from sordino_shared.randomizers import AnyRandomizer
from sordino_shared.shuffling.laws import loss_of
from sordino_shared.shuffling.profile import delta_of

_NANO = 10**9
# A claim is above the bound by this much, so that no rounding of a correct transform decides whether it is proved.
_SCALE = 1.001
LEAST_CLAIM = 1e-12
# δ falls in ε, so the bound at this ε holds above it; beyond, squares of losses leave the range of floats.
_LARGEST_NANO = 100 * _NANO


def bound_of(randomizer: AnyRandomizer, blanket: int, nano_epsilon: int) -> float:
    """δ at ε = `nano_epsilon`·10⁻⁹ of one report among `blanket` random ones, whatever all others send.

    Raises:
        InvalidValue: the randomizer has no blanket, or too large a table.
    """
    return delta_of(loss_of(randomizer, math.exp(min(nano_epsilon, _LARGEST_NANO) / _NANO)), blanket)


def claimed(bound: float) -> float:
    """The least δ that may be claimed where `bound` is proved: 1.001 times it plus 10⁻¹²."""
    return _SCALE * bound + LEAST_CLAIM


def least_claim(bound: float) -> int:
    """The same in 10⁻¹⁸, as a manifest has it; at most 1."""
    return min(WHOLE_ATTO, math.ceil(claimed(bound) * WHOLE_ATTO))


def largest_bound(delta: float) -> float:
    """The largest bound of which `delta` may be claimed; 0 or less where none is small enough."""
    return (delta - LEAST_CLAIM) / _SCALE


def unproved(randomizer: AnyRandomizer, blanket: int, claims: Iterable[PrivacyClaim]) -> PrivacyClaim | None:
    """The first claim whose δ is below what is proved at its ε; None where all are proved.

    A claim of a table takes up to half a minute, one of a law in closed form some 30 ms.
    Raises InvalidValue as `bound_of`.
    """
    for claim in claims:
        # What is no number proves nothing.
        if not bound_of(randomizer, blanket, claim.nano_epsilon) * WHOLE_ATTO <= claim.atto_delta:
            return claim
    return None
