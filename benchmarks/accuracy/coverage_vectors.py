"""Sums of many reports of two directions, drawn without seeds: a hash for every report takes most of a campaign."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.accuracy.coverage_cases import Floats, Integers
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.evaluation.randomizers.directions import DIRECTION_SCALE
from sordino_analysis.vectorized.arrays import ndarray
from sordino_shared.randomizers import Pair, SeededDirection


def played_directions(pair: Pair, counts: Integers, generator: np.random.Generator) -> Aggregate:
    """The sums over users with these counts (k,) of types, with directions of normal variables.

    The shipped directions are of 65,536 atoms that stand for normal variables, with a bias below 1.1·10⁻⁴.
    """
    cells = np.repeat(np.arange(len(counts)), counts)
    first, second = (_directions(part, cells, generator) for part in _parts(pair))
    entries = np.concatenate([first.sum(axis=0), second.sum(axis=0), [np.einsum("nd,nd->", first, second)]])
    return Aggregate(len(cells), np.rint(entries * DIRECTION_SCALE).astype(np.int64))


def _parts(pair: Pair) -> Iterator[SeededDirection]:
    for part in (pair.first, pair.second):
        assert isinstance(part, SeededDirection)
        yield part


def _directions(randomizer: SeededDirection, cells: Integers, generator: np.random.Generator) -> Floats:
    """(n, d) ±g/‖g‖: on the side of the type's vector with the chance that the coin's integers have."""
    drawn = generator.standard_normal((len(cells), randomizer.dimension))
    kept = generator.random(len(cells)) < (ndarray(randomizer.keep_weights) / 2.0**randomizer.bits)[cells]
    positive = np.einsum("nd,nd->n", drawn, ndarray(randomizer.vectors).astype(float)[cells]) >= 0
    lengths = np.sqrt(np.einsum("nd,nd->n", drawn, drawn))
    return np.asarray(drawn * (np.where(positive == kept, 1.0, -1.0) / lengths)[:, None])
