"""The best certificate of `pair_game` for given populations, by a cone program."""

from __future__ import annotations

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.bounds.listed_rows_program import ListedRowsProblem, solve_listed_rows
from sordino_analysis.optimisation.bounds.pair_game import PairGame, slopes
from sordino_analysis.optimisation.bounds.row_orbits import row_orbits
from sordino_analysis.request_terms import Target


def best_pair_game(matrix: Floats, epsilon: float, users: int, target: Target, populations: Floats) -> PairGame | None:
    """The numbers of the largest bound for W (m, m) and populations (P, m), weights of these among them.

    None where no population's statistic moves with one user, and where the solver finds nothing.
    """
    queries = slopes(matrix, populations, users, target)
    scale = float(np.abs(queries).max())
    if scale == 0:
        return None
    types = len(matrix)
    orbits = row_orbits(queries / scale, populations, (types,))
    # Populations that are alike weigh the same, or rows of one class would not be alike.
    owners = np.unique(orbits.entries.min(axis=1), return_inverse=True)[1]
    numbers = solve_listed_rows(
        ListedRowsProblem(
            matrix=queries / scale,
            epsilon=epsilon,
            factors=populations,
            groups=np.repeat(owners[:, None], types, axis=1),
            orbits=orbits,
        )
    )
    if numbers is None:
        return None
    weights = numbers.weights.sum(axis=1)
    return PairGame(
        populations=populations,
        weights=weights / weights.sum(),
        numerators=numbers.numerators * scale,
        multipliers=numbers.multipliers * scale**2,
    )
