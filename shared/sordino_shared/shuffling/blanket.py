"""One random report of a blanket, from a law that no device influences."""

from __future__ import annotations

from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import (
    AnyRandomizer,
    Coarsened,
    Dithered,
    FiniteKernel,
    OrbitKernel,
    RandomizedResponse,
    SeededDirection,
    SubsetMixture,
    SubsetSelection,
)
from sordino_shared.randomness import Randomness


def draw_blanket_report(randomizer: AnyRandomizer, randomness: Randomness, coin: Randomness | None = None) -> bytes:
    """A payload of the law B that `shuffling.laws` proves claims with.

    Of tables and sets: that of a uniform type. Of labels, shifts and directions: the public part as a device draws it,
    and a uniform output. The public part is read from `coin` as in `Randomizer.randomize`. Raises InvalidValue for a
    randomizer of pairs.
    """
    match randomizer:
        case FiniteKernel() | RandomizedResponse() | SubsetSelection() | SubsetMixture():
            return randomizer.randomize(randomness.below(randomizer.size), randomness)
        case Coarsened() | OrbitKernel() | SeededDirection():
            return randomizer.uniform_output(randomness, coin)
        case Dithered():
            # Of a uniform type: no value is rounded to a knot.
            return draw_blanket_report(randomizer.inner, randomness, coin)
        case _:
            raise InvalidValue(f"reports of kind {randomizer.kind!r} have no blanket", randomizer)
