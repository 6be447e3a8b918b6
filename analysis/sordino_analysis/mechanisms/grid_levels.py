"""Which levels shifted grids have, and how often: designed for a few hundred types and scaled to any number.

The best information matrix for prefix sums is like −log|x − x'|, a mixture of triangles of all widths with the weight
dw/w, and a triangle is the chance that x and x' share a cell of a randomly shifted grid. So away from the narrowest and
the widest cells a factor of 2 in the widths has one chance, and a design for 512 types is one for 65,536: its narrow
levels stay, its wide ones grow with the domain, and each octave between them has the chance of those before it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.optimize import minimize

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.grids.families import LineFamily
from sordino_analysis.evaluation.grids.law import GridLaw
from sordino_analysis.evaluation.grids.levels import GridLevel
from sordino_analysis.evaluation.grids.means import mean_variances
from sordino_analysis.mechanisms.grid_maximum_levels import largest_variance, levels_for_maximum
from sordino_analysis.mechanisms.hash_response import HashResponse, hash_response
from sordino_analysis.mechanisms.stack_tuning import STACK_LEVELS
from sordino_analysis.mechanisms.tuning import GRID_LEVELS, GridLevelsTuning
from sordino_analysis.optimisation.level_chances import best_chances
from sordino_analysis.request_terms import Objective

# Steps are limited, and evaluations are not.
_UNLIMITED = 1 << 20


def designed_levels(family: LineFamily, epsilon: float, objective: Objective = "mean") -> list[GridLevel]:
    """Levels with chances that sum to 1; for the maximum with what a report of each counts.

    Where there are several designs the best one for the objective is taken.
    """
    designs = _for_mean(family, epsilon)
    if objective == "mean":
        return min(designs, key=lambda one: _mean_variance(one, family)) if len(designs) > 1 else designs[0]
    designs.append(levels_for_maximum(family, epsilon))
    return min(designs, key=lambda one: largest_variance(one, family, GRID_LEVELS.compared))


def _for_mean(family: LineFamily, epsilon: float) -> list[list[GridLevel]]:
    """By the trace, and where ε is large by the exact mean variance too."""
    size = family.size
    chosen_at = _halved(size, GRID_LEVELS.chosen_at)
    # Sums and cells pull at different levels, so that a stack gains from more of them to choose from.
    tuning = STACK_LEVELS if len(family.parts) > 1 and epsilon <= GRID_LEVELS.exact_from else GRID_LEVELS
    chosen = _chosen(_candidates(chosen_at, epsilon, tuning), _gram(family, chosen_at), tuning)
    refined_at, levels = _halved(size, 2 * GRID_LEVELS.chosen_at), chosen
    if refined_at > chosen_at:
        levels = _scaled(chosen, chosen_at, refined_at)
        levels = _with_chances(levels, _chances(levels, _gram(family, refined_at), GRID_LEVELS.last_steps))
    designs = [_scaled(levels, refined_at, size)]
    if len(family.parts) > 1:
        designs = [_with_more_narrow(designs[0])]
    if epsilon > GRID_LEVELS.exact_from:
        designs.append(_kept(_scaled(_descended(chosen, family.resized(chosen_at)), chosen_at, size)))
    return designs


def _with_more_narrow(levels: Sequence[GridLevel]) -> list[GridLevel]:
    """A little more for the cells of one or two types, which the worst cell hangs on."""
    gains = [STACK_LEVELS.narrow_gain if level.hashed and level.width <= 2 else 1.0 for level in levels]
    return _with_chances(levels, np.array([level.chance for level in levels]) * gains)


def _descended(levels: Sequence[GridLevel], family: LineFamily) -> list[GridLevel]:
    """The levels at chances of less exact variance, by a few quasi-Newton steps over the logarithms.

    The trace neglects what the holder's own cell adds and that a mean is taken off, a few per cent where ε is large.
    """

    def variance(logarithms: Floats) -> float:
        moved = _with_chances(levels, np.exp(logarithms - logarithms.max()))
        by_type = np.maximum(mean_variances(GridLaw(moved, family.size), family), 0.0)
        return float((by_type**GRID_LEVELS.worst_power).mean() ** (1 / GRID_LEVELS.worst_power))

    start = np.log([level.chance for level in levels])
    optimum = minimize(
        variance, start, method="L-BFGS-B", options={"maxiter": GRID_LEVELS.exact_steps, "maxfun": _UNLIMITED}
    ).x
    return _with_chances(levels, np.exp(optimum - optimum.max()))


def _mean_variance(levels: Sequence[GridLevel], family: LineFamily) -> float:
    return float(mean_variances(GridLaw(levels, family.size), family).max())


def _halved(size: int, most: int) -> int:
    while size > most:
        size //= 2
    return size


def _gram(family: LineFamily, size: int) -> Floats:
    """Σ w_v v vᵀ/Q of a family like this one over fewer types, (size, size)."""
    smaller = family.resized(size)
    return smaller.gram(np.eye(size)) / smaller.count


def _candidates(size: int, epsilon: float, tuning: GridLevelsTuning) -> list[GridLevel]:
    """Hashed cells of every power of 2, and combs whose period is near the size of the domain."""
    response = hash_response(epsilon, tuning=tuning)
    levels = [response.level(1 << power, hashed=True) for power in range((size - 1).bit_length())]
    return levels + combs(size, epsilon, tuning)


def combs(size: int, epsilon: float, tuning: GridLevelsTuning = GRID_LEVELS) -> list[GridLevel]:
    """Combs whose period is near the size of the domain, of every density that tells enough."""
    levels: list[GridLevel] = []
    shares = [HashResponse(hits, labels, epsilon) for hits, labels in GRID_LEVELS.comb_shares]
    enough = GRID_LEVELS.least_information * math.sinh(epsilon / 2) ** 2
    first, last = (math.log(times, tuning.ratio) for times in GRID_LEVELS.comb_periods)
    periods = [size * tuning.ratio**power for power in np.arange(first, last)]
    for share in shares:
        if share.information >= enough:
            widths = {round(period / share.labels) for period in periods} - {0}
            levels += [share.level(width, hashed=False) for width in sorted(widths)]
    return levels


def _chosen(levels: Sequence[GridLevel], gram: Floats, tuning: GridLevelsTuning) -> list[GridLevel]:
    """The candidates that are worth their bytes, with chances: the least combs go, a third at a time."""
    chances = _chances(levels, gram, GRID_LEVELS.first_steps)
    combs = np.array([not level.hashed for level in levels])
    while (count := int((chances[combs] > 0).sum())) > tuning.combs:
        chances = _chances(_with_chances(levels, chances), gram, GRID_LEVELS.pruning_steps)
        left = np.flatnonzero(combs & (chances > 0))
        chances[left[np.argsort(chances[left])[: max(1, (count - tuning.combs) // 3)]]] = 0.0
    chances = _chances(_with_chances(levels, chances), gram, GRID_LEVELS.first_steps)
    return _kept(_with_chances(levels, chances))


def _kept(levels: Sequence[GridLevel]) -> list[GridLevel]:
    # The narrowest cells stay, however little they tell: they make the decoder's system positive.
    least, narrowest = GRID_LEVELS.least_chance, min(level.width for level in levels)
    kept = [
        replace(level, chance=max(level.chance, least))
        for level in levels
        if level.chance >= least or (level.hashed and level.width == narrowest)
    ]
    return _with_chances(kept, np.array([level.chance for level in kept]))


def _chances(levels: Sequence[GridLevel], gram: Floats, steps: int) -> Floats:
    size = len(gram)
    kernels = np.array([level.factor(size) * level.kernel(size) for level in levels])
    start = np.array([level.chance for level in levels])
    return best_chances(kernels, gram, start if start.any() else np.ones(len(levels)), steps)


def _with_chances(levels: Sequence[GridLevel], chances: Floats) -> list[GridLevel]:
    shares = (chances / chances.sum()).tolist()
    return [replace(level, chance=share) for level, share in zip(levels, shares, strict=True)]


def _scaled(levels: Sequence[GridLevel], size: int, larger: int) -> list[GridLevel]:
    """Levels for `size` types as levels for the `larger` number, which is about a power of 2 times it."""
    octaves = round(math.log2(larger / size))
    if not octaves:
        return list(levels)
    narrow = [level for level in levels if level.hashed and level.width <= GRID_LEVELS.plateau]
    wide = [level for level in levels if not (level.hashed and level.width <= GRID_LEVELS.plateau)]
    # Smooth rows choose no narrow cells; without any the decoder's system is not positive.
    plateau = [replace(last, width=last.width << octave) for last in narrow[-1:] for octave in range(1, octaves + 1)]
    grown = [replace(level, width=_grown(level, larger / size, octaves)) for level in wide]
    scaled_levels = [*narrow, *plateau, *grown]
    return _with_chances(scaled_levels, np.array([level.chance for level in scaled_levels]))


def _grown(level: GridLevel, times: float, octaves: int) -> int:
    return level.width << octaves if level.hashed else round(level.width * times)
