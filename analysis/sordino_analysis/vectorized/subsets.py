"""Reports that are sets of cells, one bit a cell."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.vectorized.payloads import Payloads
from sordino_analysis.vectorized.randomness import uniform_bits
from sordino_shared.randomizers import SubsetMixture, SubsetSelection
from sordino_shared.randomness import Randomness

# Keys are drawn for this many entries at a time: 32 MiB of them.
_BATCH_ENTRIES = 1 << 22


def randomize_subsets(randomizer: SubsetSelection, cells: NDArray[np.int64], randomness: Randomness) -> Payloads:
    """(n, width) a set for each cell. A device draws sets another way: the law is the same, the stream is not."""
    payloads = np.empty((len(cells), randomizer.payload_bytes), dtype=np.uint8)
    batch = max(1, _BATCH_ENTRIES // randomizer.size)
    for start in range(0, len(cells), batch):
        payloads[start : start + batch] = _randomize_batch(randomizer, cells[start : start + batch], randomness)
    return payloads


def _randomize_batch(randomizer: SubsetSelection, cells: NDArray[np.int64], randomness: Randomness) -> Payloads:
    included = uniform_bits(randomness, randomizer.bits, len(cells)) < np.uint64(randomizer.include_weight)
    members = np.empty((len(cells), randomizer.size), dtype=np.bool_)
    pending = np.arange(len(cells))
    while len(pending):
        members[pending] = _smallest_keys(randomizer, cells[pending], included[pending], randomness)
        pending = pending[members[pending].sum(axis=1) != randomizer.subset_size]
    return np.packbits(members, axis=1, bitorder="little")


def _smallest_keys(
    randomizer: SubsetSelection, cells: NDArray[np.int64], included: NDArray[np.bool_], randomness: Randomness
) -> NDArray[np.bool_]:
    """(n, k) the types with the `subset_size` smallest of uniform keys, the value's own forced to either end.

    A tie at the boundary gives a larger set. Ties are as likely for every order of the other types, so a subset
    that is redrawn until there is none is exactly uniform.
    """
    size, chosen = randomizer.size, randomizer.subset_size
    keys = uniform_bits(randomness, 63, len(cells) * size).reshape(len(cells), size) + np.uint64(1)
    keys[np.arange(len(cells)), cells] = np.where(included, np.uint64(0), np.uint64(2**64 - 1))
    largest = np.partition(keys, chosen - 1, axis=1)[:, chosen - 1]
    return keys <= largest[:, None]


def randomize_mixture(randomizer: SubsetMixture, cells: NDArray[np.int64], randomness: Randomness) -> Payloads:
    """(n, width) a set of a drawn size for each cell."""
    steps = np.cumsum(np.array(randomizer.size_weights, dtype=np.uint64))
    drawn = np.searchsorted(steps, uniform_bits(randomness, randomizer.bits, len(cells)), side="right")
    payloads = np.empty((len(cells), randomizer.payload_bytes), dtype=np.uint8)
    for index, part in enumerate(randomizer.parts):
        payloads[drawn == index] = randomize_subsets(part, cells[drawn == index], randomness)
    return payloads


def subset_of_sizes(size: int, sizes: tuple[int, ...], payloads: Payloads) -> NDArray[np.bool_]:
    """(n,) whether each payload is a set of one of these sizes, of `size` cells."""
    bitmap = np.unpackbits(payloads, axis=1, bitorder="little")
    allowed: NDArray[np.bool_] = np.isin(bitmap[:, :size].sum(axis=1, dtype=np.int64), sizes)
    return allowed & ~bitmap[:, size:].any(axis=1)
