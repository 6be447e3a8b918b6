"""Finite kernels: outputs are counted one by one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.accumulator_moments import AccumulatorMoments
from sordino_analysis.evaluation.pair_distances import clones_by_distance, column_distances
from sordino_analysis.evaluation.randomizers.server_half import Ends, Integers, Outputs, ServerHalf
from sordino_analysis.evaluation.randomizers.sum_bounds import check_counts, check_length
from sordino_analysis.guarantees.clones import Clones
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import FiniteKernel

# Outputs are counted as words that stay in the cache, two at once where a table of all pairs of cells stays there too.
COUNTED_AT_ONCE = 1 << 18
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
        return KernelMoments(self.randomizer.table / float(1 << self.randomizer.bits))

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
        ratio, distances = self.likelihood_ratio, column_distances(self.randomizer.table)
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
