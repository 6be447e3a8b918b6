"""Krawtchouk values against characters that are written out."""

from itertools import combinations, product

import numpy as np
import pytest

from sordino_analysis.optimisation.symmetry.group_orbits import group_orbits
from sordino_analysis.optimisation.symmetry.krawtchouk import krawtchouk
from sordino_analysis.questions.linear.characters import Characters


def test_they_are_sums_of_characters() -> None:
    found = krawtchouk(5, 3)
    for cell in product((0, 1), repeat=5):
        for width in range(4):
            total = sum((-1) ** sum(cell[a] for a in held) for held in combinations(range(5), width))
            assert found[sum(cell), width] == total


def test_they_are_orthogonal_at_64_attributes() -> None:
    """Σ_i (64 choose i) K_2(i) K_3(i) = 0 holds only if no value lost a digit."""
    values = krawtchouk(64, 3)
    sizes = np.append(1.0, np.cumprod([(64 - ones) / (ones + 1) for ones in range(64)]))
    norms = np.sqrt(sizes @ values**2)
    assert (sizes * values[:, 2]) @ values[:, 3] == pytest.approx(0.0, abs=1e-12 * norms[2] * norms[3])
    assert sizes @ values[:, 3] ** 2 / 2.0**64 == pytest.approx(41664)


def test_orbits_of_binary_attributes_are_not_listed_cell_by_cell() -> None:
    orbits = group_orbits(Characters((2,) * 6, 2))
    assert orbits is not None
    cells = np.array(list(product((0, 1), repeat=6)))
    for ones in range(7):
        frequency = np.arange(6) < ones
        signs = (-1.0) ** (cells[:, frequency].sum(axis=1))
        assert orbits.table[ones] == pytest.approx(np.bincount(cells.sum(axis=1), weights=signs, minlength=7))
    assert orbits.sizes.sum() == 64
    assert orbits.places.tolist() == [1, 2]
