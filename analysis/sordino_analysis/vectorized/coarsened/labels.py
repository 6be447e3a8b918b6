"""Labels of many cells; see `sordino_shared.randomizers.coarsened.labels`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import numpy as np

from sordino_analysis.vectorized.coarsened.binary_field import multiply, parity, times_x
from sordino_analysis.vectorized.randomness import Words, uniform_bits
from sordino_shared.randomizers.coarsened import FieldLabel, Label, LinearLabel, ResidueLabel
from sordino_shared.randomizers.coarsened.labels import cell_bits
from sordino_shared.randomizers.coarsened.partitions import Sizes
from sordino_shared.randomness import Randomness


def draw_words(label: Label, shape: Sizes, count: int, randomness: Randomness) -> list[Words]:
    """(count,) of each public word: the rows of A, a multiplier, or nothing."""
    return [uniform_bits(randomness, bits, count) for bits in label.word_bits(shape)]


def matrix_rows(label: LinearLabel | FieldLabel, shape: Sizes, words: Sequence[Words]) -> list[Words]:
    """(n,) rows of the matrix A with t = A·c, one array for each bit of the label."""
    match label:
        case LinearLabel():
            return list(words)
        case FieldLabel(label_bits):
            power, degree = words[0], cell_bits(shape)
            rows = [np.zeros_like(power) for _ in range(label_bits)]
            for place in range(degree):
                for bit, row in enumerate(rows):
                    row |= ((power >> np.uint64(degree - label_bits + bit)) & np.uint64(1)) << np.uint64(place)
                power = times_x(power, degree)
            return rows
        case _:
            assert_never(label)


def labels_of(label: Label, coordinates: Sequence[Words], shape: Sizes, words: Sequence[Words]) -> Words:
    """(n,) labels t of cells with these (n,) coordinates."""
    match label:
        case LinearLabel():
            cells, labels = cell_numbers(coordinates, shape), np.zeros((), dtype=np.uint64)
            for bit, row in enumerate(words):
                labels = labels | parity(row & cells) << np.uint64(bit)
            return labels
        case FieldLabel(label_bits):
            degree = cell_bits(shape)
            products = multiply(words[0], cell_numbers(coordinates, shape), degree)
            return np.asarray(products >> np.uint64(degree - label_bits))
        case ResidueLabel(moduli):
            return cell_numbers([c % np.uint64(g) for c, g in zip(coordinates, moduli, strict=True)], moduli)
        case _:
            assert_never(label)


def minus(label: Label, labels: Words, shifts: Words) -> Words:
    """(n,) t ⊖ z; also t ⊖ y for z."""
    match label:
        case LinearLabel() | FieldLabel():
            return labels ^ shifts
        case ResidueLabel(moduli):
            return _digits_minus(moduli, labels, shifts)
        case _:
            assert_never(label)


def _digits_minus(moduli: Sizes, labels: Words, shifts: Words) -> Words:
    """(n,) differences digit by digit modulo G_a."""
    difference = np.zeros((), dtype=np.uint64)
    place = 1
    for modulus in reversed(moduli):
        one, whole = np.uint64(place), np.uint64(modulus)
        digits = (labels // one % whole + (whole - shifts // one % whole)) % whole
        difference = difference + digits * one
        place *= modulus
    return difference


def cell_numbers(coordinates: Sequence[Words], shape: Sizes) -> Words:
    """(n,) numbers of cells, mixed radix: the last coordinate varies fastest."""
    cells = coordinates[0]
    for coordinate, count in zip(coordinates[1:], shape[1:], strict=True):
        cells = cells * np.uint64(count) + coordinate
    return cells
