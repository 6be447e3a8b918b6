"""What reports add up to: exact integer sums, so that shards merge in any order to the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.evaluation.orbit_sums import CharacterSums
from sordino_analysis.optimisation.symmetry.row_spectrum import RowSpectrum
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import OrbitKernel, Pair, Randomizer, SeededDirection, SubsetMixture, directions
from sordino_shared.randomizers.directions import SEED_BYTES

Integers = NDArray[np.int64]

# Entries of unit vectors, and characters, are rounded to multiples of 2^-32: below the noise of 10^18 reports, and the
# sums of 2^31 reports still fit a signed word.
DIRECTION_SCALE = 1 << 32
_BATCH_ENTRIES = 1 << 22
# Unit vectors pass through the processor's cache five times, and so few of them stay in it.
_DIRECTION_ENTRIES = 1 << 16
# Outputs are counted as words that stay in the cache, two at once where a table of all pairs of cells stays there too.
_COUNT_ENTRIES = 1 << 18
_PAIRED_CELLS = 64
# Rows of bits that are no longer than this together are added up one by one.
_FEW_BYTES = 1 << 12
# Entries of two unit vectors are multiplied as multiples of 2^-24, so that sums of products fit a word.
_PRODUCT_SHIFT = 8


@dataclass(frozen=True, eq=False)
class Aggregate:
    """`count` reports and their summed statistic `sums` (p,); adding is exact, associative and commutative."""

    count: int
    sums: Integers

    def __post_init__(self) -> None:
        if self.count < 0:
            raise InvalidValue(f"an aggregate cannot hold {self.count} reports", self.count)

    @classmethod
    def empty(cls, randomizer: Randomizer) -> Aggregate:
        """No report yet."""
        return cls(0, np.zeros(randomizer.accumulator_size, dtype=np.int64))

    def __add__(self, other: Aggregate) -> Aggregate:
        if self.sums.shape != other.sums.shape:
            raise InvalidValue("aggregates of different randomizers do not add up", (self.sums.shape, other.sums.shape))
        return Aggregate(self.count + other.count, self.sums + other.sums)

    def to_bytes(self) -> bytes:
        """The sums as little-endian 64-bit integers; the count travels beside them."""
        return self.sums.astype("<i8").tobytes()

    @classmethod
    def from_bytes(cls, count: int, content: bytes) -> Aggregate:
        """The aggregate whose `to_bytes` is `content`."""
        if len(content) % 8:
            raise InvalidValue(f"sums are a whole number of 8-byte integers, got {len(content)} bytes", len(content))
        return cls(count, np.frombuffer(content, dtype="<i8").astype(np.int64))


def accumulate(randomizer: Randomizer, payloads: NDArray[np.uint8]) -> Integers:
    """Σ over the (n, width) payloads of the randomizer's statistic, (p,); each payload must be in its alphabet."""
    add_up, size = _statistic(randomizer), randomizer.accumulator_size
    total = np.zeros(size, dtype=np.int64)
    counted = randomizer.accumulator == "counts"
    for batch in _batches(payloads, 1, _COUNT_ENTRIES) if counted else _batches(payloads, size, _BATCH_ENTRIES):
        total += add_up(batch)
    return total


def mean_accumulator(randomizer: Randomizer, aggregate: Aggregate) -> NDArray[np.float64]:
    """The mean s̄ (p,) of one report's statistic; raises InvalidValue where there are no reports or other sums."""
    if aggregate.count == 0:
        raise InvalidValue("no report was counted, so there is no mean", aggregate)
    if aggregate.sums.shape != (randomizer.accumulator_size,):
        raise InvalidValue(
            f"the randomizer has a statistic of {randomizer.accumulator_size} sums, got {aggregate.sums.shape}",
            aggregate,
        )
    return np.asarray(aggregate.sums / (_scales(randomizer) * aggregate.count))


def _scales(randomizer: Randomizer) -> NDArray[np.float64]:
    """(p,) how many of the aggregate's units are one."""
    if isinstance(randomizer, Pair):
        parts = (_scales(randomizer.first), _scales(randomizer.second))
        return np.concatenate([*parts, np.full(int(randomizer.has_products), float(DIRECTION_SCALE))])
    unit = 1.0
    if isinstance(randomizer, OrbitKernel):
        unit = DIRECTION_SCALE / RowSpectrum(randomizer).unit
    elif isinstance(randomizer, SeededDirection):
        unit = float(DIRECTION_SCALE)
    return np.full(randomizer.accumulator_size, unit)


def _statistic(randomizer: Randomizer) -> Callable[[NDArray[np.uint8]], Integers]:
    if isinstance(randomizer, OrbitKernel):
        return CharacterSums(randomizer, DIRECTION_SCALE)
    if isinstance(randomizer, SubsetMixture):
        return partial(_sized_bit_counts, randomizer)
    if isinstance(randomizer, Pair):
        return partial(_pair_sums, randomizer)
    add_up, size = _STATISTICS[randomizer.accumulator], randomizer.accumulator_size
    return lambda payloads: add_up(payloads, size)


def _counts(payloads: NDArray[np.uint8], size: int) -> Integers:
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


def _bit_counts(payloads: NDArray[np.uint8], size: int) -> Integers:
    """Full adders, on packed bits: of three rows that count `weight` one is left, and one that counts twice as much."""
    total, weight, rows = np.zeros(size, dtype=np.int64), 1, payloads
    few = max(2, _FEW_BYTES // payloads.shape[1])
    while len(rows):
        carried = [rows[:0]]
        while len(rows) > few:
            third = len(rows) // 3
            first, second, last = rows[:third], rows[third : 2 * third], rows[2 * third : 3 * third]
            odd = first ^ second
            carried.append(first & second | odd & last)
            rows = np.concatenate([odd ^ last, rows[3 * third :]])
        bits = np.unpackbits(rows, axis=1, bitorder="little")[:, :size]
        total += weight * bits.sum(axis=0, dtype=np.int64)
        rows, weight = np.concatenate(carried), 2 * weight
    return total


def _sized_bit_counts(randomizer: SubsetMixture, payloads: NDArray[np.uint8]) -> Integers:
    """Bit counts of the sets of each size, one size after the other."""
    bits = np.unpackbits(payloads, axis=1, bitorder="little")[:, : randomizer.size]
    held = bits.sum(axis=1, dtype=np.uint32)
    return np.concatenate([_bit_counts(payloads[held == size], randomizer.size) for size in randomizer.subset_sizes])


def _unit_vectors(payloads: NDArray[np.uint8], size: int) -> Integers:
    """(n, d) ±g/‖g‖ in units of 2^-32, every entry of every report rounded on its own so that order cannot matter."""
    # Sums of 2^16 squares of 16-bit atoms are exact in floats too.
    drawn = directions(payloads[:, :SEED_BYTES], size).astype(np.float64)
    lengths = np.sqrt(np.einsum("nd,nd->n", drawn, drawn))
    signs = 2.0 * payloads[:, SEED_BYTES] - 1.0
    drawn *= (signs * DIRECTION_SCALE / lengths)[:, None]
    return np.asarray(np.rint(drawn, out=drawn).astype(np.int64))


def _direction_sums(payloads: NDArray[np.uint8], size: int) -> Integers:
    total = np.zeros(size, dtype=np.int64)
    for batch in _batches(payloads, size, _DIRECTION_ENTRIES):
        total += _unit_vectors(batch, size).sum(axis=0)
    return total


def _pair_sums(randomizer: Pair, payloads: NDArray[np.uint8]) -> Integers:
    """Sums of both parts; where both are directions, then the sum of their inner products in units of 2^-32."""
    first, second = randomizer.split(payloads)
    sums = [accumulate(randomizer.first, first), accumulate(randomizer.second, second)]
    if randomizer.has_products:
        size = randomizer.first.accumulator_size
        left, right = (_coarser(_unit_vectors(part, size)) for part in (first, second))
        products = np.einsum("nd,nd->n", left, right)
        sums.append(np.array([(products >> (32 - 2 * _PRODUCT_SHIFT)).sum()]))
    return np.concatenate(sums)


def _coarser(vectors: Integers) -> Integers:
    """In units of 2^-24, rounded to the nearest."""
    return np.asarray((vectors + (1 << (_PRODUCT_SHIFT - 1))) >> _PRODUCT_SHIFT)


_STATISTICS: dict[str, Callable[[NDArray[np.uint8], int], Integers]] = {
    "counts": _counts,
    "bit_counts": _bit_counts,
    "direction_sums": _direction_sums,
}


def _batches(payloads: NDArray[np.uint8], size: int, entries: int) -> Iterator[NDArray[np.uint8]]:
    step = max(1, entries // size)
    for start in range(0, len(payloads), step):
        yield payloads[start : start + step]
