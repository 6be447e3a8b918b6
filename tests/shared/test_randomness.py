"""Integer laws of the sources of randomness. Thresholds: chi-square at one in a million for each test."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from sordino_shared.errors import InvalidValue
from sordino_shared.randomness import Randomness, SeededRandomness, SystemRandomness

FALSE_ALARM = 1e-6


def statistic(counts: np.ndarray, expected: np.ndarray) -> float:
    return float(((counts - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 7, 16, 100])
def test_below_is_uniform_and_a_tenth_off_is_noticed(bound: int) -> None:
    draws = SeededRandomness(bound).below(bound, 200_000)
    counts = np.bincount(draws.astype(np.int64), minlength=bound)
    assert len(counts) == bound
    expected = np.full(bound, 200_000 / bound)
    threshold = chi2.isf(FALSE_ALARM, max(bound - 1, 1))
    assert statistic(counts, expected) < threshold
    if bound > 1:
        # A source that prefers the lower half by a tenth would give these counts on average.
        skewed = expected * np.where(np.arange(bound) < bound / 2, 1.1, 1.0)
        assert statistic(counts, skewed * 200_000 / skewed.sum()) > threshold


class Scripted(Randomness):
    """Gives the words of a script, then of the next script."""

    def __init__(self, *scripts: list[int]) -> None:
        self.scripts = list(scripts)

    def bytes(self, count: int) -> bytes:
        words = self.scripts.pop(0)
        assert len(words) * 8 == count
        return np.array(words, dtype="<u8").tobytes()


def test_below_redraws_the_words_past_the_last_multiple_of_the_bound() -> None:
    top = 2**64 // 6 * 6
    source = Scripted([0, top - 1, top, 2**64 - 1, 7], [2**64 - 1, 8], [9])
    assert source.below(6, 5).tolist() == [0, 5, 3, 2, 1]
    assert not source.scripts


def test_below_takes_every_word_where_the_bound_divides() -> None:
    assert Scripted([2**64 - 1, 0]).below(2**63, 2).tolist() == [2**63 - 1, 0]
    assert Scripted([2**64 - 1]).below(1, 1).tolist() == [0]


def test_uniform_bits_are_the_high_bits_of_little_endian_words() -> None:
    words = [0, 2**64 - 1, 2**63, 1]
    assert Scripted(words).uniform_bits(64, 4).tolist() == words
    assert Scripted(words).uniform_bits(1, 4).tolist() == [0, 1, 1, 0]
    assert Scripted(words).uniform_bits(60, 4).tolist() == [0, 2**60 - 1, 2**59, 0]


@pytest.mark.parametrize("bits", [1, 4, 60])
def test_every_bit_is_fair(bits: int) -> None:
    draws = SystemRandomness().uniform_bits(bits, 40_000)
    assert int(draws.max()) < 2**bits
    for position in range(bits):
        ones = int(((draws >> np.uint64(position)) & np.uint64(1)).sum())
        # Six standard deviations: false alarm 2·10⁻⁹ a bit.
        assert abs(ones - 20_000) < 6 * 100


def test_a_seed_gives_one_stream_and_another_seed_another() -> None:
    assert SeededRandomness(1).bytes(64) == SeededRandomness(1).bytes(64) != SeededRandomness(2).bytes(64)
    assert SystemRandomness().bytes(32) != SystemRandomness().bytes(32)


@pytest.mark.parametrize("bound", [0, -1, 2**63 + 1, True])
def test_bounds_and_widths_have_limits(bound: int) -> None:
    with pytest.raises(InvalidValue):
        SeededRandomness(0).below(bound, 1)
    for bits in (0, 65, True):
        with pytest.raises(InvalidValue):
            SeededRandomness(0).uniform_bits(bits, 1)
