"""Rows for symmetric queries with more orbits of characters than there may be rows.

Every shape gets a few sets of cells that together tell its characters as evenly as possible, drawn at random among
themselves. Chances of shapes are those of the least mean variance Σ_o c_o/λ_o, by multiplicative steps
p_b ← p_b √(Σ_o c_o L_bo/λ_o²), which lower it each time (Silvey, Titterington, Torsney 1978).
"""

from __future__ import annotations

import math

import numpy as np

from sordino_analysis.arrays import Floats, Mask
from sordino_analysis.optimisation.symmetry.orbit_rows import RowShape, row_shapes
from sordino_analysis.optimisation.symmetry.query_fourier_weights import query_fourier_weights
from sordino_analysis.optimisation.symmetry.tuning import MANY_ORBITS
from sordino_analysis.questions.linear.widths import CharacterMap

# Less information than this is nothing.
_NOTHING = 1e-12


def rows_of_shapes(
    operator: CharacterMap, epsilon: float, seed: int, most_rows: int
) -> tuple[tuple[Mask, ...], Floats]:
    """Rows, each of which is a table of booleans, and their chances (rows,), for the mean variance over queries.

    There are at most `most_rows`, or one for each shape of `width` slots where these are more.
    """
    characters, needs = operator.characters, query_fourier_weights(operator)
    generator = np.random.Generator(np.random.PCG64(seed))
    costs = characters.orbit_sizes**2 * (needs.shares @ needs.by_orbit)
    shapes = [shape for shape in row_shapes(characters) if len(shape.sizes) == characters.width]
    per_shape = max(1, min(MANY_ORBITS.most_of_a_shape, most_rows // len(shapes)))
    # Characters of fewer attributes are told by many shapes, so that none needs to be good at them.
    whole = np.where([len(key) == characters.width for key in characters.orbits], costs, 0.0)
    even_sets = [_even_sets(shape, per_shape, whole, epsilon, generator) for shape in shapes]
    rows = [
        members.reshape(shape.sizes) for shape, (sets, _) in zip(shapes, even_sets, strict=True) for members in sets
    ]
    return tuple(rows), best_mean_chances(np.vstack([profiles for _, profiles in even_sets]), costs)


def _even_sets(
    shape: RowShape, count: int, costs: Floats, epsilon: float, generator: np.random.Generator
) -> tuple[Mask, Floats]:
    """(count, K) sets and their profiles (count, orbits): each the best one beside those before it."""
    orbits = np.unique(shape.orbits[shape.orbits >= 0])
    orbits = orbits[costs[orbits] > 0]
    numbers = np.full(len(costs) + 1, -1)
    numbers[orbits] = np.arange(len(orbits))
    alone = RowShape(shape.sizes, numbers[shape.orbits])
    sets, wanted = _candidates(shape, len(costs), epsilon, generator), costs[orbits]
    chosen, total = [], np.zeros(len(orbits))
    for _ in range(count):
        costs_beside = _costs(total + alone.profiles(sets, epsilon, len(orbits)), wanted)
        chosen.append(_flipped(sets[costs_beside.argmin()], alone, total, wanted, epsilon))
        total = total + alone.profiles(chosen[-1][None], epsilon, len(orbits))[0]
    return np.stack(chosen), shape.profiles(np.stack(chosen), epsilon, len(costs))


def _flipped(members: Mask, shape: RowShape, others: Floats, wanted: Floats, epsilon: float) -> Mask:
    """The set after the best single flip, repeated while it lowers the costs beside what others tell."""
    value = math.inf
    for _ in range(MANY_ORBITS.most_flips):
        flipped = members ^ np.eye(len(members), dtype=bool)
        flipped = flipped[flipped.any(axis=1) & ~flipped.all(axis=1)]
        costs = _costs(others + shape.profiles(flipped, epsilon, len(wanted)), wanted)
        if costs.min() >= value:
            break
        members, value = flipped[costs.argmin()], float(costs.min())
    return members


def _costs(profiles: Floats, wanted: Floats) -> Floats:
    """(n,) Σ_o c_o/L_o of profiles (n, orbits)."""
    return np.asarray((wanted / np.maximum(profiles, _NOTHING)).sum(axis=1))


def _candidates(shape: RowShape, orbits: int, epsilon: float, generator: np.random.Generator) -> Mask:
    """(n, K) all sets where they are listed, else those that know most and sets drawn at random."""
    if shape.listed:
        return shape.every_set(epsilon, orbits)
    size = max(1, round(shape.cells / (math.exp(epsilon) + 1)))
    ranks = np.argsort(np.argsort(generator.random((MANY_ORBITS.drawn, shape.cells)), axis=1), axis=1)
    return np.vstack([shape.most_informative_sets(np.ones(orbits), epsilon, generator), ranks < size])


def best_mean_chances(profiles: Floats, costs: Floats) -> Floats:
    """(rows,) chances p with nearly the least Σ_o c_o/(Σ_b p_b L_bo), for L (rows, orbits) and c (orbits,)."""
    used = costs > 0
    used_profiles, wanted = profiles[:, used], costs[used]
    chances = np.full(len(profiles), 1 / len(profiles))
    for _ in range(MANY_ORBITS.steps):
        information = chances @ used_profiles
        chances = chances * np.sqrt(used_profiles @ (wanted / information**2))
        chances /= chances.sum()
    return chances
