"""Families of rows that are drawn with fixed shares, and the best chances of the families for symmetric queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats, Mask
from sordino_analysis.optimisation.symmetry.orbit_design import OrbitDesign, few_rows
from sordino_analysis.optimisation.symmetry.orbit_rows import RowShape
from sordino_analysis.optimisation.symmetry.programs import best_chances
from sordino_analysis.optimisation.symmetry.query_fourier_weights import query_fourier_weights
from sordino_analysis.optimisation.symmetry.rows_not_found import RowsNotFound
from sordino_analysis.questions.linear.widths import CharacterMap
from sordino_analysis.request_terms import Objective


@dataclass(frozen=True, eq=False)
class RowFamily:
    """Sets (n, K) of cells of a shape and their shares (n,); `profile` (orbits,) is what they tell together."""

    shape: RowShape
    sets: Mask
    shares: Floats
    profile: Floats


def drawn_rows(families: Sequence[RowFamily], operator: CharacterMap, objective: Objective) -> OrbitDesign:
    """The mixture of families with the least mean variance over queries, or over the worst block of them.

    Raises RowsNotFound where queries need an orbit of characters about which no family is informative.
    """
    needs, profiles = query_fourier_weights(operator), np.stack([family.profile for family in families])
    if ((needs.by_orbit.max(axis=0) > 0) & (profiles.max(axis=0) <= 0)).any():
        raise RowsNotFound("its rows carry no information on a character that the queries need", "not told")
    chances, weights, _ = best_chances(profiles, operator.characters.orbit_sizes, needs, objective)
    kept, chances = few_rows(profiles, chances)
    chosen = [families[number] for number in kept]
    rows = [members.reshape(family.shape.sizes) for family in chosen for members in family.sets]
    shares = [chance * family.shares for family, chance in zip(chosen, chances, strict=True)]
    return OrbitDesign(tuple(rows), np.concatenate(shares), weights)
