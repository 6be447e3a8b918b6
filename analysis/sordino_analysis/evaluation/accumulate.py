"""What reports add up to: exact integer sums, so that shards merge in any order to the same bytes."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import AnyRandomizer, Randomizer

Integers = NDArray[np.int64]
_WORD = 1 << 63


@dataclass(frozen=True, eq=False)
class Aggregate:
    """`count` reports and the sums (p,) of their accumulators; adding is exact, associative and commutative.

    Adding raises InvalidValue for sums of different randomizers, and for sums beyond what any reports have.
    """

    count: int
    sums: Integers

    def __post_init__(self) -> None:
        if not isinstance(self.count, Integral) or isinstance(self.count, bool):
            raise InvalidValue(f"an aggregate holds a whole number of reports, not {self.count!r}", self.count)
        if not _are_sums(self.sums):
            raise InvalidValue("sums are an array (p,) of integers: aggregate(plan, reports) makes them", self.sums)
        if self.count < 0:
            raise InvalidValue(f"an aggregate cannot hold {self.count} reports", self.count)

    @classmethod
    def empty(cls, randomizer: Randomizer) -> Aggregate:
        """No report yet."""
        return cls(0, np.zeros(randomizer.accumulator_size, dtype=np.int64))

    def __add__(self, other: Aggregate) -> Aggregate:
        if self.sums.shape != other.sums.shape:
            raise InvalidValue("aggregates of different randomizers do not add up", (self.sums.shape, other.sums.shape))
        # numpy adds modulo 2^64. Sums of reports stay within half of a word, see `ServerHalf.most_reports`.
        low = int(self.sums.min(initial=0)) + int(other.sums.min(initial=0))
        high = int(self.sums.max(initial=0)) + int(other.sums.max(initial=0))
        if low < -_WORD or high >= _WORD:
            raise InvalidValue(f"sums from {low} to {high} do not fit 64 bits: no reports have such", (low, high))
        return Aggregate(self.count + other.count, self.sums + other.sums)

    def to_bytes(self) -> bytes:
        """The sums as little-endian 64-bit integers; the count is separate."""
        return self.sums.astype("<i8").tobytes()

    @classmethod
    def from_bytes(cls, count: int, content: bytes) -> Aggregate:
        """The aggregate whose `to_bytes` is `content`; raises InvalidValue for a broken number of integers."""
        if len(content) % 8:
            raise InvalidValue(f"sums are a whole number of 8-byte integers, got {len(content)} bytes", len(content))
        return cls(count, np.frombuffer(content, dtype="<i8").astype(np.int64))


def _are_sums(sums: object) -> bool:
    return isinstance(sums, np.ndarray) and sums.ndim == 1 and sums.dtype.kind in "iu"


def accumulate(randomizer: AnyRandomizer, payloads: NDArray[np.uint8]) -> Integers:
    """Σ over the (n, width) payloads of the report's accumulator, (p,); each payload must be in the alphabet."""
    return for_randomizer(randomizer).accumulate(payloads)


def add_payloads(randomizer: AnyRandomizer, payloads: NDArray[np.uint8], sums: Integers) -> None:
    """Add the same to `sums` (p,), in place."""
    for_randomizer(randomizer).add(payloads, sums)


def mean_accumulator(randomizer: AnyRandomizer, aggregate: Aggregate) -> NDArray[np.float64]:
    """The mean s̄ (p,) of one report's accumulator; raises InvalidValue where there are no reports or other sums."""
    if aggregate.count == 0:
        raise InvalidValue("no report was counted, so there is no mean", aggregate)
    if aggregate.sums.shape != (randomizer.accumulator_size,):
        raise InvalidValue(
            f"the randomizer has a statistic of {randomizer.accumulator_size} sums, got {aggregate.sums.shape}",
            aggregate,
        )
    return np.asarray(aggregate.sums / (for_randomizer(randomizer).units() * aggregate.count))
