"""One server half for each randomizer of `AnyRandomizer`."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from sordino_analysis.evaluation.randomizers.ingest_sums import IngestSums
from sordino_shared.randomizers import (
    AnyRandomizer,
    Coarsened,
    Dithered,
    FiniteKernel,
    OrbitKernel,
    Pair,
    RandomizedResponse,
    SeededDirection,
    SubsetMixture,
    SubsetSelection,
)

if TYPE_CHECKING:
    from sordino_analysis.evaluation.randomizers.server_half import ServerHalf

__all__ = ["IngestSums", "for_randomizer"]


def for_randomizer(randomizer: AnyRandomizer) -> ServerHalf:
    """The server's half; the type checker refuses a randomizer of the union that has none.

    Each is imported when it is needed: a process that takes reports starts without the mathematics of the others.
    """
    match randomizer:
        case RandomizedResponse():
            from sordino_analysis.evaluation.randomizers.subsets import RandomizedResponseHalf

            return RandomizedResponseHalf(randomizer)
        case SubsetSelection():
            from sordino_analysis.evaluation.randomizers.subsets import SubsetSelectionHalf

            return SubsetSelectionHalf(randomizer)
        case SubsetMixture():
            from sordino_analysis.evaluation.randomizers.subsets import SubsetMixtureHalf

            return SubsetMixtureHalf(randomizer)
        case FiniteKernel():
            from sordino_analysis.evaluation.randomizers.counts import FiniteKernelHalf

            return FiniteKernelHalf(randomizer)
        case SeededDirection():
            from sordino_analysis.evaluation.randomizers.directions import DirectionHalf

            return DirectionHalf(randomizer)
        case OrbitKernel():
            from sordino_analysis.evaluation.randomizers.characters import CharacterHalf

            return CharacterHalf(randomizer)
        case Pair():
            from sordino_analysis.evaluation.randomizers.pair import PairHalf

            return PairHalf(randomizer, for_randomizer(randomizer.first), for_randomizer(randomizer.second))
        case Coarsened():
            from sordino_analysis.evaluation.randomizers.coarsened import CoarsenedHalf

            return CoarsenedHalf(randomizer)
        case Dithered():
            from sordino_analysis.evaluation.randomizers.dithered import DitheredHalf

            return DitheredHalf(randomizer, for_randomizer(randomizer.inner))
        case _:
            assert_never(randomizer)
