"""The whole law of a small randomizer: every payload that a value can give, with its exact chance.

The listing follows docs/protocol.md, one function for each randomizer, in integers and fractions. A seeded direction
has 2^128 seeds and is not listed: given a seed, `bit_law` has the chances of its two bits.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache, singledispatch
from importlib import resources
from itertools import combinations, product

from sordino_analysis.conformance.coarsened import level_count, level_law
from sordino_analysis.conformance.dithering import types_of
from sordino_analysis.vectorized.arrays import ndarray
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import (
    BaseRow,
    Coarsened,
    DenseRows,
    Dithered,
    FiniteKernel,
    OrbitKernel,
    Pair,
    RandomizedResponse,
    Randomizer,
    SeededDirection,
    SubsetMixture,
    SubsetSelection,
    TwoLevelRows,
)

Law = Iterator[tuple[bytes, Fraction]]
# What the page of the wire writes into slots without a member.
UNUSED_SLOT = 255
# Fifteen bits of an atom, as the page of the wire has it.
MOST_ATOM = (1 << 15) - 1


@singledispatch
def payload_count(randomizer: Randomizer) -> int | None:
    """How many payloads the values have together; None where a seed of 128 bits makes listing them hopeless."""
    return None


@singledispatch
def payload_law(randomizer: Randomizer, cell: int) -> Law:
    """(payload, chance) for every payload of the alphabet; the chances sum to 1.

    Raises `InvalidValue` for a randomizer whose payloads begin with a seed.
    """
    raise InvalidValue(f"the payloads of {randomizer} hold a seed of 128 bits: they cannot be listed", randomizer)


@payload_count.register
def _response_count(randomizer: RandomizedResponse) -> int:
    return randomizer.size


@payload_law.register
def _response_law(randomizer: RandomizedResponse, cell: int) -> Law:
    other = Fraction(randomizer.other_weight, 1 << randomizer.bits)
    for index in range(randomizer.size):
        chance = 1 - (randomizer.size - 1) * other if index == cell else other
        yield index_payload(index, randomizer.size), chance


@payload_count.register
def _selection_count(randomizer: SubsetSelection) -> int:
    return math.comb(randomizer.size, randomizer.subset_size)


@payload_law.register
def _selection_law(randomizer: SubsetSelection, cell: int) -> Law:
    include = Fraction(randomizer.include_weight, 1 << randomizer.bits)
    yield from _subset_law(randomizer.size, randomizer.subset_size, include, cell)


@payload_count.register
def _mixture_count(randomizer: SubsetMixture) -> int:
    return sum(math.comb(randomizer.size, chosen) for chosen in randomizer.subset_sizes)


@payload_law.register
def _mixture_law(randomizer: SubsetMixture, cell: int) -> Law:
    whole = 1 << randomizer.bits
    sizes = zip(randomizer.subset_sizes, randomizer.size_weights, randomizer.include_weights, strict=True)
    for chosen, weight, include in sizes:
        for payload, chance in _subset_law(randomizer.size, chosen, Fraction(include, whole), cell):
            yield payload, Fraction(weight, whole) * chance


def _subset_law(size: int, chosen: int, include: Fraction, cell: int) -> Law:
    inside = include / math.comb(size - 1, chosen - 1)
    outside = (1 - include) / math.comb(size - 1, chosen)
    for subset in combinations(range(size), chosen):
        bitmap = sum(1 << member for member in subset)
        yield bitmap.to_bytes((size + 7) // 8, "little"), inside if cell in subset else outside


@payload_count.register
def _kernel_count(randomizer: FiniteKernel) -> int:
    return randomizer.rows.shape[0] + 1


@payload_law.register
def _kernel_law(randomizer: FiniteKernel, cell: int) -> Law:
    weights = kernel_weights(randomizer, cell)
    for output, weight in enumerate(weights):
        yield index_payload(output, len(weights)), Fraction(weight, 1 << randomizer.bits)


def kernel_weights(randomizer: FiniteKernel, cell: int) -> list[int]:
    """The integers K(·|x)·2^bits of a value x, the null output last where some value leaves anything to it."""
    weights = _column(randomizer.rows, cell)
    return [*weights, (1 << randomizer.bits) - sum(weights)] if _leaves_something(randomizer) else weights


@cache
def _leaves_something(randomizer: FiniteKernel) -> bool:
    return any(sum(_column(randomizer.rows, cell)) < 1 << randomizer.bits for cell in range(randomizer.size))


@singledispatch
def _column(rows: DenseRows | TwoLevelRows, cell: int) -> list[int]:
    """The integers of one value, row by row."""
    raise InvalidValue(f"a table of {type(rows).__name__} is not known", rows)


@_column.register
def _dense_column(rows: DenseRows, cell: int) -> list[int]:
    return [int(row) for row in ndarray(rows.table)[:, cell]]


@_column.register
def _two_level_column(rows: TwoLevelRows, cell: int) -> list[int]:
    bits = ndarray(rows.members)[:, cell // 8].tolist()
    levels = zip(ndarray(rows.low).tolist(), ndarray(rows.high).tolist(), bits, strict=True)
    return [high if byte >> cell % 8 & 1 else low for low, high, byte in levels]


@payload_count.register
def _orbit_count(randomizer: OrbitKernel) -> int:
    return sum(arrangement_count(randomizer, row) * math.prod(row.shape) for row in randomizer.rows)


def arrangement_count(randomizer: OrbitKernel, row: BaseRow) -> int:
    """How many ways there are to give each slot an attribute of its own of the slot's size."""
    taken = slot_places(randomizer, row)
    free = taken if randomizer.pinned is None else taken[1:]
    kinds = {tuple(places) for places in free}
    return math.prod(math.perm(len(places), free.count(list(places))) for places in kinds)


def slot_places(randomizer: OrbitKernel, row: BaseRow) -> list[list[int]]:
    """The attributes that each slot of a row may take: the pinned one in the first, those of its size in any other."""
    pinned = randomizer.pinned
    places = [[at for at, size in enumerate(randomizer.shape) if size == slot and at != pinned] for slot in row.shape]
    return places if pinned is None else [[pinned], *places[1:]]


@payload_law.register
def _orbit_law(randomizer: OrbitKernel, cell: int) -> Law:
    values, width = digits(cell, randomizer.shape), max(len(row.shape) for row in randomizer.rows)
    for number, (row_weight, row) in enumerate(zip(randomizer.row_weights, randomizer.rows, strict=True)):
        weights = [
            randomizer.high if row.members.data[z // 8] >> z % 8 & 1 else randomizer.low
            for z in range(math.prod(row.shape))
        ]
        row_chance = Fraction(row_weight, 1 << randomizer.bits) / arrangement_count(randomizer, row)
        for attributes in product(*slot_places(randomizer, row)):
            if len(set(attributes)) < len(attributes):
                continue
            head = bytes((number, *attributes)).ljust(1 + width, bytes([UNUSED_SLOT]))
            for z, weight in enumerate(weights):
                drawn = zip(attributes, digits(z, row.shape), row.shape, strict=True)
                shift = number_of([(values[at] - digit) % size for at, digit, size in drawn], row.shape)
                yield head + shift.to_bytes(2, "little"), row_chance * Fraction(weight, sum(weights))


@payload_count.register
def _pair_count(randomizer: Pair) -> int | None:
    first, second = payload_count(randomizer.first), payload_count(randomizer.second)
    return None if first is None or second is None else first * second


@payload_law.register
def _pair_law(randomizer: Pair, cell: int) -> Law:
    second = list(payload_law(randomizer.second, cell))
    for head, chance in payload_law(randomizer.first, cell):
        for tail, other in second:
            yield head + tail, chance * other


@payload_count.register
def _coarsened_count(randomizer: Coarsened) -> int:
    return sum(level_count(randomizer, level) for level in randomizer.levels)


@payload_law.register
def _coarsened_law(randomizer: Coarsened, cell: int) -> Law:
    values = digits(cell, randomizer.sizes)
    for number in range(len(randomizer.levels)):
        yield from level_law(randomizer, number, values)


@payload_count.register
def _dithered_count(randomizer: Dithered) -> int | None:
    return payload_count(randomizer.inner)


@payload_law.register
def _dithered_law(randomizer: Dithered, cell: int) -> Law:
    """Of one attribute, whose size the inner randomizer tells."""
    types = types_of(randomizer, (cell,), (randomizer.size,))
    laws = [(chance, dict(payload_law(randomizer.inner, number))) for number, chance in types]
    for payload in dict.fromkeys(payload for _, law in laws for payload in law):
        yield payload, sum((chance * law.get(payload, 0) for chance, law in laws), Fraction(0))


def bit_law(randomizer: SeededDirection, cell: int, seed: bytes) -> tuple[int, int, int]:
    """(s, weight of bit 0, weight of bit 1) over 2^bits for a seed: s is the side of the value's vector."""
    vector = ndarray(randomizer.vectors)[cell].tolist()
    side = int(sum(map(int.__mul__, direction(seed, len(vector)), vector)) >= 0)
    keep = int(ndarray(randomizer.keep_weights)[cell])
    weights = [(1 << randomizer.bits) - keep, keep]
    return side, weights[1 - side], weights[side]


def direction(seed: bytes, dimension: int) -> list[int]:
    """The public integer direction of a 16-byte seed, one word at a time."""
    stretched = hashlib.shake_128(b"sordino/v1/direction" + seed).digest(2 * dimension)
    words = [int.from_bytes(stretched[2 * i : 2 * i + 2], "little") for i in range(dimension)]
    return [-_atom(word & 0x7FFF) if word & 0x8000 else _atom(word) for word in words]


def _atom(index: int) -> int:
    return int.from_bytes(_atoms()[2 * index : 2 * index + 2], "little", signed=True)


@cache
def likeliest_atom() -> float:
    """The chance of the likeliest coordinate of a direction: a word has 15 bits of an atom and a sign."""
    counted = Counter(_atom(index) for index in range(1 << 15))
    # With either sign 0 is one number.
    return max(times * (1 if atom else 2) for atom, times in counted.items()) / (1 << 16)


@cache
def _atoms() -> bytes:
    return resources.files("sordino_shared.randomizers").joinpath("normal_atoms.bin").read_bytes()


def index_payload(index: int, outputs: int) -> bytes:
    """Little-endian: 1 byte for up to 2^8 outputs, 2 for up to 2^16, else 4."""
    return index.to_bytes(1 if outputs <= 1 << 8 else 2 if outputs <= 1 << 16 else 4, "little")


def digits(cell: int, sizes: Sequence[int]) -> list[int]:
    """A cell's member of each attribute, the last attribute varying fastest."""
    found = []
    for size in reversed(sizes):
        cell, digit = divmod(cell, size)
        found.append(digit)
    return found[::-1]


def number_of(members: Sequence[int], sizes: Sequence[int]) -> int:
    """The cell of one member of each attribute: the inverse of `digits`."""
    cell = 0
    for member, size in zip(members, sizes, strict=True):
        cell = cell * size + member
    return cell
