"""One server half for each randomizer of `AnyRandomizer`."""

from __future__ import annotations

from typing import assert_never

from sordino_analysis.evaluation.randomizers.characters import CharacterHalf
from sordino_analysis.evaluation.randomizers.coarsened import CoarsenedHalf
from sordino_analysis.evaluation.randomizers.counts import FiniteKernelHalf
from sordino_analysis.evaluation.randomizers.directions import DirectionHalf
from sordino_analysis.evaluation.randomizers.pair import PairHalf
from sordino_analysis.evaluation.randomizers.server_half import IngestSums, ServerHalf
from sordino_analysis.evaluation.randomizers.subsets import (
    RandomizedResponseHalf,
    SubsetMixtureHalf,
    SubsetSelectionHalf,
)
from sordino_shared.randomizers import (
    AnyRandomizer,
    Coarsened,
    FiniteKernel,
    OrbitKernel,
    Pair,
    RandomizedResponse,
    SeededDirection,
    SubsetMixture,
    SubsetSelection,
)

__all__ = ["IngestSums", "ServerHalf", "for_randomizer"]


def for_randomizer(randomizer: AnyRandomizer) -> ServerHalf:
    """The server's half; the type checker refuses a randomizer of the union that has none."""
    match randomizer:
        case RandomizedResponse():
            return RandomizedResponseHalf(randomizer)
        case SubsetSelection():
            return SubsetSelectionHalf(randomizer)
        case SubsetMixture():
            return SubsetMixtureHalf(randomizer)
        case FiniteKernel():
            return FiniteKernelHalf(randomizer)
        case SeededDirection():
            return DirectionHalf(randomizer)
        case OrbitKernel():
            return CharacterHalf(randomizer)
        case Pair():
            return PairHalf(randomizer, for_randomizer(randomizer.first), for_randomizer(randomizer.second))
        case Coarsened():
            return CoarsenedHalf(randomizer)
        case _:
            assert_never(randomizer)
