"""Finite kernels: outputs are counted one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.accumulator_moments import AccumulatorMoments
from sordino_analysis.evaluation.randomizers.server_half import Ends, Integers, Outputs, ServerHalf
from sordino_analysis.evaluation.randomizers.sum_bounds import check_counts, check_length
from sordino_analysis.guarantees.clones import Clones
from sordino_analysis.vectorized.kernels import kernel_table
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import FiniteKernel

# How far the reports of two values are apart, in integers, and what shuffling makes of it.


# Entries of a table that are compared pair by pair: less than a second.
_MOST_COMPARED = 1 << 26
# ε of a pair grows about like the root of its distance, and that of a group like most/√least, in shares of the largest
# distance: from most to most^1.8 it stays below that of the farthest pair.
_SHARES = tuple(0.999 ** (1.8**power) for power in range(20))


def column_distances(table: NDArray[np.uint64]) -> list[int] | None:
    """Σ_y [K(y|x) − K(y|x′)]₊ over all pairs, each number above 0 once, the largest first, in the table's integers.

    `table` (m, k) has columns of equal sums of at most 2^62. None where there are too many entries to compare.
    """
    rows, types = table.shape
    if rows * types * types // 2 > _MOST_COMPARED:
        return None
    found: set[int] = set()
    for cell in range(types - 1):
        own, others = table[:, cell, None], table[:, cell + 1 :]
        found.update(np.where(own > others, own - others, np.uint64(0)).sum(axis=0, dtype=np.uint64).tolist())
    return sorted(found - {0}, reverse=True)


def clones_by_distance(ratio: Fraction, distances: Sequence[Fraction]) -> tuple[Clones, ...]:
    """For pairs at these `distances`, in falling order: the farthest by itself, nearer ones in groups."""
    if not distances:
        return ()
    most, *nearer = distances
    groups: dict[int, list[Fraction]] = {}
    for distance in nearer:
        groups.setdefault(_group(float(distance / most)), []).append(distance)
    together = (Clones.of_pairs(ratio, members[-1], members[0]) for members in groups.values())
    return Clones.of_pair(ratio, most), *together


def clones_within(ratio: Fraction, least: Fraction, most: Fraction) -> tuple[Clones, ...]:
    """For all pairs whose distance is from `least` to `most`, whichever there are: the farthest, and all in groups."""
    inner = [most * Fraction(share) for share in _SHARES if most * Fraction(share) > least]
    ends = zip([*inner, least], [most, *inner], strict=True)
    return Clones.of_pair(ratio, most), *(Clones.of_pairs(ratio, low, high) for low, high in ends)


def _group(share: float) -> int:
    """Which group pairs belong to that are at this share of the largest distance."""
    return sum(share < least for least in _SHARES)


# Outputs are counted as words that stay in the cache, two at once where a table of all pairs of cells stays there too.
COUNTED_AT_ONCE = 1 << 18
# Up to so many cells two reports are counted at once, as one of at most 2^12 pairs.
_PAIRED_CELLS = 64


@dataclass(frozen=True, eq=False)
class KernelMoments(AccumulatorMoments):
    """s = e_y for an output y of a kernel K (p, k): E[(F s)²|x] is (F∘F)K."""

    kernel: Floats

    def means(self, rows: Floats) -> Floats:
        return rows @ self.kernel

    def variances(self, rows: Floats) -> Floats:
        return np.asarray(rows**2 @ self.kernel - (rows @ self.kernel) ** 2)

    def covariance(self, rows: Floats, histogram: Floats) -> Floats:
        means = rows @ self.kernel
        return np.asarray((rows * (self.kernel @ histogram)) @ rows.T - (means * histogram) @ means.T)


@dataclass(frozen=True, eq=False)
class FiniteKernelHalf(ServerHalf):
    """s = e_y for the output y, the null output last."""

    randomizer: FiniteKernel

    @cached_property
    def moments(self) -> KernelMoments:
        return KernelMoments(kernel_table(self.randomizer) / float(1 << self.randomizer.bits))

    @property
    def counted_outputs(self) -> int:
        return self.randomizer.outputs

    @property
    def reports_at_once(self) -> int:
        return COUNTED_AT_ONCE

    def _sum(self, payloads: NDArray[np.uint8]) -> Integers:
        return counts(payloads, self.randomizer.outputs)

    def check(self, sums: Integers, count: int) -> None:
        check_length(sums, self.randomizer.outputs)
        check_counts(sums, count)

    def extremes(self, rows: Floats, reach: float) -> Ends:
        return rows.min(axis=1), rows.max(axis=1)

    def _outputs(self) -> Outputs:
        return None, self.moments.kernel

    def clones(self) -> tuple[Clones, ...]:
        """By the distances of the table's own columns, unless these are too many to compare."""
        ratio, distances = self.likelihood_ratio, column_distances(kernel_table(self.randomizer))
        if ratio == 1 or distances is None:
            return super().clones()
        return clones_by_distance(ratio, [Fraction(distance, 1 << self.randomizer.bits) for distance in distances])


def counts(payloads: NDArray[np.uint8], size: int) -> Integers:
    """(size,) how often each output index comes; raises InvalidValue for an index beyond them."""
    width = payloads.shape[1]
    outputs = np.ascontiguousarray(payloads).view(f"<u{width}").reshape(-1)
    if outputs.max(initial=0) >= size:
        raise InvalidValue(f"an output is beyond the {size} of the randomizer: the log was altered", int(outputs.max()))
    if size > _PAIRED_CELLS:
        return np.bincount(outputs, minlength=size).astype(np.int64)
    half = len(outputs) // 2
    pairs = outputs[:half] * np.uint16(size) + outputs[half : 2 * half]
    cells = np.bincount(pairs, minlength=size * size).reshape(size, size)
    single = np.bincount(outputs[2 * half :], minlength=size)
    return np.asarray(cells.sum(axis=0) + cells.sum(axis=1) + single, dtype=np.int64)
