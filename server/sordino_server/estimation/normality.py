"""How far one report can move each answer: sums of few such moves are not normal, however many users report."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sordino_server.design.arrays import Floats
from sordino_server.design.symmetry.spectrum import Spectrum
from sordino_server.design.variance import decoded_rows
from sordino_server.design.weighted_decoder import PlainDecoder
from sordino_server.design.workloads import Workload
from sordino_server.design.workloads.widths import CharacterMap
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import CharacterDecoder, ScaledHistogramDecoder, SubsetDecoder
from sordino_shared.randomizers import (
    OrbitKernel,
    RandomizedResponse,
    Randomizer,
    SeededDirection,
    SubsetMixture,
    SubsetSelection,
)

# An answer moved by equal rare events is normal enough from this many of them on. Measured of randomised response: with
# 11 events a query, bands of 95 % held in 91 % of campaigns; with fewer than one, intervals held 84 % of the time.
RARE_EVENTS = 20
# A coordinate of a uniform direction has lighter tails than a normal variable: what is past three of its standard
# deviations, 1/√d each, matters no more than there.
_DIRECTION_REACH = 3.0
# Rows that are decoded at once: 32 MiB of doubles.
_BLOCK_ENTRIES = 1 << 22


def largest_contributions(randomizer: Randomizer, decoder: PlainDecoder, workload: Workload, centre: Floats) -> Floats:
    """(Q,) a bound on |one report's contribution to an answer − `centre`|, over everything a device can send.

    Seeded directions have no rare events, so theirs is a bound for all but a few in a thousand.
    """
    if isinstance(randomizer, OrbitKernel) and isinstance(decoder, CharacterDecoder):
        return _of_characters(randomizer, decoder, workload, centre)
    sets = isinstance(randomizer, RandomizedResponse | SubsetSelection | SubsetMixture)
    if sets and workload.operator.zero_one and isinstance(decoder, ScaledHistogramDecoder | SubsetDecoder):
        return _of_sets(_subset_sizes(randomizer), decoder, workload, centre)
    largest = np.empty(workload.queries)
    for start, stop, rows, offset in _blocks(randomizer, decoder, workload):
        low, high = _extremes(randomizer, rows)
        shift = offset - centre[start:stop]
        largest[start:stop] = np.maximum(np.abs(low + shift), np.abs(high + shift))
    return largest


def needed_users(largest: Floats, deviations: Floats) -> Floats:
    """(Q,) the users from whom on an answer of one user's standard deviation `deviations` counts as normal.

    N equal events of chance p have largest/deviation = 1/√p, so largest²/deviation² users see one of them: 20 are asked
    for. Answers without deviation need nobody.
    """
    return np.asarray(
        RARE_EVENTS * np.divide(largest, deviations, out=np.zeros_like(largest), where=deviations > 0) ** 2
    )


def _blocks(
    randomizer: Randomizer, decoder: PlainDecoder, workload: Workload
) -> Iterator[tuple[int, int, Floats, Floats]]:
    if isinstance(decoder, CharacterDecoder):
        raise InvalidValue("a decoder of characters goes with an orbit kernel only", decoder)
    step = max(1, _BLOCK_ENTRIES // max(workload.size, randomizer.statistic_size))
    for start in range(0, workload.queries, step):
        stop = min(start + step, workload.queries)
        yield start, stop, *decoded_rows(decoder, workload, start, stop)


def _extremes(randomizer: Randomizer, rows: Floats) -> tuple[Floats, Floats]:
    """The least and the largest F_q · s over the statistics s of one report, a direction's extremes left out."""
    if isinstance(randomizer, SeededDirection):
        lengths = np.linalg.norm(rows, axis=1) * min(1.0, _DIRECTION_REACH / np.sqrt(randomizer.dimension))
        return -lengths, lengths
    sizes = _subset_sizes(randomizer)
    by_size = [_extreme_sums(part, size) for part, size in zip(np.hsplit(rows, len(sizes)), sizes, strict=True)]
    lows, highs = zip(*by_size, strict=True)
    return np.min(lows, axis=0), np.max(highs, axis=0)


def _subset_sizes(randomizer: Randomizer) -> tuple[int, ...]:
    """How many entries of the statistic a report counts in; a single output is a set of one."""
    if isinstance(randomizer, SubsetMixture):
        return randomizer.subset_sizes
    return (randomizer.subset_size,) if isinstance(randomizer, SubsetSelection) else (1,)


def _extreme_sums(rows: Floats, size: int) -> tuple[Floats, Floats]:
    """The sums of the `size` least and largest entries of each row."""
    if size == 1:
        return rows.min(axis=1), rows.max(axis=1)
    ordered = np.sort(rows, axis=1)
    return ordered[:, :size].sum(axis=1), ordered[:, -size:].sum(axis=1)


def _of_sets(
    sizes: tuple[int, ...], decoder: ScaledHistogramDecoder | SubsetDecoder, workload: Workload, centre: Floats
) -> Floats:
    """Without forming W: a set of s cells holds between s − (k − |q|) and s of the |q| cells of a query."""
    cells = workload.operator.matvec(np.ones(workload.size))
    if isinstance(decoder, ScaledHistogramDecoder):
        pairs = [(decoder.slope, decoder.offset)]
    else:
        pairs = [
            (slope, size * offset)
            for slope, offset, size in zip(decoder.slopes.numpy(), decoder.offsets.numpy(), sizes, strict=True)
        ]
    largest = np.zeros(workload.queries)
    for size, (slope, offset) in zip(sizes, pairs, strict=True):
        for held in (np.maximum(0.0, size - (workload.size - cells)), np.minimum(size, cells)):
            largest = np.maximum(largest, np.abs(slope * held + offset * cells - centre))
    return largest


def _of_characters(randomizer: OrbitKernel, decoder: CharacterDecoder, workload: Workload, centre: Floats) -> Floats:
    """|offset_b + β_0 − centre| + Σ_r |β_r slope_br| √2 max|û_b| for the row b of the kernel that makes most of it."""
    operator = workload.operator
    if not isinstance(operator, CharacterMap):
        raise InvalidValue("characters answer parities and marginals only", workload)
    heights = [np.sqrt(2) * np.abs(c.ravel()[1:]).max() for c in Spectrum(randomizer).coefficients]
    slopes = decoder.slopes.numpy().reshape(len(operator.blocks), len(heights), -1)
    largest = np.empty(workload.queries)
    for block, by_row, offsets in zip(operator.blocks, slopes, decoder.offsets.numpy(), strict=True):
        places = operator.characters.places(tuple(block.supports[0].tolist()))
        used = places > 0
        scales = np.abs(by_row[:, operator.characters.orbit_of[places[used] - 1]]) * np.array(heights)[:, None]
        waves = np.abs(block.table[:, used]) @ scales.T
        start = block.table[:, :1] * ~used[0] + offsets
        middle = centre[block.queries]
        largest[block.queries] = (np.abs(start[None] - middle[:, :, None]) + waves[None]).max(axis=2)
    return largest
