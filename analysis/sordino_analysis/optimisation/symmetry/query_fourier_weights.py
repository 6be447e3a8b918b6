"""A (blocks, orbits): squared Fourier coefficients of the queries, averaged per block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.questions.linear.widths import CharacterMap


@dataclass(frozen=True, eq=False)
class QueryFourierWeights:
    """A (blocks, orbits), weighted squared coefficients of a block's mean query; `shares` (blocks,) of all queries."""

    by_orbit: Floats
    shares: Floats


def query_fourier_weights(operator: CharacterMap) -> QueryFourierWeights:
    """What the queries need of each orbit."""
    characters = operator.characters
    by_orbit = np.zeros((len(operator.blocks), len(characters.orbits)))
    for number, block in enumerate(operator.blocks):
        places = characters.places(tuple(block.supports[0].tolist()))[1:]
        np.add.at(by_orbit[number], characters.orbit_of[places - 1], (block.table[:, 1:] ** 2).mean(axis=0))
        by_orbit[number] *= block.weight
    counts = np.array([block.queries.size for block in operator.blocks], dtype=float)
    return QueryFourierWeights(by_orbit, counts / counts.sum())
