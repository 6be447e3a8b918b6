"""What the public part of a coarsened report says of values: nothing, so it is drawn before any value is looked at.

A sampler that draws an offset, attributes or a word again until the label of its value is one that it likes keeps the
law of y given the label, and tells the value by what it draws. So the cells and labels of the device's own value and of
others are held against their exact laws, by definitions of docs/protocol.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.conformance.coarsened import (
    LOW_PARTS,
    CoarsenedReport,
    bits_below,
    coordinate_counts,
    coordinates,
    label_count,
    placement_count,
    placements,
    word_bits,
)
from sordino_analysis.conformance.counts import MOST_LISTED, Counts, partition, types_looked_at
from sordino_analysis.conformance.enumeration import digits, number_of
from sordino_shared.randomizers import Coarsened, FieldLabel, GridPartition
from sordino_shared.randomizers.coarsened import Label

# Values whose labels are counted.
_MOST_VALUES = 8
# Axes with an offset whose cells are counted together: 2^12 outcomes.
_MOST_AXES = 12
# Halves of words of 64 bits: the parity of a word is that of its halves, xored.
_HALVES = (32, 16, 8, 4, 2, 1)


def public_counts(
    randomizer: Coarsened, number: int, values: Sequence[int], reports: Sequence[CoarsenedReport]
) -> Iterator[Counts]:
    """The partition as a whole, the cells and the labels of the value and of others, in reports of level `number`."""
    level, sizes = randomizer.levels[number], randomizer.sizes
    looked_at = types_looked_at(math.prod(sizes), number_of(values, sizes), _MOST_VALUES)
    yield from _whole_partition(randomizer, number, reports)
    for cell in looked_at:
        members = digits(cell, sizes)
        if isinstance(level.partition, GridPartition):
            yield from _carried(level.partition, number, members, reports)
        yield from _labels(randomizer, number, members, reports)


def _whole_partition(randomizer: Coarsened, number: int, reports: Sequence[CoarsenedReport]) -> Iterator[Counts]:
    """Every partition is equally likely, where they can be listed and have more numbers than one."""
    drawn, sizes = randomizer.levels[number].partition, randomizer.sizes
    if not 1 < placement_count(drawn, sizes) <= MOST_LISTED:
        return
    places = {numbers: at for at, numbers in enumerate(placements(drawn, sizes))}
    if len(next(iter(places))) > 1:
        found = np.array([places[one.public] for one in reports], dtype=np.int64)
        names = list(places)
        uniform = np.full(len(places), 1 / len(places)).tolist()
        yield from partition(found, uniform, f"the partition of level {number}", lambda at: str(names[at]))


def _carried(
    drawn: GridPartition, number: int, values: Sequence[int], reports: Sequence[CoarsenedReport]
) -> Iterator[Counts]:
    """On which axes the offset moves the value into the next cell: with chance (value mod width)/width on each."""
    pairs = [(value, width) for value, width in zip(values, drawn.widths, strict=True) if width > 1]
    if not 1 < len(pairs) <= _MOST_AXES:
        # One alone is a sum of chances of its offset.
        return
    chances = [value % width / width for value, width in pairs]
    law = [
        math.prod(chance if bit else 1 - chance for bit, chance in zip(bits, chances, strict=True))
        for bits in product((0, 1), repeat=len(pairs))
    ]
    found = [
        number_of([(value % width + offset) // width for (value, width), offset in zip(pairs, one.public, strict=True)],
              [2] * len(pairs))
        for one in reports
    ]  # fmt: skip
    what = f"the axes of level {number} on which {list(values)} is moved into the next cell"
    yield from partition(np.array(found, dtype=np.int64), law, what, lambda at: format(at, f"0{len(pairs)}b"))


def _labels(
    randomizer: Coarsened, number: int, values: Sequence[int], reports: Sequence[CoarsenedReport]
) -> Iterator[Counts]:
    """The label that words give to a value is uniform, except in cell 0, which has the label 0 by every word."""
    level = randomizer.levels[number]
    counts = coordinate_counts(randomizer, level)
    lengths = word_bits(level.label, counts)
    if not lengths:
        return
    cells = cache(lambda public: number_of(coordinates(level.partition, values, public), counts))
    numbers = np.array([cells(one.public) for one in reports], dtype=np.uint64)
    words = np.array([one.words for one in reports], dtype=np.uint64).reshape(len(reports), len(lengths))
    labels = _labels_of(level.label, lengths[0], numbers, words)[numbers > 0]
    what = f"the label that level {number} gives to {list(values)}"
    yield from _uniform(labels, label_count(level.label), what)


def _uniform(labels: NDArray[np.uint64], count: int, what: str) -> Iterator[Counts]:
    """Each label, or where there are too many each of their bits."""
    if count <= MOST_LISTED:
        found = np.bincount(labels.astype(np.int64), minlength=count).astype(np.int64)
        yield Counts(len(labels), found, np.full(count, 1 / count), lambda at: f"{what} was {at}")
        return
    bits = bits_below(count)
    ones = np.array([np.count_nonzero(labels >> np.uint64(bit) & np.uint64(1)) for bit in range(bits)])
    yield Counts(len(labels), ones, np.full(bits, 0.5), lambda bit: f"bit {bit} of {what} was 1")


def _labels_of(label: Label, degree: int, numbers: NDArray[np.uint64], words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """(n,) the labels of cells (n,) by words (n, w) of `degree` bits."""
    if isinstance(label, FieldLabel):
        return _field_products(numbers, words[:, 0], degree) >> np.uint64(degree - label.label_bits)
    found = np.zeros(len(numbers), dtype=np.uint64)
    for row in range(words.shape[1]):
        found |= _parities(words[:, row] & numbers) << np.uint64(row)
    return found


def _parities(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    folded = words
    for shift in _HALVES:
        folded = folded ^ folded >> np.uint64(shift)
    return folded & np.uint64(1)


def _field_products(first: NDArray[np.uint64], second: NDArray[np.uint64], degree: int) -> NDArray[np.uint64]:
    """(n,) in GF(2^degree), from the highest bit of `first` down: times x, plus `second` where the bit is 1."""
    top, low, mask = np.uint64(degree - 1), np.uint64(LOW_PARTS[degree - 1]), np.uint64((1 << degree) - 1)
    found = np.zeros(len(first), dtype=np.uint64)
    for bit in reversed(range(degree)):
        overflows = found >> top & np.uint64(1)
        found = (found << np.uint64(1) & mask) ^ overflows * low
        found ^= (first >> np.uint64(bit) & np.uint64(1)) * second
    return found
