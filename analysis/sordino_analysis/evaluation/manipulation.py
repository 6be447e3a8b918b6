"""What one report can add to each answer: for rare events, and for reports that somebody made up."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.documents.decoders import CharacterDecoder, ScaledHistogramDecoder, SubsetDecoder
from sordino_analysis.evaluation.variance import decoded_rows
from sordino_analysis.evaluation.weighted_decoder import PlainDecoder, expand_weighted
from sordino_analysis.optimisation.symmetry.row_spectrum import RowSpectrum
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.widths import CharacterMap
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import (
    OrbitKernel,
    Pair,
    RandomizedResponse,
    Randomizer,
    SeededDirection,
    SubsetMixture,
    SubsetSelection,
)

# Rows that are decoded at once: 32 MiB of doubles.
_BLOCK_ENTRIES = 1 << 22

Ends = tuple[Floats, Floats]


def manipulation(device: DevicePart, analyst: AnalystPart, workload: Workload) -> Floats:
    """(Q,) max |c_q(y) − a| over every output y that a device can send and every honest answer a of the workload.

    If a share f of the reports is made up, outputs and seeds chosen, an answer is moved by at most f times this,
    whatever the other devices hold. Attained for outputs that are counted; for seeded directions and characters it is
    a bound, that no seed exceeds. Bias is counted in; an answer that is the same for every type is not moved.
    """
    decoder = expand_weighted(analyst.decoder, device.randomizer, workload)
    low, high = extreme_contributions(device.randomizer, decoder, workload)
    least, most = answer_range(workload)
    bias = analyst.figures.bias_bound
    moved = np.maximum(high - least, most - low) + bias
    moved[np.setdiff1d(np.arange(workload.queries), workload.varying_rows)] = 0.0
    return np.asarray(moved)


def extreme_contributions(
    randomizer: Randomizer, decoder: PlainDecoder, workload: Workload, reach: float = 1.0
) -> Ends:
    """(Q,) the least and the largest contribution of one report to each answer, over everything a device can send.

    A direction is taken to turn at most the share `reach` of its unit length towards any query.
    """
    if isinstance(randomizer, OrbitKernel) and isinstance(decoder, CharacterDecoder):
        return _of_characters(randomizer, decoder, workload)
    sets = isinstance(randomizer, RandomizedResponse | SubsetSelection | SubsetMixture)
    if sets and workload.operator.zero_one and isinstance(decoder, ScaledHistogramDecoder | SubsetDecoder):
        return _of_sets(_subset_sizes(randomizer), decoder, workload)
    low, high = np.empty(workload.queries), np.empty(workload.queries)
    for start, stop, rows, offset in _blocks(randomizer, decoder, workload):
        least, most = _extremes(randomizer, rows, reach)
        low[start:stop], high[start:stop] = least + offset, most + offset
    return low, high


def answer_range(workload: Workload) -> Ends:
    """(Q,) the least and the largest entry of every query."""
    operator = workload.operator
    if operator.zero_one:
        return np.zeros(workload.queries), np.ones(workload.queries)
    if isinstance(operator, CharacterMap):
        low, high = np.empty(workload.queries), np.empty(workload.queries)
        for block in operator.blocks:
            low[block.queries], high[block.queries] = block.values.min(axis=1), block.values.max(axis=1)
        return low, high
    step = max(1, _BLOCK_ENTRIES // workload.size)
    blocks = [operator.rows(start, start + step) for start in range(0, workload.queries, step)]
    return np.concatenate([rows.min(axis=1) for rows in blocks]), np.concatenate([rows.max(axis=1) for rows in blocks])


def _blocks(
    randomizer: Randomizer, decoder: PlainDecoder, workload: Workload
) -> Iterator[tuple[int, int, Floats, Floats]]:
    if isinstance(decoder, CharacterDecoder):
        raise InvalidValue("a decoder of characters goes with an orbit kernel only", decoder)
    step = max(1, _BLOCK_ENTRIES // max(workload.size, randomizer.accumulator_size))
    for start in range(0, workload.queries, step):
        stop = min(start + step, workload.queries)
        yield start, stop, *decoded_rows(decoder, workload, start, stop)


def _extremes(randomizer: Randomizer, rows: Floats, reach: float) -> Ends:
    """The least and the largest F_q · s over the statistics s of one report."""
    if isinstance(randomizer, Pair):
        return _of_pair(randomizer, rows, reach)
    if isinstance(randomizer, SeededDirection):
        lengths = np.linalg.norm(rows, axis=1) * reach
        return -lengths, lengths
    sizes = _subset_sizes(randomizer)
    by_size = [_extreme_sums(part, size) for part, size in zip(np.hsplit(rows, len(sizes)), sizes, strict=True)]
    lows, highs = zip(*by_size, strict=True)
    return np.min(lows, axis=0), np.max(highs, axis=0)


def _of_pair(randomizer: Pair, rows: Floats, reach: float) -> Ends:
    """Both parts' ends added up, and what an inner product of two directions, between −1 and 1, adds."""
    both = (randomizer.first, randomizer.second)
    *blocks, products = np.split(rows, np.cumsum([part.accumulator_size for part in both]), axis=1)
    ends = [_extremes(part, block, reach) for part, block in zip(both, blocks, strict=True)]
    most = np.abs(products).sum(axis=1)
    return ends[0][0] + ends[1][0] - most, ends[0][1] + ends[1][1] + most


def _subset_sizes(randomizer: Randomizer) -> tuple[int, ...]:
    """How many entries of the statistic a report counts in; a single output is a set of one."""
    if isinstance(randomizer, SubsetMixture):
        return randomizer.subset_sizes
    return (randomizer.subset_size,) if isinstance(randomizer, SubsetSelection) else (1,)


def _extreme_sums(rows: Floats, size: int) -> Ends:
    """The sums of the `size` least and largest entries of each row."""
    if size == 1:
        return rows.min(axis=1), rows.max(axis=1)
    ordered = np.sort(rows, axis=1)
    return ordered[:, :size].sum(axis=1), ordered[:, -size:].sum(axis=1)


def _of_sets(sizes: tuple[int, ...], decoder: ScaledHistogramDecoder | SubsetDecoder, workload: Workload) -> Ends:
    """Without forming W: a set of s cells holds between s − (k − |q|) and s of the |q| cells of a query."""
    cells = workload.operator.matvec(np.ones(workload.size))
    if isinstance(decoder, ScaledHistogramDecoder):
        pairs = [(decoder.slope, decoder.offset)]
    else:
        pairs = [
            (slope, size * offset)
            for slope, offset, size in zip(decoder.slopes.numpy(), decoder.offsets.numpy(), sizes, strict=True)
        ]
    added = [
        slope * held + offset * cells
        for size, (slope, offset) in zip(sizes, pairs, strict=True)
        for held in (np.maximum(0.0, size - (workload.size - cells)), np.minimum(size, cells))
    ]
    return np.min(added, axis=0), np.max(added, axis=0)


def _of_characters(randomizer: OrbitKernel, decoder: CharacterDecoder, workload: Workload) -> Ends:
    """offset_b + β_0 ∓ Σ_r |β_r slope_br| √2 max|û_b| for the row b, and the overlap, that makes most of it."""
    operator = workload.operator
    if not isinstance(operator, CharacterMap):
        raise InvalidValue("characters answer parities and marginals only", workload)
    levels = decoder.offsets.shape[1] // len(randomizer.rows)
    heights = np.repeat(
        [np.sqrt(2) * np.abs(c.ravel()[1:]).max() for c in RowSpectrum(randomizer).coefficients], levels
    )
    slopes = decoder.slopes.numpy().reshape(len(operator.blocks), len(heights), -1)
    low, high = np.empty(workload.queries), np.empty(workload.queries)
    for block, by_row, offsets in zip(operator.blocks, slopes, decoder.offsets.numpy(), strict=True):
        places = operator.characters.places(tuple(block.supports[0].tolist()))
        used = places > 0
        scales = np.abs(by_row[:, operator.characters.orbit_of[places[used] - 1]]) * heights[:, None]
        waves = np.abs(block.table[:, used]) @ scales.T
        start = block.table[:, :1] * ~used[0] + offsets
        low[block.queries] = (start - waves)[None].min(axis=2)
        high[block.queries] = (start + waves)[None].max(axis=2)
    return low, high
