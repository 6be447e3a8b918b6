"""The best mixture of rows for symmetric queries: a convex program in one number for each orbit of characters.

With row chances p, λ_o = Σ_b p_b L_bo/N_o, and the mean variance of a block of queries is Σ_o A_o(1/λ_o − 1): every
type has the same. So the mean over queries, or the worst block, is convex in p. Rows that are not listed are priced at
the optimum and added while one of them is more informative than the mixture.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from sordino_analysis.arrays import Floats, Mask
from sordino_analysis.optimisation.symmetry.orbit_rows import RowShape, row_shapes
from sordino_analysis.optimisation.symmetry.query_fourier_weights import query_fourier_weights
from sordino_analysis.questions.linear.characters import Characters
from sordino_analysis.questions.linear.widths import CharacterMap
from sordino_analysis.request_terms import Objective

_MOST_ROUNDS = 12
_GAIN = 1e-4
_LEAST_CHANCE = 1e-7


@dataclass(frozen=True, eq=False)
class Rows:
    """Sets of cells with their shapes, and (n, orbits) the information of each."""

    sets: list[Mask]
    profiles: Floats


@dataclass(frozen=True, eq=False)
class OrbitDesign:
    """Rows as tables of booleans and their chances; `block_weights` (blocks,) are those of the worst case."""

    rows: tuple[Mask, ...]
    chances: Floats
    block_weights: Floats


def design_rows(operator: CharacterMap, epsilon: float, objective: Objective, seed: int) -> OrbitDesign:
    """The mixture with the least mean variance over queries, or over the worst block of them."""
    # The solver takes seconds to import, which is not for those who never ask about characters.
    from sordino_analysis.optimisation.symmetry.programs import best_chances

    characters, needs = operator.characters, query_fourier_weights(operator)
    generator = np.random.Generator(np.random.PCG64(seed))
    shapes = row_shapes(characters)
    rows = _first_rows(shapes, characters, epsilon, generator)
    for _ in range(_MOST_ROUNDS):
        chances, weights, prices = best_chances(rows.profiles, characters.orbit_sizes, needs, objective)
        found = _priced(shapes, characters, prices, epsilon, generator)
        worth = float((chances @ rows.profiles) @ prices)
        if not len(found.sets) or (found.profiles @ prices).max() <= worth * (1 + _GAIN):
            break
        rows = Rows(rows.sets + found.sets, np.vstack([rows.profiles, found.profiles]))
    kept, chances = few_rows(rows.profiles, chances)
    return OrbitDesign(tuple(rows.sets[row] for row in kept), chances, weights)


def _first_rows(shapes: list[RowShape], characters: Characters, epsilon: float, generator: np.random.Generator) -> Rows:
    """All sets of the shapes that are listed, and of each other one the best at equal prices of all characters."""
    orbits = len(characters.orbits)
    equal_prices = np.ones(orbits)
    tables = [
        shape.every_set(epsilon, orbits)
        if shape.listed
        else shape.most_informative_sets(equal_prices, epsilon, generator)
        for shape in shapes
    ]
    return _rows(shapes, tables, epsilon, orbits)


def _priced(
    shapes: list[RowShape], characters: Characters, prices: Floats, epsilon: float, generator: np.random.Generator
) -> Rows:
    """Sets of the shapes that are not listed, searched for the most information at these prices."""
    searched = [shape for shape in shapes if not shape.listed]
    tables = [shape.most_informative_sets(prices, epsilon, generator) for shape in searched]
    return _rows(searched, tables, epsilon, len(characters.orbits))


def _rows(shapes: list[RowShape], tables: list[Mask], epsilon: float, orbits: int) -> Rows:
    pairs = list(zip(shapes, tables, strict=True))
    sets = [members.reshape(shape.sizes) for shape, table in pairs for members in table]
    profiles = [shape.profiles(table, epsilon, orbits) for shape, table in pairs]
    return Rows(sets, np.vstack([np.zeros((0, orbits)), *profiles]))


def few_rows(profiles: Floats, chances: Floats) -> tuple[list[int], Floats]:
    """Rows with the same total information, at most one more than there are orbits, and their chances.

    `profiles` (rows, orbits), `chances` (rows,).
    """
    kept = np.flatnonzero(chances > _LEAST_CHANCE)
    information = chances[kept] @ profiles[kept] / chances[kept].sum()
    scales = np.where(information > 0, information, 1.0)
    equations = np.vstack([(profiles[kept] / scales).T, np.ones(len(kept))])
    vertex = linprog(np.zeros(len(kept)), A_eq=equations, b_eq=np.append(information / scales, 1.0), method="highs-ds")
    found = chances[kept] if vertex.x is None else vertex.x
    rows = np.flatnonzero(found > _LEAST_CHANCE)
    return [int(kept[row]) for row in rows], found[rows] / found[rows].sum()
