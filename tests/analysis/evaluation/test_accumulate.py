"""Sums of reports: what each statistic counts, exactly, in any order and any split."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino_analysis.evaluation.accumulate import Aggregate, accumulate, mean_accumulator
from sordino_analysis.evaluation.randomizers import counts, server_half, subsets
from sordino_analysis.evaluation.randomizers import directions as directions_half
from sordino_analysis.evaluation.randomizers.directions import DIRECTION_SCALE
from sordino_analysis.vectorized.arrays import array_of
from sordino_analysis.vectorized.directions import directions
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import (
    DenseRows,
    FiniteKernel,
    Pair,
    RandomizedResponse,
    SeededDirection,
    SubsetMixture,
    SubsetSelection,
)

ONE = PureEpsilon.of(1)


def seeded_direction(dimension=5, size=4):
    vectors = np.random.default_rng(2).integers(-1000, 1000, size=(size, dimension))
    kept = np.full(size, SeededDirection.largest_keep_weight(ONE), dtype=np.uint64)
    return SeededDirection(60, array_of(vectors, "<i4"), array_of(kept, "<u8"))


RANDOMIZERS = {
    "randomized_response": RandomizedResponse.for_guarantee(300, ONE),
    "subset_selection": SubsetSelection.for_guarantee(13, 4, ONE),
    "subset_mixture": SubsetMixture.for_guarantee(13, (2, 5), (0.25, 0.75), ONE),
    "finite_kernel": FiniteKernel(16, DenseRows(array_of(np.full((9, 5), 7000), "<u8"))),
    "seeded_direction": seeded_direction(),
    "pair_with_counts": Pair(
        seeded_direction(size=5), FiniteKernel(16, DenseRows(array_of(np.full((9, 5), 7000), "<u8")))
    ),
    "pair_of_directions": Pair(seeded_direction(), seeded_direction()),
}


def reports(randomizer, count, seed=0):
    cells = np.random.default_rng(seed).integers(0, randomizer.size, size=count)
    return randomize_many(randomizer, cells, SeededRandomness(seed))


def one_by_one(randomizer, payload):
    """The statistic of one report by its definition."""
    if isinstance(randomizer, Pair):
        return pair_of_statistics(randomizer, payload)
    if randomizer.accumulator == "counts":
        return np.eye(randomizer.accumulator_size)[int.from_bytes(payload.tobytes(), "little")]
    if randomizer.accumulator in ("bit_counts", "sized_bit_counts"):
        word = int.from_bytes(payload.tobytes(), "little")
        held = np.array([(word >> cell) & 1 for cell in range(randomizer.size)])
        sizes = randomizer.subset_sizes if randomizer.accumulator == "sized_bit_counts" else [held.sum()]
        return np.concatenate([held * (held.sum() == size) for size in sizes])
    drawn = directions(payload[None, :16], randomizer.dimension)[0].astype(float)
    return np.rint((2 * int(payload[16]) - 1) * DIRECTION_SCALE * drawn / np.sqrt((drawn**2).sum()))


def pair_of_statistics(randomizer, payload):
    width = randomizer.first.payload_bytes
    first, second = one_by_one(randomizer.first, payload[:width]), one_by_one(randomizer.second, payload[width:])
    if not randomizer.has_products:
        return np.concatenate([first, second])
    inner = (first / DIRECTION_SCALE) @ (second / DIRECTION_SCALE)
    return np.concatenate([first, second, [np.rint(inner * DIRECTION_SCALE)]])


@pytest.mark.parametrize("name", RANDOMIZERS)
def test_sums_are_those_of_the_reports_one_by_one(name, monkeypatch):
    randomizer = RANDOMIZERS[name]
    payloads = reports(randomizer, 40)
    expected = sum(one_by_one(randomizer, payload) for payload in payloads)
    monkeypatch.setattr(server_half, "_BATCH_ENTRIES", 7 * randomizer.accumulator_size)
    monkeypatch.setattr(directions_half, "_DIRECTION_ENTRIES", 7 * randomizer.accumulator_size)
    monkeypatch.setattr(counts, "COUNTED_AT_ONCE", 7)
    monkeypatch.setattr(subsets, "COUNTED_AT_ONCE", 7)
    monkeypatch.setattr(subsets, "_FEW_BYTES", 1)
    found = accumulate(randomizer, payloads)
    assert found.dtype == np.int64
    # A product of three doubles may round the other way once in a while; it does so everywhere alike. Inner products
    # are taken of entries in units of 2^-24, so that 40 of them are off by at most 40·5·2^8 units of 2^-32.
    directed = 2 if randomizer.accumulator in ("direction_sums", "pair_sums") else 0
    tolerance = np.full(len(found), float(directed))
    if isinstance(randomizer, Pair) and randomizer.has_products:
        tolerance[-1] = 40 * 5 * 2**8
    assert (np.abs(found - expected) <= tolerance).all()
    assert not accumulate(randomizer, payloads[:0]).any()


@pytest.mark.parametrize("name", RANDOMIZERS)
@given(seed=st.integers(0, 2**32 - 1), cuts=st.lists(st.integers(0, 30), max_size=4))
def test_any_order_and_any_split_merge_to_the_same_bytes(name, seed, cuts):
    randomizer, rng = RANDOMIZERS[name], np.random.default_rng(seed)
    payloads = reports(randomizer, 30)
    whole = Aggregate(30, accumulate(randomizer, payloads))
    parts = [Aggregate(len(part), accumulate(randomizer, part)) for part in
             np.split(payloads[rng.permutation(30)], sorted(cuts))]  # fmt: skip
    merged = Aggregate.empty(randomizer)
    for index in rng.permutation(len(parts)):
        merged = parts[index] + merged
    assert (merged.count, merged.to_bytes()) == (whole.count, whole.to_bytes())
    again = Aggregate.from_bytes(30, whole.to_bytes())
    np.testing.assert_array_equal(again.sums, whole.sums)


def test_the_mean_of_directions_is_in_their_unit():
    randomizer = seeded_direction()
    aggregate = Aggregate(4, np.full(5, DIRECTION_SCALE, dtype=np.int64))
    np.testing.assert_allclose(mean_accumulator(randomizer, aggregate), 0.25)
    counts = Aggregate(4, np.array([4, 0, 2]))
    small = RandomizedResponse.for_guarantee(3, ONE)
    np.testing.assert_allclose(mean_accumulator(small, counts), [1.0, 0.0, 0.5])


def test_what_does_not_add_up_is_refused():
    small, large = RandomizedResponse.for_guarantee(3, ONE), RandomizedResponse.for_guarantee(4, ONE)
    with pytest.raises(InvalidValue, match="no report"):
        mean_accumulator(small, Aggregate.empty(small))
    with pytest.raises(InvalidValue, match="statistic of 4"):
        mean_accumulator(large, Aggregate(1, np.zeros(3, dtype=np.int64)))
    with pytest.raises(InvalidValue, match="do not add up"):
        Aggregate.empty(small) + Aggregate.empty(large)
    with pytest.raises(InvalidValue, match="cannot hold -1"):
        Aggregate(-1, np.zeros(3, dtype=np.int64))
    with pytest.raises(InvalidValue, match="8-byte"):
        Aggregate.from_bytes(1, b"1234567")
    # Two at once, the pair (0, 3) of three cells would pass for (1, 0).
    for randomizer in (small, RandomizedResponse.for_guarantee(200, ONE)):
        with pytest.raises(InvalidValue, match="altered"):
            accumulate(randomizer, np.array([[0], [randomizer.size]], dtype=np.uint8))


@pytest.mark.parametrize("sign", [1, -1])
def test_sums_that_would_wrap_are_refused(sign):
    """Those of reports stay within half of a word."""
    largest = Aggregate(1, np.array([0, sign * (2**62 - 1)]))
    assert (largest + largest).sums.tolist() == [0, sign * (2**63 - 2)]
    with pytest.raises(InvalidValue, match="do not fit 64 bits"):
        largest + largest + largest
