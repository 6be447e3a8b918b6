"""The whole law of a small coarsened randomizer, as docs/protocol.md has it, in integers and fractions.

Nothing here calls the randomizer: labels, fields and differences are worked out one bit at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from itertools import product

from sordino_shared.randomizers import (
    Coarsened,
    FieldLabel,
    GridPartition,
    Level,
    LinearLabel,
    ResidueLabel,
    SubsetPartition,
)
from sordino_shared.randomizers.coarsened import Label

# For r from 1 to 64 the least integer whose bits are an irreducible polynomial over F₂ of degree r, less 2^r.
LOW_PARTS = bytes.fromhex(
    "010303030503031b030905091b21032b090927090503211b091b27030503098d"
    "4b1b05353f631139092759211b03212d711d4b09477d479511637b032769031b"
)


def level_count(randomizer: Coarsened, level: Level) -> int:
    """How many reports of the level there are."""
    words = sum(word_bits(level.label, coordinate_counts(randomizer, level)))
    return placement_count(level.partition, randomizer.sizes) * label_count(level.label) << words


def level_law(randomizer: Coarsened, number: int, values: Sequence[int]) -> Iterator[tuple[bytes, Fraction]]:
    """(payload, chance) of every report of level `number` for the indices `values` of the attributes' members."""
    level, width, bits = randomizer.levels[number], payload_bytes(randomizer), field_bits(randomizer, number)
    counts, weights = coordinate_counts(randomizer, level), label_weights(randomizer, level)
    places, word_lengths = list(placements(level.partition, randomizer.sizes)), word_bits(level.label, counts)
    whole = (len(places) * sum(weights) << 32) << sum(word_lengths)
    for drawn in places:
        cell = coordinates(level.partition, values, drawn)
        for words in product(*(range(1 << length) for length in word_lengths)):
            label = label_of(level.label, cell, counts, words)
            for shift, weight in enumerate(weights):
                sent = (number, *drawn, *words, difference(level.label, label, shift))
                yield _packed(sent, bits, width), Fraction(level.chance * weight, whole)


@dataclass(frozen=True)
class CoarsenedReport:
    """A payload taken apart, and the z that a value's label and y give back."""

    level: int
    public: tuple[int, ...]
    words: tuple[int, ...]
    shift: int

    @classmethod
    def read(cls, randomizer: Coarsened, values: Sequence[int], payload: bytes) -> CoarsenedReport:
        """The report of a device whose members have the indices `values`."""
        whole = int.from_bytes(payload, "little")
        number = whole & (1 << bits_below(len(randomizer.levels))) - 1
        level, fields, place = randomizer.levels[number], [], 0
        for bits in field_bits(randomizer, number):
            fields.append(whole >> place & (1 << bits) - 1)
            place += bits
        counts = coordinate_counts(randomizer, level)
        words = len(word_bits(level.label, counts))
        public, label_words = fields[1 : -1 - words], fields[len(fields) - 1 - words : -1]
        label = label_of(level.label, coordinates(level.partition, values, public), counts, label_words)
        return cls(number, tuple(public), tuple(label_words), difference(level.label, label, fields[-1]))


def payload_bytes(randomizer: Coarsened) -> int:
    """The width of the widest level."""
    return max(-(-sum(field_bits(randomizer, number)) // 8) for number in range(len(randomizer.levels)))


def field_bits(randomizer: Coarsened, number: int) -> list[int]:
    """Bits of the level's number, of each number of its partition, of each word of its label, and of y."""
    level = randomizer.levels[number]
    return [
        bits_below(len(randomizer.levels)),
        *public_bits(level.partition, randomizer.sizes),
        *word_bits(level.label, coordinate_counts(randomizer, level)),
        bits_below(label_count(level.label)),
    ]


def _packed(fields: Sequence[int], bits: Sequence[int], width: int) -> bytes:
    payload = place = 0
    for value, length in zip(fields, bits, strict=True):
        payload |= value << place
        place += length
    return payload.to_bytes(width, "little")


def bits_below(count: int) -> int:
    """Bits that hold every index below `count`."""
    return len(format(count - 1, "b")) if count > 1 else 0


@singledispatch
def public_ranges(partition: GridPartition | SubsetPartition, sizes: Sequence[int]) -> list[Sequence[int]]:
    """What each number of a partition can be; raises TypeError for another partition."""
    raise TypeError(f"no law is known of a {type(partition).__name__}")


@public_ranges.register
def _offset_ranges(partition: GridPartition, sizes: Sequence[int]) -> list[Sequence[int]]:
    return [range(width) for width in partition.widths if width > 1]


@public_ranges.register
def _place_ranges(partition: SubsetPartition, sizes: Sequence[int]) -> list[Sequence[int]]:
    return [[at for at, size in enumerate(sizes) if size == slot] for slot in partition.slots]


def public_bits(partition: GridPartition | SubsetPartition, sizes: Sequence[int]) -> list[int]:
    """Bits of each number of a partition."""
    ranges = public_ranges(partition, sizes)
    is_grid = isinstance(partition, GridPartition)
    return [bits_below(len(one) if is_grid else len(sizes)) for one in ranges]


def placements(partition: GridPartition | SubsetPartition, sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The numbers of every partition, all being equally likely."""
    for numbers in product(*public_ranges(partition, sizes)):
        if isinstance(partition, GridPartition) or len(set(numbers)) == len(numbers):
            yield numbers


def placement_count(partition: GridPartition | SubsetPartition, sizes: Sequence[int]) -> int:
    """How many of them there are."""
    if isinstance(partition, GridPartition):
        return math.prod(width for width in partition.widths if width > 1)
    slots = partition.slots
    return math.prod(math.perm(list(sizes).count(size), slots.count(size)) for size in set(slots))


@singledispatch
def coordinates(partition: GridPartition | SubsetPartition, values: Sequence[int], public: Sequence[int]) -> list[int]:
    """The coordinates of the value's cell; raises TypeError for another partition."""
    raise TypeError(f"no law is known of a {type(partition).__name__}")


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


def label_count(label: Label) -> int:
    """G."""
    return math.prod(label.moduli) if isinstance(label, ResidueLabel) else 1 << label.label_bits


def label_weights(randomizer: Coarsened, level: Level) -> list[int]:
    """The weight of each z."""
    bitmap = int.from_bytes(level.members, "little")
    return [randomizer.high if bitmap >> z & 1 else randomizer.low for z in range(label_count(level.label))]


def word_bits(label: Label, counts: Sequence[int]) -> list[int]:
    """Bits of each word that is drawn for a label."""
    bits = max(1, bits_below(math.prod(counts)))
    match label:
        case LinearLabel(rows):
            return [bits] * rows
        case FieldLabel():
            return [bits]
        case ResidueLabel():
            return []


def label_of(label: Label, cell: Sequence[int], counts: Sequence[int], words: Sequence[int]) -> int:
    """t."""
    if isinstance(label, ResidueLabel):
        return _mixed([c % g for c, g in zip(cell, label.moduli, strict=True)], label.moduli)
    number = _mixed(cell, counts)
    if isinstance(label, LinearLabel):
        return sum((row & number).bit_count() % 2 << bit for bit, row in enumerate(words))
    degree = max(1, bits_below(math.prod(counts)))
    return field_product(words[0], number, degree) >> (degree - label.label_bits)


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


def difference(label: Label, one: int, other: int) -> int:
    """one ⊖ other: y = t ⊖ z, and z = t ⊖ y."""
    if not isinstance(label, ResidueLabel):
        return one ^ other
    pairs = zip(_digits(one, label.moduli), _digits(other, label.moduli), label.moduli, strict=True)
    return _mixed([(first - second) % g for first, second, g in pairs], label.moduli)


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
