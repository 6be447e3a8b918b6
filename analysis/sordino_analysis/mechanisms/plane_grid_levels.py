"""Which levels grids on two attributes have, and how often: for at most 16 × 16 types, and scaled to any number.

As on a line, octaves of widths between narrow and wide cells are alike on each attribute, so that a design for a few
types is one for many.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.grids.levels import Pair
from sordino_analysis.evaluation.grids.plane_levels import PlaneLevel
from sordino_analysis.mechanisms.hash_response import HashResponse, hash_response
from sordino_analysis.mechanisms.tuning import PLANE_LEVELS
from sordino_analysis.optimisation.level_chances import best_chances


def designed_plane(shape: Pair, epsilon: float) -> list[PlaneLevel]:
    """Levels on k₁ × k₂ types with chances that sum to 1, for the mean variance of all prefix sums."""
    designed = min(shape[0], PLANE_LEVELS.designed_at), min(shape[1], PLANE_LEVELS.designed_at)
    levels, gram = _candidates(designed, epsilon), _gram(designed)
    kernels = np.array([(level.factor(designed) * level.kernel(designed)).ravel() for level in levels])
    first, second = np.indices(designed).reshape(2, -1)
    places = np.abs(first[:, None] - first) * designed[1] + np.abs(second[:, None] - second)
    chances = np.ones(len(levels))
    for steps in PLANE_LEVELS.steps:
        chances = best_chances(kernels, gram, chances, steps, places)
        chances[np.argsort(chances)[: -PLANE_LEVELS.most_levels]] = 0.0
    chances = best_chances(kernels, gram, chances, PLANE_LEVELS.last_steps, places)
    if shape[0] == shape[1]:
        chances = _alike(levels, chances)
    chosen = [
        replace(level, chance=float(p))
        for level, p in zip(levels, chances, strict=True)
        if p > PLANE_LEVELS.least_chance
    ]
    return _scaled(chosen, designed, shape)


def _alike(levels: Sequence[PlaneLevel], chances: Floats) -> Floats:
    """Chances that are the same with the attributes exchanged; they are already, but for rounding and ties."""
    places = {level: place for place, level in enumerate(levels)}
    return np.asarray((chances + chances[[places[level.exchanged] for level in levels]]) / 2)


def _candidates(designed: Pair, epsilon: float) -> list[PlaneLevel]:
    """Hashed cells of every power of 2 on each attribute, and combs."""
    widths = [[0, *(1 << power for power in range(size.bit_length()))] for size in designed]
    response = hash_response(epsilon)
    levels = [plane_level(response, (a, b)) for a, b in product(*widths) if a or b]
    return levels + plane_combs(designed, epsilon)


def plane_combs(designed: Pair, epsilon: float) -> list[PlaneLevel]:
    """Combs of one attribute and of both whose period is near the size of the domain."""
    levels: list[PlaneLevel] = []
    combs = [pair for count in PLANE_LEVELS.combs_of_one for pair in ((count, 1), (1, count))]
    enough = PLANE_LEVELS.least_information * math.sinh(epsilon / 2) ** 2
    for residues in (*combs, *PLANE_LEVELS.combs_of_both):
        comb = HashResponse(1, math.prod(residues), epsilon)
        if comb.information >= enough:
            sides = [_comb_widths(size, count) for size, count in zip(designed, residues, strict=True)]
            levels += [plane_level(comb, (a, b), residues) for a, b in product(*sides)]
    return levels


def _comb_widths(size: int, residues: int) -> list[int]:
    if residues == 1:
        return [0]
    return sorted({max(1, round(size * period / residues)) for period in PLANE_LEVELS.periods})


def plane_level(response: HashResponse, widths: Pair, residues: Pair | None = None) -> PlaneLevel:
    """The level of this response, of no chance yet."""
    return PlaneLevel(
        chance=0.0,
        widths=widths,
        labels=response.labels,
        hits=response.hits,
        high=response.high,
        low=response.low,
        residues=residues,
    )


def _gram(designed: Pair) -> Floats:
    """Σ v vᵀ/k over all prefix sums of the plane, (k, k); the constant one adds nothing once it is centred."""
    prefixes = [np.tril(np.ones((size, size))) for size in designed]
    first, second = [prefix.T @ prefix / len(prefix) for prefix in prefixes]
    return np.asarray(np.kron(first, second))


def _scaled(levels: Sequence[PlaneLevel], designed: Pair, shape: Pair) -> list[PlaneLevel]:
    """Levels for as many types as `shape` has, with chances that sum to 1."""
    found = [one for level in levels for one in scaled_plane(level, designed, shape)]
    whole = sum(level.chance for level in found)
    return [replace(level, chance=level.chance / whole) for level in found]


def scaled_plane(level: PlaneLevel, designed: Pair, shape: Pair) -> list[PlaneLevel]:
    """What a level stands for on as many types as `shape` has, each side about a power of 2 times the designed one.

    Each has its chance.
    """
    times = [size / few for size, few in zip(shape, designed, strict=True)]
    if level.residues is None:
        octaves = [max(0, round(math.log2(factor))) for factor in times]
        sides = [_octaves(width, count) for width, count in zip(level.widths, octaves, strict=True)]
    else:
        sides = [[round(width * factor)] for width, factor in zip(level.widths, times, strict=True)]
    return [replace(level, widths=(first, second)) for first, second in product(*sides)]


def _octaves(width: int, octaves: int) -> list[int]:
    """The widths that a designed width stands for on a side so many octaves larger."""
    if width < PLANE_LEVELS.plateau:
        return [width]
    return [width << octave for octave in range(octaves + 1)] if width == PLANE_LEVELS.plateau else [width << octaves]
