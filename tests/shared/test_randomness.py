"""Integer laws of the sources of randomness. Thresholds: chi-square at one in a million for each test."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import chi2

from sordino_analysis.vectorized.randomness import SeededRandomness, uniform_below, uniform_bits
from sordino_shared.errors import InvalidValue
from sordino_shared.randomness import Randomness, ShakeRandomness, SystemRandomness

FALSE_ALARM = 1e-6


def statistic(counts: np.ndarray, expected: np.ndarray) -> float:
    return float(((counts - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 7, 16, 100])
def test_below_is_uniform_and_a_tenth_off_is_noticed(bound: int) -> None:
    draws = uniform_below(SeededRandomness(bound), bound, 200_000)
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
    assert uniform_below(source, 6, 5).tolist() == [0, 5, 3, 2, 1]
    assert not source.scripts


def test_below_takes_every_word_where_the_bound_divides() -> None:
    assert uniform_below(Scripted([2**64 - 1, 0]), 2**63, 2).tolist() == [2**63 - 1, 0]
    assert uniform_below(Scripted([2**64 - 1]), 1, 1).tolist() == [0]


def test_uniform_bits_are_the_high_bits_of_little_endian_words() -> None:
    words = [0, 2**64 - 1, 2**63, 1]
    assert uniform_bits(Scripted(words), 64, 4).tolist() == words
    assert uniform_bits(Scripted(words), 1, 4).tolist() == [0, 1, 1, 0]
    assert uniform_bits(Scripted(words), 60, 4).tolist() == [0, 2**60 - 1, 2**59, 0]


@pytest.mark.parametrize("bits", [1, 4, 60])
def test_every_bit_is_fair(bits: int) -> None:
    draws = uniform_bits(SystemRandomness(), bits, 40_000)
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
        uniform_below(SeededRandomness(0), bound, 1)
    for bits in (0, 65, True):
        with pytest.raises(InvalidValue):
            uniform_bits(SeededRandomness(0), bits, 1)


def test_one_draw_and_many_are_the_same_numbers_of_the_same_bytes() -> None:
    for bound in (1, 2, 6, 1000, 2**63):
        for seed in range(50):
            one, many = ShakeRandomness(seed).below(bound), uniform_below(ShakeRandomness(seed), bound, 1)
            assert [one] == many.tolist()
            assert [ShakeRandomness(seed).bits(60)] == uniform_bits(ShakeRandomness(seed), 60, 1).tolist()
    top = 2**64 // 6 * 6
    source = Scripted([top], [2**64 - 1], [8])
    assert source.below(6) == 2
    assert not source.scripts


@pytest.mark.parametrize("bound", [2, 5, 100])
def test_single_draws_below_a_bound_are_uniform(bound: int) -> None:
    source = ShakeRandomness(bound)
    counts = np.bincount([source.below(bound) for _ in range(20_000)], minlength=bound)
    assert statistic(counts, np.full(bound, 20_000 / bound)) < chi2.isf(FALSE_ALARM, bound - 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a machine that forks")
def test_a_fork_between_two_draws_shares_no_randomness() -> None:
    """Nothing is kept from one draw to the next, so that a child's noise is not its parent's."""
    code = (
        "import os, sys; from sordino_shared.randomness import SystemRandomness; source = SystemRandomness()\n"
        "source.bits(60), source.below(7)\n"
        "child = os.fork()\n"
        "os.write(1, b'%d %d\\n' % (source.bits(64), source.below(2**62)))\n"
        "child and os.waitpid(child, 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    drawn = done.stdout.split()
    assert len(drawn) == len(set(drawn)) == 4
