"""Aggregates of simulated campaigns, drawn through the counts of outputs and not report by report where that can be."""

from collections.abc import Iterator
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.evaluation.accumulator_moments import response_moments, selection_moments
from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_analysis.vectorized.kernels import kernel_table
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.randomizers import (
    FiniteKernel,
    RandomizedResponse,
    Randomizer,
    SubsetMixture,
    SubsetSelection,
)

# Subsets that are listed; more are drawn report by report.
_MOST_OUTPUTS = 20_000


def shares(law: str, types: int) -> Floats:
    """(k,) the histogram of a named law over the types."""
    if law == "uniform":
        return np.full(types, 1 / types)
    if law == "zipf":
        weights = 1 / np.arange(1.0, types + 1)
        return np.asarray(weights / weights.sum())
    held = np.zeros(types)
    held[[types // 3] if law == "one type" else [0, types // 2]] = 1.0
    return np.asarray(held / held.sum())


LAWS = ("uniform", "zipf", "one type", "half and half")


def drawn_report_by_report(randomizer: Randomizer) -> bool:
    """Whether the outputs are too many to be counted."""
    return _outputs(randomizer) is None


def aggregates(
    randomizer: Randomizer, histogram: Floats, users: int, campaigns: int, seed: int
) -> Iterator[tuple[NDArray[np.int64], Aggregate]]:
    """For each campaign how many users hold each type (k,), drawn from the histogram, and what their reports sum to."""
    generator = np.random.default_rng(seed)
    held = generator.multinomial(users, histogram, size=campaigns)
    outputs = _outputs(randomizer)
    if outputs is None:
        half = for_randomizer(randomizer)
        for number, counts in enumerate(held):
            cells = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
            payloads = randomize_many(randomizer, cells, SeededRandomness(seed * 100_003 + number))
            yield counts, Aggregate(users, half.accumulate(payloads))
        return
    kernel, statistics = outputs
    for counts in held:
        reported = np.zeros(len(kernel), dtype=np.int64)
        for cell in np.flatnonzero(counts):
            reported += generator.multinomial(counts[cell], kernel[:, cell])
        yield counts, Aggregate(users, statistics @ reported)


def _outputs(randomizer: Randomizer) -> tuple[Floats, NDArray[np.int64]] | None:
    """K (m, k) and the statistic (p, m) of every output; None where there are too many to list."""
    if isinstance(randomizer, FiniteKernel):
        kernel = kernel_table(randomizer) / float(1 << randomizer.bits)
        return np.asarray(kernel / kernel.sum(axis=0)), np.eye(len(kernel), dtype=np.int64)
    if isinstance(randomizer, RandomizedResponse):
        law = response_moments(randomizer)
        kernel = np.full((randomizer.size, randomizer.size), float(law.other))
        np.fill_diagonal(kernel, float(law.own))
        return np.asarray(kernel / kernel.sum(axis=0)), np.eye(len(kernel), dtype=np.int64)
    if isinstance(randomizer, SubsetSelection):
        return _subsets(randomizer) if comb(randomizer.size, randomizer.subset_size) <= _MOST_OUTPUTS else None
    if isinstance(randomizer, SubsetMixture):
        return _mixture(randomizer)
    return None


def _subsets(randomizer: SubsetSelection) -> tuple[Floats, NDArray[np.int64]]:
    sets = list(combinations(range(randomizer.size), randomizer.subset_size))
    held = np.zeros((randomizer.size, len(sets)), dtype=np.int64)
    held[np.array(sets).T, np.arange(len(sets))] = 1
    own = float(selection_moments(randomizer).own)
    inside = comb(randomizer.size - 1, randomizer.subset_size - 1)
    kernel = np.where(held.T == 1, own / inside, (1 - own) / (len(sets) - inside))
    return np.asarray(kernel / kernel.sum(axis=0)), held


def _mixture(randomizer: SubsetMixture) -> tuple[Floats, NDArray[np.int64]] | None:
    if sum(comb(randomizer.size, size) for size in randomizer.subset_sizes) > _MOST_OUTPUTS:
        return None
    chances = [weight / (1 << randomizer.bits) for weight in randomizer.size_weights]
    parts = [_subsets(part) for part in randomizer.parts]
    kernel = np.vstack([chance * kernel for chance, (kernel, _) in zip(chances, parts, strict=True)])
    places = np.cumsum([0, *(held.shape[1] for _, held in parts)])
    statistics = np.zeros((randomizer.accumulator_size, places[-1]), dtype=np.int64)
    for number, (_, held) in enumerate(parts):
        first = number * randomizer.size
        statistics[first : first + randomizer.size, places[number] : places[number + 1]] = held
    return np.asarray(kernel / kernel.sum(axis=0)), statistics
