"""How many reports hold an item: of a few items from the log or from the table, of all by one transform."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.evaluation.coarsened.cell_counts import cell_counts
from sordino_analysis.evaluation.coarsened.walsh import transform
from sordino_analysis.evaluation.item_answers import item_level
from sordino_analysis.vectorized.coarsened.binary_field import parity
from sordino_analysis.vectorized.coarsened.labels import cell_numbers
from sordino_analysis.vectorized.coarsened.reports import unpack_coarsened
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import Coarsened

Integers = NDArray[np.int64]
Words = NDArray[np.uint64]


def count_items(randomizer: Coarsened, payloads: NDArray[np.uint8], codes: Words) -> Integers:
    """(m,) how many of the (n, width) payloads hold each of the items `codes` (m, attributes)."""
    level = item_level(randomizer)
    shape, counts = level.shape(randomizer.sizes), np.zeros(len(codes), dtype=np.int64)
    items = cell_numbers(list(codes.T), shape)
    for _, reports in unpack_coarsened(randomizer, payloads):
        counts += cell_counts(level, shape, reports, items)
    return counts


def table_of(randomizer: Coarsened, sums: Integers) -> Integers:
    """(2^r,) the Walsh table in the sums of a round; raises InvalidValue where none is kept."""
    if not randomizer.table_sizes[0]:
        raise InvalidValue(
            f"a table of {randomizer.size} items is not kept: their reports are counted item by item", randomizer.size
        )
    return sums[1:]


def counts_of_table(randomizer: Coarsened, sums: Integers, codes: Words) -> Integers:
    """(m,) how many reports hold each of the items, from the sums of a round: a product of 2^r numbers an item."""
    level, table = item_level(randomizer), table_of(randomizer, sums)
    items = cell_numbers(list(codes.T), level.shape(randomizer.sizes))
    low_bits = (len(table).bit_length() - 1) // 2
    matrix = table.reshape(-1, 1 << low_bits)
    rows, columns = (np.arange(size, dtype=np.uint64) for size in matrix.shape)
    counts = np.empty(len(items), dtype=np.int64)
    for place, item in enumerate(items):
        by_row = matrix @ _signs(columns & item)
        counts[place] = _signs((rows << np.uint64(low_bits)) & item) @ by_row // level.label.count
    return counts


def counts_of_all(randomizer: Coarsened, sums: Integers) -> Integers:
    """(k,) how many reports hold each item, in the order of the cells."""
    table = table_of(randomizer, sums).copy()
    transform(table)
    table //= item_level(randomizer).label.count
    return table[: randomizer.size]


def _signs(common: Words) -> Integers:
    """(n,) (−1)^(number of bits set)."""
    return 1 - 2 * parity(common).astype(np.int64)
