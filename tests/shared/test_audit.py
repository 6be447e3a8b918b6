"""Audits of device parts: what claims too little is refused, however the integers were tampered with."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino_analysis.vectorized.arrays import array_of
from sordino_analysis.vectorized.kernels import kernel_integers, kernel_table
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.audit import check_guarantee, prove_epsilon
from sordino_shared.domains import Categorical, Domain
from sordino_shared.errors import GuaranteeNotMet, MalformedDocument
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import (
    AnyRandomizer,
    Coarsened,
    DenseRows,
    FiniteKernel,
    GridPartition,
    Level,
    LinearLabel,
    RandomizedResponse,
    SeededDirection,
    SubsetSelection,
)

ONE = PureEpsilon.of(1)
SIZE = 5
DOMAIN = Domain((Categorical("c", tuple("abcde")),))


def kernel() -> FiniteKernel:
    table = np.full((4, SIZE), 2**57, dtype=np.uint64)
    table[np.arange(4), np.arange(4)] = 2**58
    return FiniteKernel(60, DenseRows(array_of(table, "<u8")))


def cells() -> Coarsened:
    """Cells of two types, with the largest weight for e."""
    return Coarsened.for_guarantee((SIZE,), [Level(1 << 32, GridPartition((2,)), LinearLabel(2), b"\x01")], ONE)


def coins() -> SeededDirection:
    keep = np.full(SIZE, SeededDirection.largest_keep_weight(ONE), dtype=np.uint64)
    return SeededDirection(60, array_of(np.eye(SIZE), "<i4"), array_of(keep, "<u8"))


def randomizers() -> list[AnyRandomizer]:
    return [
        RandomizedResponse.for_guarantee(SIZE, ONE),
        SubsetSelection.for_guarantee(SIZE, 2, ONE),
        kernel(),
        coins(),
    ]


@pytest.mark.parametrize("randomizer", randomizers(), ids=lambda r: r.kind)
def test_honest_claims_pass_and_smaller_ones_do_not(randomizer: AnyRandomizer) -> None:
    proved = prove_epsilon(randomizer)
    assert proved is not None
    assert check_guarantee(DevicePart(DOMAIN, proved, randomizer)) == proved
    assert check_guarantee(DevicePart(DOMAIN, PureEpsilon.of(16), randomizer)) == proved
    less = PureEpsilon(proved.nano - 1)
    with pytest.raises(GuaranteeNotMet) as raised:
        check_guarantee(DevicePart(DOMAIN, less, randomizer))
    assert (raised.value.claimed, raised.value.proved) == (less.nano, proved.nano)


@given(st.integers(0, 4 * SIZE - 1), st.integers(0, 63))
def test_a_flipped_bit_of_a_table_is_harmless_or_found(entry: int, bit: int) -> None:
    """A flip may lower ε or make probabilities exceed one; whatever passes the audit keeps the claimed ratio."""
    honest = kernel()
    table = kernel_integers(honest.rows).copy()
    table.flat[entry] ^= np.uint64(1 << bit)
    claim = prove_epsilon(honest)
    assert claim is not None
    content = DevicePart(DOMAIN, claim, honest).content
    packed = array_of(kernel_integers(honest.rows), "<u8").data
    tampered = content.replace(packed, array_of(table, "<u8").data)
    assert tampered != content
    try:
        part = DevicePart.read(tampered)
        check_guarantee(part)
    except (MalformedDocument, GuaranteeNotMet):
        return
    assert isinstance(part.randomizer, FiniteKernel)
    rows = [[int(x) for x in row] for row in kernel_table(part.randomizer)]
    assert all(sum(column) == 2**60 for column in zip(*rows, strict=True))
    ratio = np.exp(claim.epsilon)
    assert all(max(row) <= ratio * min(row) * (1 + 1e-12) for row in rows)


@pytest.mark.parametrize(
    "randomizer",
    [
        dataclasses.replace(RandomizedResponse.for_guarantee(SIZE, ONE), other_weight=1),
        dataclasses.replace(RandomizedResponse.for_guarantee(SIZE, ONE), bits=61),
        dataclasses.replace(SubsetSelection.for_guarantee(SIZE, 2, ONE), include_weight=2**60 - 1),
        dataclasses.replace(SubsetSelection.for_guarantee(SIZE, 2, ONE), subset_size=1),
        dataclasses.replace(coins(), keep_weights=array_of(np.array([2**59] * 4 + [1], dtype=np.uint64), "<u8")),
        dataclasses.replace(coins(), bits=62),
        dataclasses.replace(cells(), high=cells().high + 1),
    ],
    ids=[
        "no noise",
        "rescaled",
        "always included",
        "smaller subsets",
        "a coin reversed",
        "coins rescaled",
        "a weight of cells one above the largest",
    ],
)
def test_tampered_laws_are_refused(randomizer: AnyRandomizer) -> None:
    with pytest.raises(GuaranteeNotMet):
        check_guarantee(DevicePart(DOMAIN, ONE, randomizer))


def test_cells_with_the_largest_weight_pass() -> None:
    check_guarantee(DevicePart(DOMAIN, ONE, cells()))


def test_no_finite_epsilon_is_named_as_such() -> None:
    table = np.full((1, SIZE), 2**60, dtype=np.uint64)
    table[0, 0] -= np.uint64(1)
    with pytest.raises(GuaranteeNotMet, match="no finite ε") as raised:
        check_guarantee(DevicePart(DOMAIN, ONE, FiniteKernel(60, DenseRows(array_of(table, "<u8")))))
    assert raised.value.proved is None


def test_parts_of_every_randomizer_read_back_equal_and_hash_alike() -> None:
    parts = [DevicePart(DOMAIN, ONE, randomizer) for randomizer in randomizers()]
    for part in parts:
        copy = pickle.loads(pickle.dumps(part))
        assert copy.randomizer.randomize(0, SeededRandomness(1)) == part.randomizer.randomize(0, SeededRandomness(1))
        assert DevicePart.read(part.content, part.digest) == part
        assert hash(DevicePart.read(part.content)) == hash(part)
    assert len(set(parts)) == len({part.digest for part in parts}) == len(parts)
