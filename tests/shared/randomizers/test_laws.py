"""Laws of sixteen bits, counted out: every word of the generator is tried, so nothing is left to chance.

Of the code of devices, one value at a time, and of array code.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sordino_analysis.vectorized.arrays import array_of
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_shared.randomizers import DenseRows, FiniteKernel, RandomizedResponse
from sordino_shared.randomness import Randomness

# Five rows over four types, with a null output.
TABLE = np.random.default_rng(3).integers(6000, 12000, (5, 4))
DENSE = FiniteKernel(16, DenseRows(array_of(TABLE, "<u8")))
COARSE = RandomizedResponse(3, 16, 7)


class EveryWord(Randomness):
    """Gives each of the 2^16 high words once, in order."""

    def bytes(self, count: int) -> bytes:
        assert count == 8 * 2**16
        return (np.arange(2**16, dtype=np.uint64) << np.uint64(48)).astype("<u8").tobytes()


class OneWord(Randomness):
    """Gives one word of 16 bits."""

    def __init__(self, word: int) -> None:
        self._word = word

    def bytes(self, count: int) -> bytes:
        assert count == 8
        return (self._word << 48).to_bytes(8, "little")


def counted_by_a_device(randomizer: FiniteKernel | RandomizedResponse, cell: int) -> list[int]:
    payloads = [randomizer.randomize(cell, OneWord(word))[0] for word in range(2**16)]
    return np.bincount(payloads).tolist()


def counted(randomizer: FiniteKernel | RandomizedResponse, cell: int) -> list[int]:
    payloads = randomize_many(randomizer, np.full(2**16, cell), EveryWord())
    return np.bincount(payloads[:, 0]).tolist()


@pytest.mark.parametrize("cell", range(4))
def test_a_table_of_sixteen_bits_is_counted_out(cell: int) -> None:
    column = TABLE[:, cell].tolist()
    assert counted(DENSE, cell) == [*column, 2**16 - sum(column)]


@pytest.mark.parametrize("cell", range(3))
def test_randomized_response_of_sixteen_bits_is_counted_out(cell: int) -> None:
    law = {y: Fraction(7, 2**16) if y != cell else Fraction(2**16 - 14, 2**16) for y in range(3)}
    assert {y: Fraction(n, 2**16) for y, n in enumerate(counted(COARSE, cell))} == law


def test_a_table_of_a_device_is_counted_out() -> None:
    column = TABLE[:, 2].tolist()
    assert counted_by_a_device(DENSE, 2) == [*column, 2**16 - sum(column)]


@pytest.mark.parametrize("cell", range(3))
def test_randomized_response_of_a_device_is_counted_out(cell: int) -> None:
    law = [7, 7, 7]
    law[cell] = 2**16 - 14
    assert counted_by_a_device(COARSE, cell) == law
