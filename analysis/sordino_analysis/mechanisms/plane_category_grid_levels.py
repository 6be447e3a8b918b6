"""Which levels grids on categories and two ordered attributes have, and how often.

Levels are those of a plane for each set of attributes without an order that is told apart. As on a plane a design for a
few types of each ordered attribute is one for any number, and as beside one ordered attribute the information of levels
adds up on each part of the functions of the categories.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.grids.levels import Pair
from sordino_analysis.evaluation.grids.plane_category_levels import PlaneCategoryLevel
from sordino_analysis.evaluation.grids.plane_families import PlaneCategoryFamily, PlanePart
from sordino_analysis.mechanisms.category_grid_levels import share_of_part, told_apart, told_by_level
from sordino_analysis.mechanisms.hash_response import hash_response
from sordino_analysis.mechanisms.plane_grid_levels import plane_combs, plane_level, scaled_plane
from sordino_analysis.mechanisms.tuning import PLANE_CATEGORY_LEVELS
from sordino_analysis.optimisation.level_chances import Component, best_shares, centred


def designed_plane_categories(family: PlaneCategoryFamily, epsilon: float) -> list[PlaneCategoryLevel]:
    """Levels with chances that sum to 1, for the mean variance of the family's queries."""
    first, second = (min(size, PLANE_CATEGORY_LEVELS.designed_at) for size in family.plane)
    small = family.resized((first, second))
    levels = _candidates(small, epsilon)
    components, places = _components(small, levels), _places(small.plane)
    chances = np.ones(len(levels)) / len(levels)
    for steps in PLANE_CATEGORY_LEVELS.steps:
        chances = best_shares(components, chances, steps, places)
        chances[chances < PLANE_CATEGORY_LEVELS.least_chance * chances.max()] = 0.0
    chances = best_shares(components, chances, PLANE_CATEGORY_LEVELS.last_steps, places)
    kept = [(level, float(p)) for level, p in zip(levels, chances, strict=True) if p > 0]
    return _scaled(kept, small.plane, family.plane)


def _candidates(family: PlaneCategoryFamily, epsilon: float) -> list[PlaneCategoryLevel]:
    """Hashed cells of powers of 2 on each ordered attribute, and more widths near its size; of the plane combs, too."""
    first, second = family.axes
    widths, response = [_widths(size) for size in family.plane], hash_response(epsilon)
    planes = [plane_level(response, (a, b)) for a, b in product(*widths)]
    levels = [
        PlaneCategoryLevel(plane=plane, axes=(first, second), apart=apart)
        for apart in told_apart(family.parts)
        for plane in planes
        if any(apart) or any(plane.widths)
    ]
    if not all(any(part.apart) for part in family.parts):
        nothing = (False,) * len(family.sizes)
        combs = plane_combs(family.plane, epsilon)
        levels += [PlaneCategoryLevel(plane=comb, axes=(first, second), apart=nothing) for comb in combs]
    return levels


def _widths(size: int) -> list[int]:
    narrow = [1 << power for power in range(size.bit_length()) if 1 << power <= size]
    wide = [round(size * times) for times in PLANE_CATEGORY_LEVELS.wide]
    return sorted({0, *narrow, *(width for width in wide if width > 1)})


def _components(family: PlaneCategoryFamily, levels: Sequence[PlaneCategoryLevel]) -> list[Component]:
    """One for each part of the functions of the categories that a query has."""
    sizes, types = family.sizes, math.prod(family.plane)
    grams = [_gram(part) for part in family.parts]
    base = np.array([(level.factor(sizes, family.plane) * level.plane.kernel(family.plane)).ravel() for level in levels])
    found = []
    for subset in product((False, True), repeat=len(sizes)):
        shares = [share_of_part(part, subset, sizes) for part in family.parts]
        if not any(shares):
            continue
        gram = sum((share * gram for share, gram in zip(shares, grams, strict=True)), np.zeros((types, types)))
        told = np.array([told_by_level(level, subset, sizes) for level in levels])
        constant = 0.0 if any(subset) else float(math.prod(sizes))
        found.append(Component(told[:, None] * base, gram if any(subset) else centred(gram), constant))
    return found


def _gram(part: PlanePart) -> Floats:
    """Σ w v vᵀ of the rectangles of a part, (k, k) for the types of the plane."""
    first, second = (side.family.gram(np.eye(side.size)) for side in part.sides)
    return np.asarray(part.weight * np.kron(first, second))


def _places(plane: Pair) -> np.ndarray:
    """(k, k) which entry of a kernel each pair of types of the plane has."""
    first, second = np.indices(plane).reshape(2, -1)
    return np.asarray(np.abs(first[:, None] - first) * plane[1] + np.abs(second[:, None] - second))


def _scaled(
    levels: Sequence[tuple[PlaneCategoryLevel, float]], designed: Pair, plane: Pair
) -> list[PlaneCategoryLevel]:
    """Levels with their chances on as many types as `plane` has, whose chances sum to 1."""
    found: dict[PlaneCategoryLevel, float] = {}
    for level, chance in levels:
        for one in scaled_plane(level.plane, designed, plane):
            # A device takes no wider cells.
            first, second = (min(width, 2 * size) for width, size in zip(one.widths, plane, strict=True))
            made = replace(level, plane=replace(one, widths=(first, second)))
            found[made] = found.get(made, 0.0) + chance
    whole = sum(found.values())
    return [replace(level, plane=replace(level.plane, chance=p / whole)) for level, p in found.items()]
