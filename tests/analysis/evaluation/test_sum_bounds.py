"""Sums from elsewhere: what reports can add up to passes, and what they cannot is refused, for every randomizer."""

from __future__ import annotations

import numpy as np
import pytest

from sordino_analysis.evaluation.accumulate import accumulate
from sordino_analysis.evaluation.coarsened.walsh import transform
from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_analysis.evaluation.randomizers.server_half import ServerHalf
from sordino_analysis.evaluation.randomizers.sum_bounds import whole_number
from sordino_analysis.vectorized.arrays import array_of
from sordino_analysis.vectorized.orbits import base_row
from sordino_analysis.vectorized.randomizers import randomize_codes, randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import (
    Coarsened,
    FieldLabel,
    GridPartition,
    Level,
    OrbitKernel,
    Pair,
    RandomizedResponse,
    SeededDirection,
)
from tests.randomizers import SAMPLES, Sample, every_sample

COUNT = 300
ONE = PureEpsilon.of(1)
# Any one sum more than this is beyond what 300 reports make, whatever the unit.
FAR = 1 << 60


def payloads_of(sample: Sample, count: int = COUNT) -> np.ndarray:
    codes = np.stack(np.unravel_index(np.arange(count) % np.prod(sample.part.domain.shape), sample.part.domain.shape))
    return randomize_codes(sample.randomizer, codes.T.astype(np.uint64), sample.part.domain.shape, SeededRandomness(7))


@pytest.mark.parametrize("sample", list(every_sample()))
def test_sums_of_reports_pass_and_others_do_not(sample: Sample) -> None:
    half = for_randomizer(sample.randomizer)
    if isinstance(sample.randomizer, Coarsened) and not all(sample.randomizer.table_sizes):
        with pytest.raises(InvalidValue, match="counted in the reports themselves"):
            half.check(accumulate(sample.randomizer, payloads_of(sample)), COUNT)
        return
    for count in (0, 1, COUNT):
        half.check(accumulate(sample.randomizer, payloads_of(sample, count)), count)
    sums = accumulate(sample.randomizer, payloads_of(sample))
    for place in {0, len(sums) // 2, len(sums) - 1}:
        for change in (FAR, -FAR):
            beyond = sums.copy()
            beyond[place] = change
            with pytest.raises(InvalidValue):
                half.check(beyond, COUNT)
    with pytest.raises(InvalidValue, match=f"have {len(sums)} sums, not {len(sums) + 1}"):
        half.check(np.append(sums, 0), COUNT)
    with pytest.raises(InvalidValue):
        half.check(np.full_like(sums, FAR), COUNT)


@pytest.fixture
def direction_half() -> ServerHalf:
    weights = array_of(np.full(3, 7 << 57, dtype=np.uint64), "<u8")
    return for_randomizer(SeededDirection(60, array_of(np.eye(3, dtype=np.int32), "<i4"), weights))


def test_a_direction_of_full_length_passes_and_a_longer_one_does_not(direction_half: ServerHalf) -> None:
    exact = np.array([3 * 10 * (1 << 32) // 5, 4 * 10 * (1 << 32) // 5, 0])
    direction_half.check(exact, 10)
    # Each entry alone is one that ten reports can have.
    with pytest.raises(InvalidValue, match="no longer than 10"):
        direction_half.check(np.array([1, 1, 1]) * (10 << 32) * 9 // 10, 10)
    with pytest.raises(InvalidValue, match="no longer than 9"):
        direction_half.check(exact, 9)


def test_inner_products_of_two_directions_are_at_most_one_each() -> None:
    pair = SAMPLES[Pair]["directions"].randomizer
    half, sums = for_randomizer(pair), np.zeros(pair.accumulator_size, dtype=np.int64)
    for sign in (1, -1):
        sums[-1] = sign * (10 << 32)
        half.check(sums, 10)
        sums[-1] = sign * (10 << 32) * 101 // 100
        with pytest.raises(InvalidValue):
            half.check(sums, 10)


def test_counts_are_of_the_stated_reports_exactly() -> None:
    half = for_randomizer(RandomizedResponse.for_guarantee(4, ONE))
    half.check(np.array([3, 0, 4, 1]), 8)
    for sums, count in (([3, 0, 4, 1], 7), ([3, 0, 4, 1], 9), ([9, -1, 0, 0], 8), ([8, 8, 8, 8], 8)):
        with pytest.raises(InvalidValue):
            half.check(np.array(sums), count)


def test_a_walsh_table_is_looked_at_through_its_transform() -> None:
    """Each entry of the table is one that two reports can have, and no two reports have all of them."""
    level = Level(1 << 32, GridPartition((1,)), FieldLabel(2), b"\x01")
    randomizer = Coarsened.for_guarantee((8,), (level,), ONE)
    half = for_randomizer(randomizer)
    payloads = randomize_many(randomizer, np.arange(2), SeededRandomness(1))
    sums = accumulate(randomizer, payloads)
    half.check(sums, 2)
    forged = sums.copy()
    forged[1:] = np.abs(sums[1:]).max()
    with pytest.raises(InvalidValue, match="none to all hold a value"):
        half.check(forged, 2)
    broken = sums.copy()
    broken[2] += 1
    with pytest.raises(InvalidValue, match="none to all hold a value"):
        half.check(broken, 2)
    with pytest.raises(InvalidValue, match="of 2 reports, not of 3 as stated"):
        half.check(sums, 3)


def test_a_walsh_table_that_wraps_to_a_good_one_is_refused():
    """2^64 reports of one cell are none in the arithmetic of words, and not in that of the estimate."""
    level = Level(1 << 32, GridPartition((1,)), FieldLabel(2), b"\x01")
    randomizer = Coarsened.for_guarantee((8,), (level,), ONE)
    sums = accumulate(randomizer, randomize_many(randomizer, np.arange(40) % 8, SeededRandomness(1)))
    forged, wave = sums.copy(), np.array([(-1) ** (j & 3).bit_count() for j in range(8)])
    forged[1:] += (1 << 61) * wave
    transformed = [table[1:].copy() for table in (sums, forged)]
    for table in transformed:
        transform(table)
    assert (transformed[0] == transformed[1]).all()
    for_randomizer(randomizer).check(sums, 40)
    with pytest.raises(InvalidValue, match="absolute sums of 40 reports"):
        for_randomizer(randomizer).check(forged, 40)
    # Four entries of four at most: the transform of the sums of all sources fits a word.
    assert for_randomizer(randomizer).most_reports == 1 << 58


def test_reports_of_one_character_each_do_not_make_all_characters_large():
    """Each sum alone is one that the reports can have, and they have one of them at a time."""
    inside = np.array([[True, False], [False, True]])
    low = 1 << 40
    kernel = OrbitKernel(
        shape=(2, 2, 2),
        width=2,
        overlaps=False,
        bits=60,
        low=low,
        high=2 * low,
        row_weights=(1 << 60,),
        rows=(base_row(inside),),
    )
    half = for_randomizer(kernel)
    sums = accumulate(kernel, randomize_many(kernel, np.zeros(30, dtype=np.int64), SeededRandomness(1)))
    half.check(sums, 30)
    most = half.accumulate(randomize_many(kernel, np.zeros(1, dtype=np.int64), SeededRandomness(1)))
    forged = sums.copy()
    forged[1:] = 30 * np.abs(most[1:]).max()
    with pytest.raises(InvalidValue, match="absolute sums of 30 reports"):
        half.check(forged, 30)


def test_sums_without_a_table_are_refused_by_the_reason() -> None:
    level = Level(1 << 32, GridPartition((1,)), FieldLabel(2), b"\x01")
    randomizer = Coarsened.for_guarantee((1 << 26,), (level,), ONE)
    with pytest.raises(InvalidValue, match="counted in the reports themselves"):
        for_randomizer(randomizer).check(np.array([3]), 3)


def test_reports_are_counted_in_whole_units() -> None:
    assert (whole_number(12, 4, "a sum"), whole_number(0, 4, "a sum")) == (3, 0)
    for total in (13, 3, -4):
        with pytest.raises(InvalidValue, match=rf"a sum is no whole number of reports: {total} is not a multiple of 4"):
            whole_number(total, 4, "a sum")
