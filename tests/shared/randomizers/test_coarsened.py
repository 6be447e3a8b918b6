"""The randomizer `coarsened`: its field, its law with every label written out, its moments, its widths and limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sordino_analysis.conformance.coarsened import (
    CoarsenedReport,
    coordinate_counts,
    coordinates,
    field_product,
    label_of,
    level_law,
    placements,
)
from sordino_analysis.conformance.enumeration import payload_law
from sordino_analysis.vectorized.coarsened.binary_field import multiply
from sordino_analysis.vectorized.coarsened.labels import labels_of, matrix_rows, minus
from sordino_analysis.vectorized.coarsened.partitions import draw_public
from sordino_analysis.vectorized.randomizers import in_alphabet, randomize_codes, randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness, uniform_below, uniform_bits
from sordino_shared.domains import Domain, Integers, Ordinal
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import (
    Coarsened,
    FieldLabel,
    GridPartition,
    Level,
    LinearLabel,
    ResidueLabel,
    SubsetPartition,
)
from sordino_shared.randomizers.coarsened.binary_field import LOW_PARTS
from sordino_shared.randomness import SystemRandomness
from tests.randomizers import is_accepted

ONE = PureEpsilon.of(1)
WHOLE = 1 << 32
DRAWS = 200_000


def one_level(size: int, width: int, label, members: bytes = b"\x01") -> Coarsened:
    return Coarsened.for_guarantee((size,), (Level(WHOLE, GridPartition((width,)), label, members),), ONE)


def is_irreducible(polynomial: int) -> bool:
    """Rabin's test, with polynomials as integers."""
    degree = polynomial.bit_length() - 1

    def rest(number: int) -> int:
        while number.bit_length() > degree:
            number ^= polynomial << (number.bit_length() - 1 - degree)
        return number

    def frobenius(times: int) -> int:
        power = rest(2)
        for _ in range(times):
            power = rest(sum(1 << 2 * bit for bit in range(degree) if power >> bit & 1))
        return power

    def divisor(one: int, other: int) -> int:
        while other:
            one, other = other, one
            while other.bit_length() >= one.bit_length():
                other ^= one << (other.bit_length() - one.bit_length())
        return one

    primes = [p for p in range(2, degree + 1) if degree % p == 0 and all(p % q for q in range(2, p))]
    if frobenius(degree) != rest(2):
        return False
    return all(divisor(polynomial, frobenius(degree // prime) ^ rest(2)) == 1 for prime in primes)


def test_every_polynomial_is_the_least_irreducible_one_of_its_degree() -> None:
    for degree, low in enumerate(LOW_PARTS, 1):
        assert is_irreducible(1 << degree | low)
        assert not any(is_irreducible(1 << degree | smaller) for smaller in range(1, low, 2)), degree


@pytest.mark.parametrize("degree", [1, 2, 3, 8, 24, 32, 63, 64])
def test_products_are_those_of_long_division(degree: int) -> None:
    source = SeededRandomness(degree)
    first, second = uniform_bits(source, degree, 50), uniform_bits(source, degree, 50)
    pairs = zip(first.tolist(), second.tolist(), strict=True)
    assert multiply(first, second, degree).tolist() == [field_product(a, b, degree) for a, b in pairs]


def test_the_rows_of_a_field_label_are_its_matrix() -> None:
    """Labels of the multiplier and labels of its matrix are the same, so that one transform decodes both."""
    source, shape = SeededRandomness(3), (1 << 20,)
    words, cells = [uniform_bits(source, 20, 500)], [uniform_below(source, 1 << 20, 500)]
    for bits in (1, 6, 16):
        label = FieldLabel(bits)
        matrix = matrix_rows(label, shape, words)
        assert (labels_of(LinearLabel(bits), cells, shape, matrix) == labels_of(label, cells, shape, words)).all()


@pytest.mark.parametrize("label", [LinearLabel(1), LinearLabel(2), FieldLabel(2), ResidueLabel((5,))], ids=repr)
@pytest.mark.parametrize("size", [5, 8])
def test_the_device_follows_its_law_and_not_one_whose_high_weight_is_a_tenth_off(size: int, label) -> None:
    """All labels are written out: 2^3 or 2^6 matrices. The false alarm is 10⁻⁶.

    The noncentrality of the other law is at least 350 with these draws, its degrees of freedom are at most 255: it is
    missed with chance below 10⁻⁷.
    """
    randomizer = one_level(size, 1, label)
    for cell in (0, size - 1):
        drawn = randomize_many(randomizer, np.full(DRAWS, cell), SeededRandomness(size + cell))
        assert is_accepted(drawn, dict(payload_law(randomizer, cell)))
        for high in (randomizer.high * 9 // 10, randomizer.high * 11 // 10):
            assert not is_accepted(drawn, dict(payload_law(replace(randomizer, high=high), cell)))


def outcomes(randomizer: Coarsened, number: int, value: int) -> Iterator[tuple[Fraction, list[bool]]]:
    """Every report of a level with its chance, and which values it holds."""
    level = randomizer.levels[number]
    members, counts = int.from_bytes(level.members, "little"), coordinate_counts(randomizer, level)
    for payload, chance in level_law(randomizer, number, [value]):
        shifts = [CoarsenedReport.read(randomizer, [other], payload).shift for other in range(randomizer.size)]
        assert len(counts) == 1
        yield chance, [bool(members >> shift & 1) for shift in shifts]


@pytest.mark.parametrize(
    ("width", "label", "members"),
    [
        (1, LinearLabel(1), b"\x01"),
        (1, LinearLabel(2), b"\x01"),
        (2, LinearLabel(2), b"\x07"),
        (3, LinearLabel(2), b"\x06"),
        (12, LinearLabel(1), b"\x02"),
    ],
)
def test_moments_of_linear_labels_are_the_closed_forms(width: int, label: LinearLabel, members: bytes) -> None:
    """Enumerated over offsets, matrices and y in rationals, the singular matrices too, at six types.

    u is the likelihood ratio of a value in a report to that of a uniform one; s0 and s1 are E(u − 1)² off and on the
    holder's cell.
    """
    randomizer = one_level(6, width, label, members)
    ratio, q = Fraction(randomizer.high, randomizer.low), Fraction(*randomizer.levels[0].density)
    b = ratio - 1
    a = 1 / (1 + b * q)
    p = ratio * q * a
    s0 = b * b * q * (1 - q) * a * a
    s1 = p * (ratio * a - 1) ** 2 + (1 - p) * (a - 1) ** 2
    beta = [Fraction(number) for number in (3, -1, 4, 1, -5, 9)]
    for value in range(6):
        table = list(outcomes(randomizer, 0, value))
        assert sum(chance for chance, _ in table) == 1
        excess = [(chance, [(ratio if one else 1) * a - 1 for one in held]) for chance, held in table]
        for other in range(6):
            mean = sum(chance * each[other] for chance, each in excess)
            assert mean == s0 * max(Fraction(0), 1 - Fraction(abs(value - other), width))
        square = sum(c * sum(x * y for x, y in zip(beta, each, strict=True)) ** 2 for c, each in excess)
        assert square == sum(cell_moment(beta, value, width, offset, s0, s1) for offset in range(width)) / width


def cell_moment(beta: list[Fraction], value: int, width: int, offset: int, s0: Fraction, s1: Fraction) -> Fraction:
    """s0 Σ_C β_C² + (s1 − s0) β_{C(x)}² for one offset."""
    sums: dict[int, Fraction] = {}
    for other, weight in enumerate(beta):
        cell = (other + offset) // width
        sums[cell] = sums.get(cell, Fraction(0)) + weight
    return s0 * sum(total**2 for total in sums.values()) + (s1 - s0) * sums[(value + offset) // width] ** 2


def test_a_field_label_has_the_moments_of_single_values_with_the_multiplier_zero_and_not_without() -> None:
    randomizer = one_level(6, 1, FieldLabel(2), b"\x03")
    q = Fraction(*randomizer.levels[0].density)
    p = Fraction(randomizer.high, randomizer.low) * q / (1 + (Fraction(randomizer.high, randomizer.low) - 1) * q)
    laws = [list(outcomes(randomizer, 0, value)) for value in range(6)]
    payloads = [payload for payload, _ in level_law(randomizer, 0, [0])]
    multipliers = [payload[0] & 7 for payload in payloads]
    for value, law in enumerate(laws):
        for other in range(6):
            hit = sum(chance for chance, held in law if held[other])
            assert hit == (p if other == value else q)
            without = sum(c for (c, held), a in zip(law, multipliers, strict=True) if held[other] and a) * Fraction(
                8, 7
            )
            assert other == value or without == (8 * q - p) / 7 != q


def test_grids_have_no_cell_beyond_their_last() -> None:
    """At every width up to twice the size and every offset the last value's coordinate is below the count."""
    for size in range(2, 12):
        for width in range(1, 2 * size + 1):
            randomizer = one_level(size, width, LinearLabel(1))
            level = randomizer.levels[0]
            (count,) = coordinate_counts(randomizer, level)
            reached = [coordinates(level.partition, [size - 1], o)[0] for o in placements(level.partition, [size])]
            assert max(reached) == count - 1
            assert level.shape((size,)) == (count,)
            labels = [label_of(level.label, [cell], [count], [1]) for cell in range(count)]
            assert set(labels) == {0, 1}


def plan(sizes: tuple[int, ...], *parts: tuple) -> Coarsened:
    """Levels of equal chances, the first taking what is left."""
    chance = WHOLE // len(parts)
    levels = [Level(chance, *part) for part in parts]
    levels[0] = replace(levels[0], chance=WHOLE - chance * (len(parts) - 1))
    return Coarsened.for_guarantee(sizes, tuple(levels), ONE)


def test_reports_and_plans_of_large_domains_are_small() -> None:
    """The widths and bytes that the targets of large domains name."""
    histogram = one_level(1 << 24, 1, FieldLabel(6), b"\xff\xff\x01")
    assert histogram.payload_bytes <= 5
    prefix = plan(
        (1 << 16,),
        *((GridPartition((1 << number // 4,)), LinearLabel(2), b"\x01") for number in range(60)),
        *((GridPartition((1 << 12 + number,)), ResidueLabel((8 >> number,)), b"\x01") for number in range(3)),
    )
    assert prefix.payload_bytes <= 9
    line = Domain((Ordinal("x", tuple(map(float, range(3)))),))
    overhead = len(DevicePart(line, ONE, one_level(4, 1, LinearLabel(1))).content)
    assert len(DevicePart(Domain((Integers("x", 0, 65_535),)), ONE, prefix).content) < 3000
    assert overhead < 500
    widths = list(product((1, 16, 256, 512), repeat=2))
    square = plan((256, 256), *((GridPartition(pair), LinearLabel(2), b"\x01") for pair in widths))
    assert square.payload_bytes <= 12
    slots = [(2,) * count for count in (1, 2, 3, 4)]
    flags = plan((2,) * 64, *((SubsetPartition(one), ResidueLabel(one), b"\x01") for one in slots))
    assert flags.payload_bytes <= 10


def test_values_are_vectors_where_cells_have_no_numbers() -> None:
    hashed = one_level(1 << 64, 1, LinearLabel(3), b"\x07")
    last = np.array([[(1 << 64) - 1], [0]], dtype=np.uint64)
    payloads = randomize_codes(hashed, last, (1 << 64,), SystemRandomness())
    assert payloads.shape == (2, 25)
    assert in_alphabet(hashed, payloads).all()
    with pytest.raises(InvalidValue, match="no cell numbers"):
        randomize_many(hashed, np.zeros(1, dtype=np.int64), SystemRandomness())
    flags = plan((2,) * 255, (SubsetPartition((2,) * 4), ResidueLabel((2,) * 4), b"\x69"))
    codes = uniform_below(SeededRandomness(1), 2, 255 * 40).reshape(40, 255)
    assert in_alphabet(flags, randomize_codes(flags, codes, (2,) * 255, SystemRandomness())).all()


def test_a_value_is_one_thing_as_cell_and_as_vector() -> None:
    randomizer = plan((3, 4, 2), (GridPartition((2, 0, 1)), LinearLabel(1), b"\x01"))
    cells = np.arange(24)
    codes = np.stack(np.unravel_index(cells, (3, 4, 2)), axis=1).astype(np.uint64)
    by_cell = randomize_many(randomizer, cells, SeededRandomness(5))
    assert (by_cell == randomize_codes(randomizer, codes, (3, 4, 2), SeededRandomness(5))).all()


@pytest.mark.parametrize("codes", [[[3, 0]], [[0, 4]], [[0]], [0, 0]])
def test_codes_outside_their_attributes_are_refused(codes: list) -> None:
    randomizer = plan((3, 4), (GridPartition((1, 1)), LinearLabel(1), b"\x01"))
    with pytest.raises(InvalidValue, match="below the sizes"):
        randomize_codes(randomizer, np.array(codes, dtype=np.uint64), (3, 4), SystemRandomness())
    with pytest.raises(InvalidValue, match="below the sizes"):
        randomize_codes(randomizer, np.array([[0, 0]]), (3, 4), SystemRandomness())


@pytest.mark.parametrize("label", [LinearLabel(2), ResidueLabel((3, 4))], ids=["xor", "modulo"])
def test_the_difference_is_undone_by_itself(label) -> None:
    """z = t ⊖ y for y = t ⊖ z: what the server computes is what the device drew."""
    labels, shifts = (a.ravel().astype(np.uint64) for a in np.meshgrid(*[np.arange(label.count)] * 2))
    assert (minus(label, labels, minus(label, labels, shifts)) == shifts).all()


def test_offsets_and_places_are_uniform() -> None:
    """Six thousand draws of an offset below 3 and of two of three attributes: χ² as in the contract of randomizers."""
    sizes, count = (2, 2, 2), 6000
    (offsets,) = draw_public(GridPartition((3,)), (6,), count, SeededRandomness(2))
    assert abs(np.bincount(offsets.astype(int)) - count / 3).max() < 5 * (count * 2 / 9) ** 0.5
    first, second = draw_public(SubsetPartition((2, 2)), sizes, count, SeededRandomness(3))
    pairs = np.bincount((3 * first + second).astype(int), minlength=9).reshape(3, 3)
    assert (np.diag(pairs) == 0).all()
    assert abs(pairs[~np.eye(3, dtype=bool)] - count / 6).max() < 5.5 * (count * 5 / 36) ** 0.5


@pytest.mark.parametrize("labels", [3, 251])
def test_weights_fit_at_the_largest_epsilon(labels: int) -> None:
    """At ε = 16 weights of 2^40 and e^16 times as much have more than 62 bits: both are smaller, the ratio is kept."""
    largest = PureEpsilon.of(16)
    level = Level(WHOLE, GridPartition((1,)), ResidueLabel((labels,)), b"\x01")
    randomizer = Coarsened.for_guarantee((1000,), (level,), largest)
    assert randomizer.high * labels < 1 << 63
    assert np.exp(16) * (1 - 1e-6) < randomizer.high / randomizer.low <= np.exp(16)
