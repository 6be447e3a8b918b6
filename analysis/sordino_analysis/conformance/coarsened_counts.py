"""Counts over the reports of a coarsened randomizer: the distribution of each part, given the other parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.conformance.coarsened import (
    CoarsenedReport,
    coordinate_counts,
    label_weights,
    public_ranges,
    word_bits,
)
from sordino_analysis.conformance.counts import Counts, in_order, partition, share
from sordino_analysis.conformance.public_labels import public_counts
from sordino_shared.randomizers import Coarsened

Payloads = NDArray[np.uint8]


def member_chance(randomizer: Coarsened) -> Fraction:
    """The chance that z is a member."""
    found = Fraction(0)
    for level in randomizer.levels:
        weights, members = label_weights(randomizer, level), int.from_bytes(level.members, "little").bit_count()
        found += Fraction(level.chance * members * randomizer.high, sum(weights) << 32)
    return found


def read_reports(randomizer: Coarsened, values: Sequence[int], payloads: Payloads) -> list[CoarsenedReport]:
    """The (n, width) payloads of a device whose members have the indices `values`, read; equal ones are read once."""
    read = cache(lambda payload: CoarsenedReport.read(randomizer, values, payload))
    return [read(bytes(row)) for row in payloads]


def favours_value(randomizer: Coarsened, reports: list[CoarsenedReport]) -> NDArray[np.bool_]:
    """(n,) whether z is a member of the report's level."""
    members = [int.from_bytes(level.members, "little") for level in randomizer.levels]
    return np.array([members[one.level] >> one.shift & 1 for one in reports], dtype=np.bool_)


def coarsened_counts(randomizer: Coarsened, values: Sequence[int], payloads: Payloads) -> Iterator[Counts]:
    """The level; its partition; its words, and the labels they give to values; the z that label and y give."""
    reports = read_reports(randomizer, values, payloads)
    yield from share(favours_value(randomizer, reports), float(member_chance(randomizer)), "in favour of the value")
    drawn = np.array([one.level for one in reports], dtype=np.int64)
    yield from partition(drawn, [level.chance / 2**32 for level in randomizer.levels], "the level", str)
    for number in range(len(randomizer.levels)):
        mine = [one for one in reports if one.level == number]
        yield from _level_counts(randomizer, number, mine)
        yield from public_counts(randomizer, number, values, mine)


def _level_counts(randomizer: Coarsened, number: int, reports: list[CoarsenedReport]) -> Iterator[Counts]:
    level = randomizer.levels[number]
    for at, choices in enumerate(public_ranges(level.partition, randomizer.sizes)):
        found = np.array([choices.index(one.public[at]) for one in reports], dtype=np.int64)
        yield from in_order(found, len(choices), f"choice {at} of the partition of level {number}")
    for at, bits in enumerate(word_bits(level.label, coordinate_counts(randomizer, level))):
        words, of = np.array([one.words[at] for one in reports], dtype=np.uint64), f"word {at} of level {number}"
        ones = [np.count_nonzero(words >> np.uint64(bit) & np.uint64(1)) for bit in range(bits)]
        yield Counts(len(words), np.array(ones), np.full(bits, 0.5), _bit_of(of))
        yield from share(words == 0, 2.0**-bits, f"with {of} equal to 0")
    weights = np.array(label_weights(randomizer, level), dtype=np.float64)
    shifts = np.array([one.shift for one in reports], dtype=np.int64)
    yield from partition(shifts, (weights / weights.sum()).tolist(), f"the z of level {number}", str)


def _bit_of(word: str) -> Callable[[int], str]:
    return lambda bit: f"bit {bit} of {word} was 1"
