"""The best mixture of rows for symmetric queries: a convex program in one number for each orbit of characters.

With row chances p, λ_o = Σ_b p_b L_bo/N_o, and the mean variance of a block of queries is Σ_o A_o(1/λ_o − 1): every
type has the same. So the mean over queries, or the worst block, is convex in p. Rows are priced at the optimum over
those that were taken, and more are taken while one of them is more informative than the mixture.
"""

from __future__ import annotations

import operator as operators
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy.optimize import linprog

from sordino_analysis.arrays import Floats, Mask
from sordino_analysis.optimisation.symmetry.orbit_rows import RowShape, row_shapes
from sordino_analysis.optimisation.symmetry.programs import best_chances
from sordino_analysis.optimisation.symmetry.query_fourier_weights import query_fourier_weights
from sordino_analysis.optimisation.symmetry.tuning import ORBIT_DESIGN
from sordino_analysis.questions.linear.characters import Characters
from sordino_analysis.questions.linear.widths import CharacterMap
from sordino_analysis.request_terms import Objective

# A row of less chance is left out: the solver returns it in place of 0.
_LEAST_CHANCE = 1e-7


@dataclass(frozen=True, eq=False)
class Rows:
    """Sets of cells with their shapes, and (n, orbits) the information of each."""

    sets: list[Mask]
    profiles: Floats

    @classmethod
    def of(cls, shape: RowShape, table: Mask, epsilon: float, orbits: int) -> Rows:
        """The sets (n, K) of a shape."""
        sets = [members.reshape(shape.sizes) for members in table]
        return cls(sets, shape.profiles(table, epsilon, orbits))

    def __add__(self, other: Rows) -> Rows:
        return Rows(self.sets + other.sets, np.vstack([self.profiles, other.profiles]))

    def take(self, chosen: Iterable[int]) -> Rows:
        """Some of the rows."""
        places = list(chosen)
        return Rows([self.sets[row] for row in places], self.profiles[places])


@dataclass(frozen=True, eq=False)
class OrbitDesign:
    """Rows as tables of booleans and their chances; `block_weights` (blocks,) are those of the worst case."""

    rows: tuple[Mask, ...]
    chances: Floats
    block_weights: Floats


def design_rows(operator: CharacterMap, epsilon: float, objective: Objective, seed: int) -> OrbitDesign:
    """The mixture with the least mean variance over queries, or over the worst block of them."""
    characters, needs = operator.characters, query_fourier_weights(operator)
    source = _RowSource(characters, epsilon, seed)
    rows = source.first()
    for number in range(ORBIT_DESIGN.most_rounds):
        chances, weights, prices = best_chances(rows.profiles, characters.orbit_sizes, needs, objective)
        worth = float((chances @ rows.profiles) @ prices)
        new_rows = source.worth_more(
            prices, worth * (1 + ORBIT_DESIGN.gain), search=number < ORBIT_DESIGN.rounds_of_search
        )
        if not new_rows.sets or number == ORBIT_DESIGN.most_rounds - 1:
            break
        rows = rows.take(np.flatnonzero(chances > _LEAST_CHANCE).tolist()) + new_rows
    kept, chances = few_rows(rows.profiles, chances)
    return OrbitDesign(tuple(rows.sets[row] for row in kept), chances, weights)


class _RowSource:
    """All sets of the shapes that are listed, and what searches find in the others."""

    def __init__(self, characters: Characters, epsilon: float, seed: int) -> None:
        self._orbits, self._epsilon = len(characters.orbits), epsilon
        self._generator = np.random.Generator(np.random.PCG64(seed))
        shapes = row_shapes(characters)
        self._searched = [shape for shape in shapes if not shape.listed]
        self._listed = [self._rows(shape, shape.every_set(epsilon, self._orbits)) for shape in shapes if shape.listed]

    def first(self) -> Rows:
        """Of every shape sets that know all characters alike, and of the listed ones those that know an orbit best."""
        sets = [self._search(shape, np.ones(self._orbits)) for shape in self._searched]
        for rows in self._listed:
            best = {int(rows.profiles.sum(axis=1).argmax()), *rows.profiles.argmax(axis=0).tolist()}
            sets.append(rows.take(sorted(best)))
        return reduce(operators.add, sets)

    def worth_more(self, prices: Floats, least: float, *, search: bool) -> Rows:
        """Of every shape the sets that tell most at these prices, and more than the least; `prices` (orbits,)."""
        searched = [self._search(shape, prices) for shape in self._searched] if search else []
        nothing = Rows([], np.zeros((0, self._orbits)))
        return reduce(operators.add, (self._best(rows, prices, least) for rows in [*self._listed, *searched]), nothing)

    def _best(self, rows: Rows, prices: Floats, least: float) -> Rows:
        values = rows.profiles @ prices
        order = np.argsort(-values, kind="stable")[: ORBIT_DESIGN.taken_of_a_shape]
        return rows.take(order[values[order] > least].tolist())

    def _search(self, shape: RowShape, prices: Floats) -> Rows:
        return self._rows(shape, shape.most_informative_sets(prices, self._epsilon, self._generator))

    def _rows(self, shape: RowShape, table: Mask) -> Rows:
        return Rows.of(shape, table, self._epsilon, self._orbits)


def few_rows(profiles: Floats, chances: Floats) -> tuple[list[int], Floats]:
    """Rows with the same total information, at most one more than there are orbits, and their chances.

    `profiles` (rows, orbits), `chances` (rows,).
    """
    kept = np.flatnonzero(chances > _LEAST_CHANCE)
    information = chances[kept] @ profiles[kept] / chances[kept].sum()
    scales = np.where(information > 0, information, 1.0)
    equations = np.vstack([(profiles[kept] / scales).T, np.ones(len(kept))])
    vertex = linprog(np.zeros(len(kept)), A_eq=equations, b_eq=np.append(information / scales, 1.0), method="highs-ds")
    vertex_chances = chances[kept] if vertex.x is None else vertex.x
    rows = np.flatnonzero(vertex_chances > _LEAST_CHANCE)
    return [int(kept[row]) for row in rows], vertex_chances[rows] / vertex_chances[rows].sum()
