"""The real basis of characters, its order, and its orbits."""

from itertools import permutations, product

import numpy as np
import pytest

from sordino_analysis.optimisation.symmetry.group_orbits import group_orbits
from sordino_analysis.questions.linear.characters import Characters, cas_table, hartley, orbit_key

SHAPES = [(2, 2, 2), (3, 2, 3), (4, 1, 2), (5,)]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_transform_is_the_table_and_its_own_inverse(shape):
    cells = list(product(*map(range, shape)))
    angles = [[2 * np.pi * sum(a * b / c for a, b, c in zip(r, x, shape, strict=True)) for x in cells] for r in cells]
    table = np.cos(angles) + np.sin(angles)
    assert cas_table(shape) == pytest.approx(table, abs=1e-12)
    assert table @ table.T == pytest.approx(len(cells) * np.eye(len(cells)), abs=1e-9)
    values = np.random.default_rng(0).random((len(cells), 2))
    assert hartley(values, shape) == pytest.approx(table @ values)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("width", [1, 2, 3])
def test_characters_are_those_of_few_attributes_each_once(shape, width):
    characters = Characters(shape, width)
    cells = list(product(*map(range, shape)))
    few = {index for index, r in enumerate(cells) if 1 <= np.count_nonzero(r) <= width}
    assert characters.count == len(few) == len(characters.cells)
    assert set(characters.cells.tolist()) == few
    supports = [tuple(np.flatnonzero(cells[cell])) for cell in characters.cells]
    assert supports == sorted(supports, key=lambda support: (len(support), support))
    for support in characters.supports:
        sizes = [shape[attribute] for attribute in support]
        for place, local in zip(characters.places(support), product(*map(range, sizes)), strict=True):
            whole = np.zeros(len(shape), dtype=int)
            whole[list(support)] = local
            index = int(np.ravel_multi_index(whole, shape))
            assert place == 0 if not any(local) else characters.cells[place - 1] == index


@pytest.mark.parametrize("shape", SHAPES)
def test_orbits_are_those_of_exchanges_and_signs(shape):
    characters, cells = Characters(shape, 2), list(product(*map(range, shape)))
    exchanges = [order for order in permutations(range(len(shape))) if [shape[axis] for axis in order] == list(shape)]
    for first, second in product(range(characters.count), repeat=2):
        r, s = cells[characters.cells[first]], cells[characters.cells[second]]
        back = tuple(-b % c for b, c in zip(s, shape, strict=True))
        same = any(tuple(r[axis] for axis in order) in (s, back) for order in exchanges)
        assert (characters.orbit_of[first] == characters.orbit_of[second]) == same
    assert characters.orbit_sizes.sum() == characters.count


@pytest.mark.parametrize("shape", SHAPES)
def test_the_table_of_the_group_sums_characters_over_orbits(shape):
    characters = Characters(shape, 2)
    orbits, cells = group_orbits(characters), list(product(*map(range, shape)))
    keys = [orbit_key(characters.kinds, cell) for cell in cells]
    members = {}
    for index, key in enumerate(keys):
        members.setdefault(key, []).append(index)
    assert sorted(orbits.sizes) == sorted(map(len, members.values()))
    assert orbits.table[:, 0] == pytest.approx(1.0)
    assert orbits.table[0] == pytest.approx(orbits.sizes)
    whole = cas_table(shape)
    for number, place in enumerate(orbits.places):
        cell = characters.cells[np.flatnonzero(characters.orbit_of == number)[0]]
        row = sorted((round(whole[cell, group].sum(), 9), len(group)) for group in members.values())
        found = sorted((round(a, 9), int(b)) for a, b in zip(orbits.table[place], orbits.sizes, strict=True))
        assert np.array(found) == pytest.approx(np.array(row), abs=1e-8)


def test_too_many_orbits_are_declined():
    assert group_orbits(Characters((2,) * 21, 1)) is None
    assert group_orbits(Characters((19, 18, 17, 16), 1)) is None
