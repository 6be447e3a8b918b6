"""A device's randomizers and the vectorized ones are one law: the same bytes, the same payloads, the same decisions.

The laws themselves are tested for both: of what a device sends by `tests/client/test_output_law.py`, of many draws by
`tests/analysis/evaluation/test_every_randomizer.py`.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import sordino_shared.arrays
from sordino_analysis.vectorized.arrays import array_of, ndarray
from sordino_analysis.vectorized.directions import directions
from sordino_analysis.vectorized.domains import codes_many, encode_many
from sordino_analysis.vectorized.kernels import kernel_integers, kernel_table, two_level_rows
from sordino_analysis.vectorized.payloads import pack_indices
from sordino_analysis.vectorized.randomizers import in_alphabet, randomize_codes, randomize_many
from sordino_shared.domains import Categorical, Domain, Integers, Ordinal
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import (
    Coarsened,
    DenseRows,
    FieldLabel,
    FiniteKernel,
    GridPartition,
    Level,
    LinearLabel,
    SubsetMixture,
    SubsetPartition,
    SubsetSelection,
    direction,
)
from sordino_shared.randomizers import directions as pure_directions
from sordino_shared.randomizers.base import cell_codes
from sordino_shared.randomizers.coarsened.labels import ResidueLabel
from sordino_shared.randomizers.finite_kernel import KernelRows
from sordino_shared.randomness import Randomness, ShakeRandomness
from tests.randomizers import Sample, every_sample

DRAWS = 25
KERNELS = 1500
# A device draws a set by Floyd's algorithm, many are drawn by keys.
SUBSETS = (SubsetSelection, SubsetMixture)
THREE = PureEpsilon.of(3)
WHOLE = 1 << 32


class Extreme(ShakeRandomness):
    """Every other word is of ones: numbers below a bound are often drawn again."""

    def bytes(self, count: int) -> bytes:
        drawn = super().bytes(count)
        return b"\xff" * count if self._drawn % 2 else drawn


@pytest.mark.parametrize("stream", [ShakeRandomness, Extreme])
@pytest.mark.parametrize("sample", every_sample())
def test_the_same_bytes_give_the_same_payload(sample: Sample, stream: Callable[[int], Randomness]) -> None:
    randomizer = sample.randomizer
    for cell in range(randomizer.size):
        for seed in range(DRAWS):
            one = randomizer.randomize(cell, stream(seed))
            if not isinstance(randomizer, SUBSETS):
                many = randomize_many(randomizer, np.array([cell]), stream(seed))
                assert one == many.tobytes()
            elif stream is Extreme:
                break
            assert in_alphabet(randomizer, np.frombuffer(one, dtype=np.uint8)[None]).all()


def large() -> Iterator[Any]:
    """Domains that have no cell numbers, all kinds of labels, offsets that fill a word."""
    sizes, hashed = (1 << 24,), (1 << 64,)
    grid = Level(WHOLE, GridPartition((1 << 23,)), LinearLabel(3), b"\x05")
    yield sizes, Coarsened.for_guarantee(sizes, (Level(WHOLE, GridPartition((1,)), LinearLabel(16), b"\x05"),), THREE)
    yield sizes, Coarsened.for_guarantee(sizes, (grid,), THREE)
    yield hashed, Coarsened.for_guarantee(hashed, (Level(WHOLE, GridPartition((1,)), FieldLabel(16), b"\x03"),), THREE)
    flags = (2,) * 200 + (5, 7)
    places = Level(WHOLE, SubsetPartition((2, 5, 2, 7)), ResidueLabel((2, 5, 2, 7)), b"\x06\x80\x01")
    yield flags, Coarsened.for_guarantee(flags, (places,), THREE)


@pytest.mark.parametrize(("shape", "randomizer"), list(large()))
def test_large_domains_too(shape: tuple[int, ...], randomizer: Coarsened) -> None:
    rng = np.random.default_rng(1)
    for seed in range(DRAWS):
        codes = [int(rng.integers(size, dtype=np.uint64)) if size < 1 << 64 else 2**64 - 1 - seed for size in shape]
        one = randomizer.randomize_codes(codes, shape, ShakeRandomness(seed))
        many = randomize_codes(randomizer, np.array([codes], dtype=np.uint64), shape, ShakeRandomness(seed))
        assert one == many.tobytes()


def test_directions_are_the_same() -> None:
    for seed, dimension in ((bytes(16), 1), (bytes(range(16)), 7), (b"\xff" * 16, 4096)):
        many = directions(np.frombuffer(seed, dtype=np.uint8)[None], dimension)
        assert list(direction(seed, dimension)) == many[0].tolist()


def test_values_have_the_same_codes() -> None:
    domain = Domain((Categorical("a", ("x", "y"), True, True), Ordinal("b", (1.0, 2.0)), Integers("c", -3, 3)))
    numbers = {"b": np.float32(1.5), "c": np.int64(2)}
    values = [("x", 1.5, 0), ("z", "2", 9), (None, None, None), numbers, 4, ("y", True, 0.5)]
    assert codes_many(domain, values).tolist() == [domain.codes(value) for value in values]
    cells = encode_many(domain, values).tolist()
    assert cells == [domain.encode(value) for value in values]
    assert [cell_codes(cell, domain.shape) for cell in cells] == codes_many(domain, values).tolist()


# What is proved of a kernel, computed with numpy and with Python's integers.


def numpy_proof(rows: KernelRows, bits: int) -> object:
    """(largest ratio or None, outputs), or the text of the refusal: every entry is looked at."""
    entries = kernel_integers(rows)
    if int(entries.max()) > 1 << bits:
        return "a kernel entry is above 2^bits: a probability above one"
    halves = [(entries >> np.uint64(32)).sum(axis=0, dtype=np.uint64), (entries & np.uint64(2**32 - 1)).sum(axis=0)]
    sums = [(int(high) << 32) + int(low) for high, low in zip(*halves, strict=True)]
    if max(sums) > 1 << bits:
        return "a kernel column sums to more than 2^bits: probabilities above one"
    null = [(1 << bits) - each for each in sums]
    levels = [*zip(entries.max(axis=1).tolist(), entries.min(axis=1).tolist(), strict=True)]
    if any(null):
        levels.append((max(null), min(null)))
    numerator, denominator = 1, 1
    for high, low in levels:
        if low == 0 and high > 0:
            return None, len(levels)
        if high * denominator > numerator * low:
            numerator, denominator = high, low
    return (numerator, denominator), len(levels)


def pure_proof(rows: KernelRows, bits: int) -> object:
    """The same of the device's reader."""
    try:
        kernel = FiniteKernel(bits, rows)
    except InvalidValue as error:
        return str(error)
    return kernel.likelihood_ratio(), kernel.outputs


def random_rows(rng: np.random.Generator) -> tuple[KernelRows, int]:
    """Kernels of both forms: null outputs, zero levels, low above high, full and empty sets, sums too large."""
    rows, types = int(rng.integers(1, 9)), int(rng.integers(2, 20))
    bits = int(rng.choice([16, 31, 32, 33, 60, 62]))
    share = (1 << bits) // rows
    low = rng.integers(max(1, share // 4), share // 2 + 1, rows, dtype=np.uint64)
    high = rng.integers(max(1, share // 4), share + 1, rows, dtype=np.uint64)
    if rng.random() < 0.2:
        low[rng.integers(rows)] = 0
    if rng.random() < 0.2:
        high[rng.integers(rows)] = 0
    if rng.random() < 0.1:
        high[rng.integers(rows)] = rng.choice(np.array([2**64 - 1, (1 << bits) + 1, 1 << bits], dtype=np.uint64))
    members = rng.random((rows, types)) < 0.5
    members[rng.integers(rows)] = rng.random() < 0.5
    if rng.random() < 0.5:
        return two_level_rows(low, high, members), bits
    return DenseRows(array_of(np.where(members, high[:, None], low[:, None]), "<u8")), bits


def test_no_decision_ratio_or_size_of_a_kernel_differs() -> None:
    """Kernels that are sound, and some of every kind that is not."""
    rng = np.random.default_rng(5)
    seen: dict[str, int] = {}
    for _ in range(KERNELS):
        rows, bits = random_rows(rng)
        ours, theirs = pure_proof(rows, bits), numpy_proof(rows, bits)
        assert ours == theirs
        kind = ours if isinstance(ours, str) else "infinite" if ours[0] is None else "proved"  # type: ignore[index]
        seen[kind] = seen.get(kind, 0) + 1
    assert len(seen) == 4
    assert min(seen.values()) >= 20
    assert seen["proved"] >= 200


def test_flipped_bits_of_a_table_are_judged_alike() -> None:
    rng = np.random.default_rng(6)
    columns = rng.integers(1 << 55, 1 << 56, (12, 9), dtype=np.uint64)
    for _ in range(500):
        table = columns.copy()
        table.flat[rng.integers(table.size)] ^= np.uint64(1) << np.uint64(rng.integers(64))
        rows = DenseRows(array_of(table, "<u8"))
        assert pure_proof(rows, 60) == numpy_proof(rows, 60)


def test_the_two_forms_of_a_kernel_prove_the_same_at_full_size() -> None:
    """1,024 rows over 1,000 types: sums reach 2^60, and many columns share every plane."""
    rng = np.random.default_rng(7)
    low = rng.integers(1 << 48, 1 << 49, 1024, dtype=np.uint64)
    rows = two_level_rows(low, 2 * low + np.uint64(1), rng.random((1024, 1000)) < 0.3)
    dense = DenseRows(array_of(kernel_integers(rows), "<u8"))
    assert pure_proof(rows, 60) == pure_proof(dense, 60) == numpy_proof(rows, 60)
    assert rows.sum_range() == dense.sum_range()
    for cell in (0, 7, 999):
        assert list(rows.column(cell)) == list(dense.column(cell)) == kernel_integers(rows)[:, cell].tolist()
    assert (kernel_table(FiniteKernel(60, rows)).sum(axis=0) == 1 << 60).all()


def test_every_output_of_a_kernel_is_drawn_where_its_steps_say() -> None:
    """Of sixteen bits every word is tried at its borders, the first and the last one of each output."""
    table = np.array([[0, 9], [5, 0], [65530, 65000]], dtype=np.uint64)
    kernel = FiniteKernel(16, DenseRows(array_of(table, "<u8")))
    assert kernel.outputs == 4
    for cell in range(2):
        steps = np.cumsum(kernel_table(kernel)[:, cell]).tolist()
        for word in sorted({max(step + off, 0) for step in steps for off in (-1, 0)} - {1 << 16}):
            drawn = kernel.randomize(cell, Word(word << 48))
            assert drawn == pack_indices(np.searchsorted(steps, [word], side="right"), 1).tobytes()


class Word(Randomness):
    """One word, little-endian."""

    def __init__(self, word: int) -> None:
        self._word = word

    def bytes(self, count: int) -> bytes:
        return self._word.to_bytes(count, "little")


@pytest.fixture
def big_endian(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine that keeps the most significant byte of a number first."""

    def read_there(letter: str, data: Any) -> array[Any]:
        found = array(letter, data)
        # Numbers come as numbers; bytes are read in the other order.
        if isinstance(data, bytes):
            found.byteswap()
        return found

    pure_directions._atoms.cache_clear()
    monkeypatch.setattr(sys, "byteorder", "big")
    monkeypatch.setattr(sordino_shared.arrays, "array", read_there)
    yield
    pure_directions._atoms.cache_clear()


@pytest.mark.parametrize("sample", every_sample())
def test_a_machine_of_the_other_byte_order_draws_and_proves_the_same(
    sample: Sample, request: pytest.FixtureRequest
) -> None:
    def drawn() -> list[object]:
        randomizer = type(sample.part).read(sample.part.content).randomizer
        cells = range(randomizer.size)
        return [randomizer.likelihood_ratio(), *(randomizer.randomize(cell, ShakeRandomness(cell)) for cell in cells)]

    here = drawn()
    request.getfixturevalue("big_endian")
    assert drawn() == here


def test_a_machine_of_the_other_byte_order_has_the_same_directions_and_numbers(
    request: pytest.FixtureRequest,
) -> None:
    packed = [array_of(np.array([1, 2, -3]), "<i4"), array_of(np.array([0.5, -2.25]), "<f8")]
    here = [list(direction(bytes(16), 50)), *(list(each.numbers()) for each in packed)]
    request.getfixturevalue("big_endian")
    assert [list(direction(bytes(16), 50)), *(list(each.numbers()) for each in packed)] == here
    assert here[1:] == [ndarray(each).tolist() for each in packed]
