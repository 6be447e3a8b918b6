"""Which levels grids on categories and one ordered attribute have, and how often.

As on a line, a design for a few hundred bins is one for any number. The information of levels adds up on each part of
the functions of the categories, those of sum 0 on some attributes and constant on the others, so that the chances of
levels that tell different attributes apart are found together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Protocol

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.grids.attribute_groups import Apart
from sordino_analysis.evaluation.grids.category_families import CategoryFamily
from sordino_analysis.evaluation.grids.category_levels import CategoryLevel
from sordino_analysis.mechanisms.grid_levels import combs
from sordino_analysis.mechanisms.hash_response import HashResponse, hash_response
from sordino_analysis.mechanisms.tuning import CATEGORY_LEVELS, GRID_LEVELS
from sordino_analysis.optimisation.level_chances import Component, best_shares, centred

Subset = tuple[bool, ...]


class TellsApart(Protocol):
    """A level, or a part of a workload."""

    @property
    def apart(self) -> Apart:
        """Whether it tells the members of each attribute without an order apart."""


@dataclass(frozen=True, eq=False)
class CategoryDesign:
    """Levels with chances for the queries of a `family`."""

    family: CategoryFamily
    levels: list[CategoryLevel]

    @classmethod
    def of(cls, family: CategoryFamily, responses: Sequence[HashResponse], epsilon: float) -> CategoryDesign:
        """The candidates, with even chances."""
        levels = _candidates(family, responses, epsilon)
        return cls(family, _with_chances(levels, np.ones(len(levels))))

    def stepped(self, grams: Sequence[Floats], steps: int) -> CategoryDesign:
        """After some steps towards the least trace of `grams` (k, k), one for each part; small chances go."""
        start = np.array([level.chance for level in self.levels])
        chances = best_shares(_components(self.family, self.levels, grams), start, steps)
        held = np.flatnonzero(chances >= CATEGORY_LEVELS.least_chance).tolist()
        return CategoryDesign(self.family, _with_chances([self.levels[place] for place in held], chances[held]))

    def scaled(self, bins: int) -> CategoryDesign:
        """The same for more bins, about a power of 2 times as many."""
        return CategoryDesign(self.family.resized(bins), _scaled(self.levels, self.family.bins, bins))


def designed_categories(family: CategoryFamily, epsilon: float) -> list[CategoryLevel]:
    """Levels with chances that sum to 1, for the mean variance of the family's queries."""
    chosen_at = halved(family.bins, CATEGORY_LEVELS.chosen_at)
    design = CategoryDesign.of(family.resized(chosen_at), [hash_response(epsilon)], epsilon)
    for steps in CATEGORY_LEVELS.steps:
        design = design.stepped(_grams(design.family), steps)
    refined_at = halved(family.bins, 2 * CATEGORY_LEVELS.chosen_at)
    if refined_at > chosen_at:
        design = design.scaled(refined_at)
        design = design.stepped(_grams(design.family), CATEGORY_LEVELS.last_steps)
    return design.scaled(family.bins).levels


def halved(size: int, most: int) -> int:
    """The size, halved until it is `most` at most."""
    while size > most:
        size //= 2
    return size


def _grams(family: CategoryFamily) -> list[Floats]:
    """Σ w v vᵀ of the intervals of each part, (k, k) each."""
    return [part.weight * part.family.gram(np.eye(family.bins)) for part in family.parts]


def _candidates(family: CategoryFamily, responses: Sequence[HashResponse], epsilon: float) -> list[CategoryLevel]:
    """Hashed cells of powers of 2, and of many widths near the size of the domain; of the line alone combs, too."""
    narrow = [
        1 << power for power in range(family.bins.bit_length()) if (1 << power) < CATEGORY_LEVELS.wide * family.bins
    ]
    first, last = (math.log(times, CATEGORY_LEVELS.ratio) for times in (CATEGORY_LEVELS.wide, CATEGORY_LEVELS.widest))
    periods = [CATEGORY_LEVELS.ratio**power for power in np.arange(first, last)]
    widths = sorted({*narrow, *(max(1, round(family.bins * times)) for times in periods)})
    levels: list[CategoryLevel] = []
    for apart, response in product(told_apart(family.parts), responses):
        lines = [response.level(width, hashed=True) for width in widths]
        levels += [CategoryLevel(line=line, axis=family.axis, apart=apart) for line in lines]
        if any(apart):
            levels.append(CategoryLevel(line=lines[0], axis=family.axis, apart=apart, whole=True))
    if not all(any(part.apart) for part in family.parts):
        nothing = (False,) * len(family.sizes)
        levels += [CategoryLevel(line=line, axis=family.axis, apart=nothing) for line in combs(family.bins, epsilon)]
    return levels


def told_apart(parts: Iterable[TellsApart]) -> list[Subset]:
    """Which attributes levels tell apart: those of each part, and of parts together where these are few."""
    found = {part.apart for part in parts}
    if len(found) > CATEGORY_LEVELS.most_joined:
        return sorted(found, reverse=True)
    for one, other in product(tuple(found), repeat=2):
        found.add(tuple(a or b for a, b in zip(one, other, strict=True)))
    return sorted(found, reverse=True)


def _components(family: CategoryFamily, levels: Sequence[CategoryLevel], grams: Sequence[Floats]) -> list[Component]:
    """One for each part of the functions of the categories that a query has."""
    bins, sizes = family.bins, family.sizes
    base = [level.factor(sizes, bins) * level.kernel(bins) for level in levels]
    found = []
    for subset in product((False, True), repeat=len(sizes)):
        shares = [share_of_part(part, subset, sizes) for part in family.parts]
        if not any(shares):
            continue
        gram = sum((share * gram for share, gram in zip(shares, grams, strict=True)), np.zeros((bins, bins)))
        told = [told_by_level(level, subset, sizes) for level in levels]
        kernels = np.array([share * kernel for share, kernel in zip(told, base, strict=True)])
        constant = 0.0 if any(subset) else float(math.prod(sizes))
        found.append(Component(kernels, gram if any(subset) else centred(gram), constant))
    return found


def share_of_part(part: TellsApart, subset: Subset, sizes: Sequence[int]) -> float:
    """How often the queries of a part are in the functions of sum 0 on the `subset`, added up over the members."""
    share = 1.0
    for size, named, zero in zip(sizes, part.apart, subset, strict=True):
        share *= (size - 1 if zero else 1) if named else (0 if zero else size)
    return share


def told_by_level(level: TellsApart, subset: Subset, sizes: Sequence[int]) -> float:
    """How much of a level's information there is on the functions of sum 0 on the `subset`."""
    if any(zero and not told for zero, told in zip(subset, level.apart, strict=True)):
        return 0.0
    return math.prod(size for size, told in zip(sizes, level.apart, strict=True) if not told)


def _with_chances(levels: Sequence[CategoryLevel], chances: Floats) -> list[CategoryLevel]:
    shares = (chances / chances.sum()).tolist()
    return [replace(level, line=replace(level.line, chance=share)) for level, share in zip(levels, shares, strict=True)]


def _scaled(levels: Sequence[CategoryLevel], bins: int, larger: int) -> list[CategoryLevel]:
    """Levels for `bins` as levels for the `larger` number, which is about a power of 2 times it."""
    octaves = round(math.log2(larger / bins))
    if not octaves:
        return list(levels)
    found: list[CategoryLevel] = []
    for level in levels:
        narrow = level.whole or (level.line.hashed and level.line.width <= GRID_LEVELS.plateau)
        widths = [level.line.width] if narrow else [round(level.line.width * larger / bins)]
        if level.line.width == GRID_LEVELS.plateau and narrow and not level.whole:
            widths = [level.line.width << octave for octave in range(octaves + 1)]
        found += [replace(level, line=replace(level.line, width=width)) for width in widths]
    return _with_chances(found, np.array([level.chance for level in found]))
