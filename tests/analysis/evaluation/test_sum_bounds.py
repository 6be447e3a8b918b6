"""Sums from elsewhere: what reports can add up to passes, and what they cannot is refused, for every randomizer."""

from __future__ import annotations

import numpy as np
import pytest

from sordino_analysis.evaluation.accumulate import accumulate
from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_analysis.evaluation.randomizers.server_half import ServerHalf
from sordino_shared.arrays import Array
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import Coarsened, FieldLabel, GridPartition, Level, RandomizedResponse, SeededDirection
from sordino_shared.randomness import SeededRandomness
from tests.randomizers import Sample, every_sample

COUNT = 300
ONE = PureEpsilon.of(1)
# Any one sum more than this is beyond what 300 reports make, whatever the unit.
FAR = 1 << 60


def payloads_of(sample: Sample, count: int = COUNT) -> np.ndarray:
    codes = np.stack(np.unravel_index(np.arange(count) % np.prod(sample.part.domain.shape), sample.part.domain.shape))
    return sample.randomizer.randomize_codes(codes.T.astype(np.uint64), sample.part.domain.shape, SeededRandomness(7))


@pytest.mark.parametrize("sample", list(every_sample()))
def test_sums_of_reports_pass_and_others_do_not(sample: Sample) -> None:
    half = for_randomizer(sample.randomizer)
    if isinstance(sample.randomizer, Coarsened) and not all(sample.randomizer.table_sizes):
        pytest.skip("refused below: its answers need the reports")
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
    weights = Array.of(np.full(3, 7 << 57, dtype=np.uint64), "<u8")
    return for_randomizer(SeededDirection(60, Array.of(np.eye(3, dtype=np.int32), "<i4"), weights))


def test_a_direction_of_full_length_passes_and_a_longer_one_does_not(direction_half: ServerHalf) -> None:
    exact = np.array([3 * 10 * (1 << 32) // 5, 4 * 10 * (1 << 32) // 5, 0])
    direction_half.check(exact, 10)
    # Each entry alone is one that ten reports can have.
    with pytest.raises(InvalidValue, match="no longer than 10"):
        direction_half.check(np.array([1, 1, 1]) * (10 << 32) * 9 // 10, 10)
    with pytest.raises(InvalidValue, match="no longer than 9"):
        direction_half.check(exact, 9)


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
    payloads = randomizer.randomize_many(np.arange(2), SeededRandomness(1))
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
    with pytest.raises(InvalidValue, match="of 2 reports, and 3 are stated"):
        half.check(sums, 3)


def test_sums_without_a_table_are_refused_by_the_reason() -> None:
    level = Level(1 << 32, GridPartition((1,)), FieldLabel(2), b"\x01")
    randomizer = Coarsened.for_guarantee((1 << 26,), (level,), ONE)
    with pytest.raises(InvalidValue, match="counted in the reports themselves"):
        for_randomizer(randomizer).check(np.array([3]), 3)
