"""What of a payload may tell a value: functions of payloads alone, with whole numbers as outcomes.

A value enters a payload in ways that its law does not list: the side of its vector decides which seeds are drawn again,
its label which words are. So each kind has, for every tested value, the part of the payload that this value decides,
taken of reports of all values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, singledispatch
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.conformance.coarsened import CoarsenedReport, coordinate_counts, coordinates, label_of
from sordino_analysis.conformance.features import Payloads, sides_of, tells_truth
from sordino_shared.randomizers import (
    Coarsened,
    Dithered,
    FiniteKernel,
    OrbitKernel,
    Pair,
    RandomizedResponse,
    Randomizer,
    SeededDirection,
)
from sordino_shared.randomizers.base import cell_codes

# Draws, in all, that take about half a minute of one core.
_DRAWS = {"seeded_direction": 40_000, "coarsened": 100_000, "subset_selection": 100_000, "subset_mixture": 100_000}
# Short kinds take 5 µs a draw; more draws would show no more than a hundredth of ε.
_MOST_DRAWS = 1_000_000
# Outcomes of each part of a pair that are looked at together: more are rarer than a bound can tell.
_LONG = 64
# Longer payloads are rarely seen twice.
_INDEX_BYTES = 4
# Labels beyond are put together, so that an outcome is a number of its own for each level.
_LABEL_BITS = 11


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What each of n reports shows, a whole number (n,), and its name in words."""

    name: str
    numbers: NDArray[np.int64]


@singledispatch
def outcomes(randomizer: Randomizer, values: Sequence[int], payloads: Payloads) -> Iterator[Outcomes]:
    """What the (n, width) payloads show of each of the tested values: here, whether they are in favour of it."""
    for value in values:
        favour = tells_truth(randomizer, value, payloads)
        yield Outcomes(f"in favour of value {value}", favour.astype(np.int64))


def public_outcomes(payloads: Payloads) -> Iterator[Outcomes]:
    """The first and the last byte, and whether a payload came twice in a row: of every kind."""
    yield Outcomes("the first byte", payloads[:, 0].astype(np.int64))
    yield Outcomes("the last byte", payloads[:, -1].astype(np.int64))
    again = np.zeros(len(payloads), dtype=np.int64)
    again[1:] = np.all(payloads[1:] == payloads[:-1], axis=1)
    yield Outcomes("a payload twice in a row", again)


@outcomes.register(RandomizedResponse)
@outcomes.register(FiniteKernel)
@outcomes.register(OrbitKernel)
def _whole(randomizer: Randomizer, values: Sequence[int], payloads: Payloads) -> Iterator[Outcomes]:
    """A whole short payload, and for each value whether it is in favour of it: rare payloads tell little."""
    if payloads.shape[1] <= _INDEX_BYTES:
        yield Outcomes("the payload", _index(payloads))
    for value in values:
        yield Outcomes(f"in favour of value {value}", tells_truth(randomizer, value, payloads).astype(np.int64))


def _index(payloads: Payloads) -> NDArray[np.int64]:
    """(n,) the payloads as numbers, little-endian."""
    places = np.int64(1) << 8 * np.arange(payloads.shape[1], dtype=np.int64)
    return np.asarray(payloads.astype(np.int64) @ places)


@outcomes.register
def _of_direction(randomizer: SeededDirection, values: Sequence[int], payloads: Payloads) -> Iterator[Outcomes]:
    """For each value: on which side of its vector it lies, and the bit. The seed alone should decide the side."""
    sides = {value: sides_of(randomizer, value, payloads) for value in values}
    bit = payloads[:, -1].astype(np.int64)
    for value, side in sides.items():
        yield Outcomes(f"side of value {value} and bit", 2 * side.astype(np.int64) + bit)
    for one, other in pairwise(values):
        both = 4 * sides[one].astype(np.int64) + 2 * sides[other] + bit
        yield Outcomes(f"sides of values {one} and {other}, and bit", both)


@outcomes.register
def _of_coarsened(randomizer: Coarsened, values: Sequence[int], payloads: Payloads) -> Iterator[Outcomes]:
    """For each value: its label under the report's words, and whether z is a member. The words are drawn first."""
    members = [int.from_bytes(level.members, "little") for level in randomizer.levels]
    for value in values:
        codes = cell_codes(value, randomizer.sizes)

        @cache
        def read(payload: bytes, codes: tuple[int, ...] = tuple(codes)) -> tuple[int, int, int]:
            report = CoarsenedReport.read(randomizer, codes, payload)
            level = randomizer.levels[report.level]
            cell = coordinates(level.partition, codes, report.public)
            label = label_of(level.label, cell, coordinate_counts(randomizer, level), report.words)
            return report.level, label, members[report.level] >> report.shift & 1

        numbers = np.array([read(bytes(row)) for row in payloads], dtype=np.int64).reshape(-1, 3)
        yield Outcomes(f"in favour of value {value}", numbers[:, 2])
        labels = numbers[:, 1] % (1 << _LABEL_BITS)
        shown = ((numbers[:, 0] << _LABEL_BITS) + labels) * 2 + numbers[:, 2]
        yield Outcomes(f"level, label of value {value}, and whether in favour", shown)


@outcomes.register
def _of_pair(randomizer: Pair, values: Sequence[int], payloads: Payloads) -> Iterator[Outcomes]:
    """Those of each part, and of both together; of many outcomes the last ones count as one.

    Which features there are depends on the values alone: a place in the list means the same for all reports.
    """
    width = randomizer.first.payload_bytes
    first = list(outcomes(randomizer.first, values, payloads[:, :width]))
    second = list(outcomes(randomizer.second, values, payloads[:, width:]))
    yield from first
    yield from second
    for one in first:
        for other in second:
            few = (np.minimum(each.numbers, _LONG - 1) for each in (one, other))
            yield Outcomes(f"{one.name}; {other.name}", next(few) * _LONG + next(few))


@outcomes.register
def _of_dithered(randomizer: Dithered, values: Sequence[int], payloads: Payloads) -> Iterator[Outcomes]:
    """Those of the types that values become: the first, the last and some between."""
    count = randomizer.inner.size
    types = sorted({round(step * (count - 1) / max(len(values) - 1, 1)) for step in range(len(values))})
    yield from outcomes(randomizer.inner, types, payloads)


def default_draws(randomizer: Randomizer) -> int:
    """So many reports as take about half a minute: a million of short kinds, fewer where a draw takes long."""
    kinds = [getattr(randomizer, name, None) for name in ("first", "second", "inner")]
    inner = [each for each in kinds if isinstance(each, Randomizer)]
    return min([_DRAWS.get(randomizer.kind, _MOST_DRAWS), *map(default_draws, inner)])
