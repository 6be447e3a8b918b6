"""Levels beside categories for the worst query and type: denser sets, and chances for the queries that are worst.

Of somebody who holds a cell an answer varies most, the less the denser its sets are: at the density 1/(e^(ε/2) + 1) a
holder and another user are alike. And of the intervals within a member some are worse than others: their weights are
raised, and the chances are found again, until none is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.grids.category_families import CategoryFamily
from sordino_analysis.evaluation.grids.category_law import CategoryLaw
from sordino_analysis.evaluation.grids.category_levels import CategoryLevel
from sordino_analysis.evaluation.grids.families import Query
from sordino_analysis.mechanisms.category_grid_levels import CategoryDesign, halved
from sordino_analysis.mechanisms.hash_response import HashResponse
from sordino_analysis.mechanisms.tuning import CATEGORY_LEVELS

Place = tuple[int, Query]


def designed_for_the_worst(family: CategoryFamily, epsilon: float) -> list[CategoryLevel]:
    """Levels with chances that sum to 1, for the largest variance of a query and type, weighed as parts are."""
    chosen_at = halved(family.bins, CATEGORY_LEVELS.chosen_at)
    few = family.resized(chosen_at)
    found = [_designed(few, response, epsilon).scaled(family.bins).levels for response in _responses(epsilon)]
    places = _places(family)
    return min(found, key=lambda levels: _worst(family, levels, places).max())


def _designed(family: CategoryFamily, response: HashResponse, epsilon: float) -> CategoryDesign:
    """The best of the designs whose queries are weighed by how bad they were before."""
    places = _places(family)
    weights = np.ones(len(places))
    design = CategoryDesign.of(family, [response], epsilon)
    best, least = design, math.inf
    for _ in range(CATEGORY_LEVELS.worst_rounds):
        design = design.stepped(_grams(family, places, weights), CATEGORY_LEVELS.worst_steps)
        worst = _worst(family, design.levels, places)
        if worst.max() < least:
            best, least = design, float(worst.max())
        weights = weights * (worst / worst.max()) ** CATEGORY_LEVELS.worst_power
        weights /= weights.mean()
    return best


def _places(family: CategoryFamily) -> list[Place]:
    """Some queries of each part, by its number, about any member."""
    return [
        (number, query) for number, part in enumerate(family.parts) for query in part.samples(CATEGORY_LEVELS.compared)
    ]


def _grams(family: CategoryFamily, places: Sequence[Place], weights: Floats) -> list[Floats]:
    """Σ ω v vᵀ of the intervals of each part, (k, k) each."""
    found = []
    for number, part in enumerate(family.parts):
        some = [at for at, place in enumerate(places) if place[0] == number]
        rows = part.family.rows([places[at][1] for at in some]) * np.sqrt(part.weight * weights[some])[:, None]
        found.append(np.asarray(rows.T @ rows) / part.categories(family.sizes))
    return found


def _worst(family: CategoryFamily, levels: Sequence[CategoryLevel], places: Sequence[Place]) -> Floats:
    """(m,) w times the largest variance of each query over the types."""
    law, found = CategoryLaw(levels, family.shape), np.empty(len(places))
    for at, (number, query) in enumerate(places):
        part = family.parts[number]
        classes = law.classes(part.query(family.shape, family.axis, query))
        found[at] = part.weight * law.class_variances(classes).max()
    return found


def _responses(epsilon: float) -> Iterator[HashResponse]:
    """Of the density that is best for the worst type of one cell, and of some between it and the one for the mean."""
    densest, mean = 1 / (math.exp(epsilon / 2) + 1), 1 / (math.exp(epsilon) + 1)
    for share in CATEGORY_LEVELS.shares_of_mean:
        density = densest ** (1 - share) * mean**share
        for bits in range(1, CATEGORY_LEVELS.worst_label_bits + 1):
            hits = min((1 << bits) - 1, max(1, round(density * (1 << bits))))
            if abs(hits / (1 << bits) / density - 1) < CATEGORY_LEVELS.near_density:
                break
        yield HashResponse(hits, 1 << bits, epsilon)
