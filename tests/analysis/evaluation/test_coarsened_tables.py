"""Tables of coarsened reports: transforms give what counting report by report gives, exactly and in little memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.linalg import hadamard

from sordino_analysis.conformance.coarsened import CoarsenedReport
from sordino_analysis.conformance.enumeration import digits
from sordino_analysis.evaluation.accumulate import accumulate
from sordino_analysis.evaluation.coarsened import label_rows, membership, membership_counts, transform
from sordino_analysis.evaluation.coarsened.tables import is_walsh, looked_at, reports_holding, split_sums
from sordino_analysis.vectorized.coarsened.reports import unpack_coarsened
from sordino_analysis.vectorized.randomizers import randomize_codes, randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import (
    Coarsened,
    FieldLabel,
    GridPartition,
    Level,
    LinearLabel,
    ResidueLabel,
    SubsetPartition,
)

ONE = PureEpsilon.of(1)
QUARTER = 1 << 30


def mixed() -> Coarsened:
    """Walsh tables over two attributes or one, shifted grids, and a comb on two axes."""
    levels = (
        Level(QUARTER, GridPartition((1, 1)), LinearLabel(3), b"\x07"),
        Level(QUARTER, GridPartition((0, 1)), FieldLabel(2), b"\x06"),
        Level(QUARTER, GridPartition((4, 3)), LinearLabel(2), b"\x01"),
        Level(QUARTER, GridPartition((2, 1)), ResidueLabel((2, 3)), b"\x21"),
    )
    return Coarsened.for_guarantee((5, 7), levels, ONE)


def drawn(randomizer: Coarsened, count: int, seed: int = 1) -> np.ndarray:
    return randomize_many(randomizer, np.arange(count) % min(randomizer.size, 1000), SeededRandomness(seed))


@pytest.mark.parametrize("bits", range(14))
def test_the_transform_is_the_product_with_the_hadamard_matrix(bits: int) -> None:
    values = np.random.default_rng(bits).integers(-1000, 1000, 1 << bits)
    wanted = hadamard(1 << min(bits, 11))
    left = 1 << max(0, bits - 11)
    expected = hadamard(left) @ (values.reshape(left, -1) @ wanted)
    transform(values)
    assert (values == expected.ravel()).all()


def test_the_transform_copies_a_block_and_not_the_table() -> None:
    table = np.arange(1 << 20)
    tracemalloc.start()
    transform(table)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 << 20 < table.nbytes


def test_tables_hold_what_every_report_holds_by_the_page() -> None:
    """The conformance listing takes the payloads apart bit by bit; sums of shares merge to the same integers."""
    randomizer = mixed()
    payloads = drawn(randomizer, 400)
    expected = [np.zeros((0,), dtype=np.int64)] * len(randomizer.levels)
    for number, level in enumerate(randomizer.levels):
        points = looked_at(level.partition, randomizer.sizes)
        members, counts = int.from_bytes(level.members, "little"), np.zeros(len(points), dtype=np.int64)
        for row in payloads[(payloads[:, 0] & 3) == number]:
            shifts = [CoarsenedReport.read(randomizer, point, bytes(row)).shift for point in points.tolist()]
            counts += [members >> shift & 1 for shift in shifts]
        expected[number] = counts
    sums = accumulate(randomizer, payloads)
    assert (sums == accumulate(randomizer, payloads[:150]) + accumulate(randomizer, payloads[150:])).all()
    for number, (count, table) in enumerate(split_sums(randomizer, sums)):
        level = randomizer.levels[number]
        assert count == np.count_nonzero((payloads[:, 0] & 3) == number)
        assert (reports_holding(level, randomizer.sizes, table).ravel() == expected[number]).all()
        assert is_walsh(level) == (number < 2)


@pytest.mark.parametrize("label", [LinearLabel(1), LinearLabel(4), FieldLabel(5)], ids=repr)
def test_a_transform_counts_what_membership_counts(label) -> None:
    """Three thousand values and 2^12 cells; members without any symmetry."""
    members = {1: b"\x02", 4: b"\x35\x01", 5: b"\x6b\x00\x02"}[label.label_bits]
    level = Level(1 << 32, GridPartition((1,)), label, members)
    randomizer = Coarsened.for_guarantee((3000,), (level,), ONE)
    payloads = drawn(randomizer, 5000)
    ((count, table),) = split_sums(randomizer, accumulate(randomizer, payloads))
    counts = reports_holding(level, (3000,), table)
    ((_, reports),) = unpack_coarsened(randomizer, payloads)
    points = looked_at(level.partition, (3000,))
    assert count == 5000
    assert (counts == membership_counts(level, (3000,), reports, points)).all()
    one = membership(level, (3000,), reports, points[17:18])
    assert one.shape == (5000, 1)
    assert one.sum() == counts[17]


def test_places_of_random_attributes_hold_what_the_page_says() -> None:
    level = Level(1 << 32, SubsetPartition((3, 2)), ResidueLabel((3, 2)), b"\x15")
    randomizer = Coarsened.for_guarantee((2, 3, 2, 3), (level,), ONE)
    payloads = drawn(randomizer, 300)
    points = np.array([digits(cell, randomizer.sizes) for cell in range(randomizer.size)], dtype=np.uint64)
    ((_, reports),) = unpack_coarsened(randomizer, payloads)
    inside = membership(level, randomizer.sizes, reports, points)
    for row, found in zip(payloads[:60], inside, strict=False):
        shifts = [CoarsenedReport.read(randomizer, point, bytes(row)).shift for point in points.tolist()]
        assert found.tolist() == [bool(0x15 >> shift & 1) for shift in shifts]
    assert [len(table) for _, table in split_sums(randomizer, accumulate(randomizer, payloads))] == [0]


def test_residues_have_no_matrix_and_tables_above_their_limit_are_left_out() -> None:
    randomizer = mixed()
    (*_, (number, reports)) = unpack_coarsened(randomizer, drawn(randomizer, 100))
    with pytest.raises(InvalidValue, match="no linear labels"):
        label_rows(randomizer.levels[number], randomizer.sizes, reports)
    hashed = Coarsened.for_guarantee((1 << 64,), (Level(1 << 32, GridPartition((1,)), LinearLabel(1), b"\x01"),), ONE)
    assert hashed.table_sizes == (0,)
    assert hashed.accumulator_size == 1
    codes = np.array([[1 << 63]], dtype=np.uint64)
    assert accumulate(hashed, randomize_codes(hashed, codes, (1 << 64,), SeededRandomness(1))).tolist() == [1]
