"""Orbit kernels against their enumerated law. Chi-square thresholds have a false alarm of one in a million."""

from __future__ import annotations

import dataclasses
from collections import Counter
from fractions import Fraction
from itertools import permutations, product
from math import prod

import numpy as np
import pytest
from scipy.stats import chi2

from sordino_shared.arrays import Array
from sordino_shared.audit import prove_epsilon
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import epsilon_of_ratio
from sordino_shared.protocol.schema import from_plain, to_plain
from sordino_shared.randomizers import AnyRandomizer, BaseRow, OrbitKernel
from sordino_shared.randomness import SeededRandomness

ONE = BaseRow.of(np.array([True, False]))
PAIR = BaseRow.of(np.array([[True, False, False], [False, True, True]]))
KERNEL = OrbitKernel((2, 3, 2), 2, False, 60, 3 << 40, 5 << 40, (1 << 58, 3 << 58), (ONE, PAIR))
DRAWS = 200_000


def law(kernel: OrbitKernel, cell: int) -> dict[bytes, Fraction]:
    """Probability of every payload, from the words of the protocol."""
    value = np.unravel_index(cell, kernel.shape)
    shares: dict[bytes, Fraction] = {}
    for number, (row, weight) in enumerate(zip(kernel.rows, kernel.row_weights, strict=True)):
        fitting = [
            places
            for places in permutations(range(len(kernel.shape)), len(row.shape))
            if [kernel.shape[a] for a in places] == list(row.shape)
        ]
        mass = sum(kernel.high if inside else kernel.low for inside in row.inside)
        for places in fitting:
            for z, inside in zip(product(*map(range, row.shape)), row.inside, strict=True):
                shift = [int(value[a] - drawn) % c for a, drawn, c in zip(places, z, row.shape, strict=True)]
                index = int(np.ravel_multi_index(shift, row.shape))
                unused = [255] * (kernel.slots - len(places))
                payload = bytes([number, *places, *unused]) + index.to_bytes(2, "little")
                level = Fraction(kernel.high if inside else kernel.low, mass)
                shares[payload] = Fraction(weight, 1 << kernel.bits) / len(fitting) * level
    return shares


@pytest.mark.parametrize("cell", [0, 7])
def test_samples_follow_the_integers_and_not_a_law_a_tenth_off(cell: int) -> None:
    expected = law(KERNEL, cell)
    assert sum(expected.values()) == 1
    counts = Counter(map(bytes, KERNEL.randomize_many(np.full(DRAWS, cell), SeededRandomness(5))))
    assert set(counts) <= set(expected)

    def distance(shares: dict[bytes, float]) -> float:
        return sum((counts[y] - DRAWS * p) ** 2 / (DRAWS * p) for y, p in shares.items())

    threshold = chi2.isf(1e-6, len(expected) - 1)
    exact = {payload: float(share) for payload, share in expected.items()}
    assert distance(exact) < threshold
    top = max(exact, key=lambda payload: exact[payload])
    rest = (1 - 0.9 * exact[top]) / (1 - exact[top])
    assert distance({y: p * (0.9 if y == top else rest) for y, p in exact.items()}) > threshold


def test_epsilon_is_that_of_the_enumerated_law() -> None:
    laws = [law(KERNEL, cell) for cell in range(KERNEL.size)]
    assert all(set(found) == set(laws[0]) for found in laws)
    worst = max(a[y] / b[y] for a in laws for b in laws for y in a)
    assert worst == Fraction(*KERNEL.likelihood_ratio()) == Fraction(5, 3)
    assert prove_epsilon(KERNEL) == epsilon_of_ratio(5, 3)


def test_the_alphabet_is_what_some_value_can_produce() -> None:
    possible = set(law(KERNEL, 0))
    heads = product(range(4), [0, 1, 2, 3, 255], [0, 1, 2, 3, 255], range(8), [0, 1])
    payloads = np.array(list(heads), dtype=np.uint8)
    allowed = {bytes(payload) for payload in payloads[KERNEL.in_alphabet(payloads)]}
    assert allowed == possible


def test_the_statistic_has_a_count_and_the_characters_for_each_row() -> None:
    frequencies = product(*map(range, KERNEL.shape))
    narrow = [r for r in frequencies if sum(map(bool, r)) <= KERNEL.width]
    assert KERNEL.accumulator_size == len(KERNEL.rows) * len(narrow)
    assert KERNEL.size == prod(KERNEL.shape)


def test_with_overlaps_it_has_the_characters_of_every_set_of_attributes() -> None:
    told = dataclasses.replace(KERNEL, shape=(2, 3, 1, 2), overlaps=True)
    assert told.accumulator_size == len(KERNEL.rows) * (1 + (2 + 3 + 2) + (2 * 3 + 2 * 2 + 3 * 2))


def test_mixed_values_are_randomised_each_by_its_own_law() -> None:
    cells = np.arange(60_000) % KERNEL.size
    payloads = KERNEL.randomize_many(cells, SeededRandomness(6))
    for cell in range(KERNEL.size):
        expected = law(KERNEL, cell)
        counts = Counter(map(bytes, payloads[cells == cell]))
        n = sum(counts.values())
        found = sum((counts[y] - n * float(p)) ** 2 / (n * float(p)) for y, p in expected.items())
        assert found < chi2.isf(1e-6, len(expected) - 1)


def test_it_travels() -> None:
    assert from_plain(AnyRandomizer, to_plain(KERNEL)) == KERNEL
    assert KERNEL.payload_bytes == 5
    assert len(KERNEL.randomize(3, SeededRandomness(1))) == 5


def changed(**fields: object) -> dict[str, object]:
    return {field.name: getattr(KERNEL, field.name) for field in dataclasses.fields(KERNEL)} | fields


@pytest.mark.parametrize(
    "fields",
    [
        changed(shape=()),
        changed(shape=(2, 3, 0)),
        changed(shape=(2, 3, 3)) | {"rows": (BaseRow.of(np.eye(2, dtype=bool)),) * 2},
        changed(shape=(1 << 11, 1 << 11, 2, 3)),
        changed(shape=(2,) * 63),
        changed(width=0),
        changed(width=4),
        changed(low=0),
        changed(high=2 << 40),
        changed(high=1 << 61),
        changed(low=1 << 60, high=1 << 60),
        changed(row_weights=(1 << 58, 1 << 58)),
        changed(row_weights=(1 << 60,)),
        changed(row_weights=(0, 1 << 60)),
        changed(rows=(), row_weights=()),
        changed(shape=(1 << 10, 3, 2, 1 << 7), width=4),
    ],
)
def test_what_is_no_law_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(InvalidValue):
        OrbitKernel(**fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("shape", "members"),
    [((2, 2), [0]), ((2, 2), [15]), ((2, 2), [16]), ((4,), [1, 0]), ((), [1]), ((1, 4), [1]), ((2,) * 13, [1] * 1024)],
)
def test_rows_that_are_no_sets_are_refused(shape: tuple[int, ...], members: list[int]) -> None:
    with pytest.raises(InvalidValue):
        BaseRow(shape, Array.of(np.array(members), "|u1"))
