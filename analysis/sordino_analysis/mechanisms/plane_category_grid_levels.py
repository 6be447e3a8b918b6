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
from sordino_analysis.evaluation.grids.plane_category_law import PlaneCategoryLaw
from sordino_analysis.evaluation.grids.plane_category_levels import PlaneCategoryLevel
from sordino_analysis.evaluation.grids.plane_families import PlaneCategoryFamily, PlanePart, Rectangle
from sordino_analysis.mechanisms.category_grid_levels import share_of_part, told_apart, told_by_level
from sordino_analysis.mechanisms.hash_response import hash_response
from sordino_analysis.mechanisms.plane_grid_levels import plane_combs, plane_level, scaled_plane
from sordino_analysis.mechanisms.tuning import PLANE_CATEGORY_LEVELS
from sordino_analysis.optimisation.level_chances import Component, best_shares, centred
from sordino_analysis.request_terms import Objective


def designed_plane_categories(
    family: PlaneCategoryFamily, epsilon: float, objective: Objective
) -> list[PlaneCategoryLevel]:
    """Levels with chances that sum to 1, for the mean variance of the family's queries or for the largest."""
    first, second = (min(size, PLANE_CATEGORY_LEVELS.designed_at) for size in family.plane)
    small = family.resized((first, second))
    levels = _candidates(small, epsilon)
    grams, places = [_gram(part) for part in small.parts], _places(small.plane)
    chances = np.ones(len(levels))
    for steps in PLANE_CATEGORY_LEVELS.steps:
        chances = best_shares(_components(small, levels, grams), chances, steps, places)
        held = np.flatnonzero(chances >= PLANE_CATEGORY_LEVELS.least_chance * chances.max()).tolist()
        levels, chances = [levels[place] for place in held], chances[held]
    levels = _with_chances(levels, chances)
    if objective == "max":
        levels = _for_the_worst(small, levels)
    return _scaled(levels, small.plane, family.plane)


def _for_the_worst(family: PlaneCategoryFamily, levels: list[PlaneCategoryLevel]) -> list[PlaneCategoryLevel]:
    """The chances with the smallest maximum met while queries count the more the larger their variance is."""
    times = PLANE_CATEGORY_LEVELS.worst_spread
    asked = [[*dict.fromkeys([*part.spread(times), *part.at_the_ends(times)])] for part in family.parts]
    sizes, places = [len(each) for each in asked], _places(family.plane)
    weights, best, least = np.ones(sum(sizes)), levels, math.inf
    for _ in range(PLANE_CATEGORY_LEVELS.worst_rounds):
        worst = _worst(family, levels, asked)
        if worst.max() < least:
            best, least = levels, float(worst.max())
        weights = weights * (worst / worst.max()) ** PLANE_CATEGORY_LEVELS.worst_power
        weights /= weights.sum()
        parts = zip(family.parts, asked, np.split(weights, np.cumsum(sizes)[:-1]), strict=True)
        grams = [_weighed(family, part, rectangles, each) for part, rectangles, each in parts]
        chances = np.array([level.chance for level in levels])
        steps = PLANE_CATEGORY_LEVELS.worst_steps
        levels = _with_chances(levels, best_shares(_components(family, levels, grams), chances, steps, places))
    return best


def _worst(
    family: PlaneCategoryFamily, levels: list[PlaneCategoryLevel], asked: Sequence[Sequence[Rectangle]]
) -> Floats:
    """(m,) w times the largest variance of each query over the types."""
    law = PlaneCategoryLaw(levels, family.shape)
    found = [
        part.weight * law.class_variances(law.classes(part.query(family.shape, family.axes, one))).max()
        for part, rectangles in zip(family.parts, asked, strict=True)
        for one in rectangles
    ]
    return np.array(found)


def _weighed(family: PlaneCategoryFamily, part: PlanePart, rectangles: Sequence[Rectangle], weights: Floats) -> Floats:
    """Σ ω w v vᵀ (k, k) of some rectangles of a part, of one combination of members each, for `weights` ω (m,)."""
    rows = np.zeros((len(rectangles), *family.plane))
    for row, ((a, b), (c, d)) in zip(rows, rectangles, strict=True):
        row[a:b, c:d] = 1.0
    flat = rows.reshape(len(rectangles), -1) * np.sqrt(part.weight * weights / part.categories(family.sizes))[:, None]
    return np.asarray(flat.T @ flat)


def _with_chances(levels: Sequence[PlaneCategoryLevel], chances: Floats) -> list[PlaneCategoryLevel]:
    shares = (chances / chances.sum()).tolist()
    return [
        replace(level, plane=replace(level.plane, chance=share)) for level, share in zip(levels, shares, strict=True)
    ]


def _candidates(family: PlaneCategoryFamily, epsilon: float) -> list[PlaneCategoryLevel]:
    """Hashed cells of powers of 2 on each ordered attribute, and of the plane alone combs, too."""
    first, second = family.axes
    widths = [[0, *(1 << power for power in range(size.bit_length()))] for size in family.plane]
    response = hash_response(epsilon)
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


def _components(
    family: PlaneCategoryFamily, levels: Sequence[PlaneCategoryLevel], grams: Sequence[Floats]
) -> list[Component]:
    """One for each part of the functions of the categories that a query has."""
    sizes, types = family.sizes, math.prod(family.plane)
    kernels = [level.factor(sizes, family.plane) * level.plane.kernel(family.plane) for level in levels]
    base = np.array(kernels).reshape(len(levels), types)
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


def _scaled(levels: Sequence[PlaneCategoryLevel], designed: Pair, plane: Pair) -> list[PlaneCategoryLevel]:
    """Levels on as many types as `plane` has, whose chances sum to 1."""
    found = [
        replace(level, plane=replace(one, widths=_at_most(one.widths, plane)))
        for level in levels
        for one in scaled_plane(level.plane, designed, plane)
    ]
    return _with_chances(found, np.array([level.chance for level in found]))


def _at_most(widths: Pair, plane: Pair) -> Pair:
    """A device takes no cells wider than twice the attribute."""
    first, second = (min(width, 2 * size) for width, size in zip(widths, plane, strict=True))
    return first, second
