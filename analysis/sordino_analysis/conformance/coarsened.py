"""The whole law of a small coarsened randomizer, as docs/protocol.md has it, in integers and fractions.

Nothing here calls the randomizer: labels, fields and differences are worked out one bit at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import singledispatch
from itertools import permutations, product

from sordino_shared.randomizers import (
    Coarsened,
    FieldLabel,
    GridPartition,
    Level,
    LinearLabel,
    ResidueLabel,
    SubsetPartition,
)

Field = tuple[int, int]
# For r from 1 to 64 the least integer whose bits are an irreducible polynomial over F₂ of degree r, less 2^r.
LOW_PARTS = bytes.fromhex(
    "010303030503031b030905091b21032b090927090503211b091b27030503098d"
    "4b1b05353f631139092759211b03212d711d4b09477d479511637b032769031b"
)


def level_count(randomizer: Coarsened, level: Level) -> int:
    """How many reports of the level there are."""
    words = math.prod(1 << bits for bits in _word_bits(level, coordinate_counts(randomizer, level)))
    return sum(1 for _ in placements(level.partition, randomizer.sizes)) * words * label_count(level)


def level_law(randomizer: Coarsened, number: int, values: Sequence[int]) -> Iterator[tuple[bytes, Fraction]]:
    """(payload, chance) of every report of level `number` for the indices `values` of the attributes' members."""
    level, width = randomizer.levels[number], payload_bytes(randomizer)
    counts, labels, shares = coordinate_counts(randomizer, level), label_count(level), label_weights(randomizer, level)
    places = list(placements(level.partition, randomizer.sizes))
    bits = _word_bits(level, counts)
    chance = Fraction(level.chance, (1 << 32) * len(places) * math.prod(1 << word for word in bits) * sum(shares))
    head = [(number, _bits_below(len(randomizer.levels)))]
    for drawn in places:
        cell = coordinates(level.partition, values, [value for value, _ in drawn])
        for words in product(*(range(1 << word) for word in bits)):
            label = label_of(level, cell, counts, words)
            told = [*head, *drawn, *zip(words, bits, strict=True)]
            for shift in range(labels):
                y = difference(level, label, shift)
                yield _packed([*told, (y, _bits_below(labels))], width), chance * shares[shift]


def payload_bytes(randomizer: Coarsened) -> int:
    """The width of the widest level."""
    head = _bits_below(len(randomizer.levels))
    return max(-(-(head + sum(_field_bits(randomizer, level))) // 8) for level in randomizer.levels)


def _field_bits(randomizer: Coarsened, level: Level) -> Iterator[int]:
    yield from (bits for _, bits in next(placements(level.partition, randomizer.sizes)))
    yield from _word_bits(level, coordinate_counts(randomizer, level))
    yield _bits_below(label_count(level))


def _packed(fields: Sequence[Field], width: int) -> bytes:
    payload = place = 0
    for value, bits in fields:
        payload |= value << place
        place += bits
    return payload.to_bytes(width, "little")


def _bits_below(count: int) -> int:
    """Bits that hold every index below `count`."""
    return len(format(count - 1, "b")) if count > 1 else 0


@singledispatch
def placements(partition: GridPartition | SubsetPartition, sizes: Sequence[int]) -> Iterator[list[Field]]:
    """The public randomness of every partition, all being equally likely: numbers and the bits of each."""
    raise NotImplementedError


@placements.register
def _offsets(partition: GridPartition, sizes: Sequence[int]) -> Iterator[list[Field]]:
    widths = [width for width in partition.widths if width > 1]
    for offsets in product(*map(range, widths)):
        yield [(offset, _bits_below(width)) for offset, width in zip(offsets, widths, strict=True)]


@placements.register
def _places(partition: SubsetPartition, sizes: Sequence[int]) -> Iterator[list[Field]]:
    for attributes in permutations(range(len(sizes)), len(partition.slots)):
        if all(sizes[at] == slot for at, slot in zip(attributes, partition.slots, strict=True)):
            yield [(at, _bits_below(len(sizes))) for at in attributes]


@singledispatch
def coordinates(partition: GridPartition | SubsetPartition, values: Sequence[int], public: Sequence[int]) -> list[int]:
    """The coordinates of the value's cell."""
    raise NotImplementedError


@coordinates.register
def _shifted(partition: GridPartition, values: Sequence[int], public: Sequence[int]) -> list[int]:
    left = list(public)
    return [
        value if width == 1 else (value + left.pop(0)) // width
        for value, width in zip(values, partition.widths, strict=True)
        if width
    ]


@coordinates.register
def _placed(partition: SubsetPartition, values: Sequence[int], public: Sequence[int]) -> list[int]:
    return [values[at] for at in public]


def coordinate_counts(randomizer: Coarsened, level: Level) -> list[int]:
    """How many values each coordinate has."""
    if isinstance(level.partition, SubsetPartition):
        return list(level.partition.slots)
    pairs = zip(randomizer.sizes, level.partition.widths, strict=True)
    return [(size - 1 + width - 1) // width + 1 for size, width in pairs if width]


def label_count(level: Level) -> int:
    """G."""
    return math.prod(level.label.moduli) if isinstance(level.label, ResidueLabel) else 1 << level.label.label_bits


def label_weights(randomizer: Coarsened, level: Level) -> list[int]:
    """The weight of each z."""
    bitmap = int.from_bytes(level.members, "little")
    return [randomizer.high if bitmap >> z & 1 else randomizer.low for z in range(label_count(level))]


def _word_bits(level: Level, counts: Sequence[int]) -> list[int]:
    bits = max(1, _bits_below(math.prod(counts)))
    match level.label:
        case LinearLabel(rows):
            return [bits] * rows
        case FieldLabel():
            return [bits]
        case ResidueLabel():
            return []


def label_of(level: Level, cell: Sequence[int], counts: Sequence[int], words: Sequence[int]) -> int:
    """t."""
    if isinstance(level.label, ResidueLabel):
        return _mixed([c % g for c, g in zip(cell, level.label.moduli, strict=True)], level.label.moduli)
    number = _mixed(cell, counts)
    if isinstance(level.label, LinearLabel):
        return sum((row & number).bit_count() % 2 << bit for bit, row in enumerate(words))
    degree = max(1, _bits_below(math.prod(counts)))
    return field_product(words[0], number, degree) >> (degree - level.label.label_bits)


def field_product(first: int, second: int, degree: int) -> int:
    """first · second in GF(2^degree): the product of polynomials, then the rest by the irreducible one."""
    whole = 0
    for place in range(degree):
        if second >> place & 1:
            whole ^= first << place
    modulus = 1 << degree | LOW_PARTS[degree - 1]
    for place in reversed(range(degree, 2 * degree)):
        if whole >> place & 1:
            whole ^= modulus << (place - degree)
    return whole


def difference(level: Level, label: int, shift: int) -> int:
    """y = t ⊖ z."""
    if not isinstance(level.label, ResidueLabel):
        return label ^ shift
    moduli = level.label.moduli
    pairs = zip(_digits(label, moduli), _digits(shift, moduli), moduli, strict=True)
    return _mixed([(t - z) % g for t, z, g in pairs], moduli)


def _mixed(parts: Sequence[int], sizes: Sequence[int]) -> int:
    number = 0
    for part, size in zip(parts, sizes, strict=True):
        number = number * size + part
    return number


def _digits(number: int, sizes: Sequence[int]) -> list[int]:
    found = []
    for size in reversed(sizes):
        number, digit = divmod(number, size)
        found.append(digit)
    return found[::-1]
