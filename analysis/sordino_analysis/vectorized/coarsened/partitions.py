"""Random partitions for many reports; see `sordino_shared.randomizers.coarsened.partitions`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.vectorized.randomness import Words, uniform_below
from sordino_shared.randomizers.coarsened import GridPartition, Partition, SubsetPartition
from sordino_shared.randomizers.coarsened.bit_fields import index_bits
from sordino_shared.randomizers.coarsened.partitions import Sizes
from sordino_shared.randomness import Randomness


def draw_public(partition: Partition, sizes: Sizes, count: int, randomness: Randomness) -> list[Words]:
    """(count,) offsets, one array for each width above 1; or places of distinct attributes, one for each slot."""
    match partition:
        case GridPartition(widths):
            return [uniform_below(randomness, width, count) for width in widths if width > 1]
        case SubsetPartition(slots):
            return _draw_places(slots, sizes, count, randomness)
        case _:
            assert_never(partition)


def _draw_places(slots: Sizes, sizes: Sizes, count: int, randomness: Randomness) -> list[Words]:
    drawn: dict[int, Words] = {}
    everyone = np.arange(count)
    for size in dict.fromkeys(slots):
        places = [place for place, other in enumerate(sizes) if other == size]
        left = np.tile(np.array(places, dtype=np.uint8), (count, 1))
        for done, slot in enumerate(at for at, other in enumerate(slots) if other == size):
            chosen = done + uniform_below(randomness, len(places) - done, count).astype(np.intp)
            drawn[slot] = left[everyone, chosen].astype(np.uint64)
            left[everyone, chosen] = left[:, done]
    return [drawn[slot] for slot in range(len(slots))]


def cell_coordinates(partition: Partition, codes: Words, public: Sequence[Words]) -> list[Words]:
    """(n,) coordinates of the values `codes` (n, attributes), one array for each attribute looked at.

    Offsets or places (n, 1) and values (1, m, attributes) give the coordinates (n, m) of every value in every report.
    """
    match partition:
        case GridPartition(widths):
            offsets = iter(public)
            return [
                codes[..., a] if widths[a] == 1 else (codes[..., a] + next(offsets)) // np.uint64(widths[a])
                for a in partition.attributes()
            ]
        case SubsetPartition():
            return [np.take_along_axis(codes, places.astype(np.intp)[..., None], axis=-1)[..., 0] for places in public]
        case _:
            assert_never(partition)


def allows_public(partition: Partition, sizes: Sizes, public: Sequence[Words]) -> NDArray[np.bool_]:
    """(n,) whether offsets are below their widths, or slots hold distinct attributes of their sizes."""
    match partition:
        case GridPartition():
            widths = [np.uint64(width) for width in partition.widths if width > 1]
            whole = np.ones(len(public[0]) if public else 1, dtype=np.bool_)
            return reduce(np.logical_and, (o < w for o, w in zip(public, widths, strict=True)), whole)
        case SubsetPartition(slots):
            return _fill_slots(slots, sizes, public)
        case _:
            assert_never(partition)


def _fill_slots(slots: Sizes, sizes: Sizes, public: Sequence[Words]) -> NDArray[np.bool_]:
    # A place that no attribute has stands for one of a single member, which fits no slot.
    classes = np.full(1 << index_bits(len(sizes)), -1, dtype=np.int64)
    kinds = {size: number for number, size in enumerate(dict.fromkeys(slots))}
    classes[: len(sizes)] = [kinds.get(size, -1) for size in sizes]
    places = np.stack(public)
    wanted = np.array([kinds[slot] for slot in slots])
    ordered = np.sort(places, axis=0)
    distinct = (ordered[1:] != ordered[:-1]).all(axis=0)
    return np.asarray(distinct & (classes[places.astype(np.intp)] == wanted[:, None]).all(axis=0))
