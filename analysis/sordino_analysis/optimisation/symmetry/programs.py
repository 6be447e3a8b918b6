"""The convex programs of symmetric designs, small ones in a number for each orbit or row."""

from __future__ import annotations

import contextlib
import math
import warnings

import cvxpy as cp
import numpy as np
from cvxpy.atoms.affine.binary_operators import multiply
from cvxpy.atoms.affine.sum import sum as cvx_sum
from cvxpy.atoms.elementwise.power import power

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.symmetry.group_orbits import GroupOrbits
from sordino_analysis.optimisation.symmetry.query_fourier_weights import QueryFourierWeights
from sordino_analysis.optimisation.symmetry.rows_not_found import RowsNotFound
from sordino_analysis.request_terms import Objective

_GRID = 64


def best_chances(
    profiles: Floats, orbit_sizes: Floats, needs: QueryFourierWeights, objective: Objective
) -> tuple[Floats, Floats, Floats]:
    """Chances (n,), weights (blocks,) of the blocks at the optimum, and prices (orbits,) of the information there.

    Raises RowsNotFound without an optimum.
    """
    used = np.flatnonzero(needs.by_orbit.max(axis=0) > 0)
    typical = profiles[:, used].mean(axis=0)
    costs = needs.by_orbit[:, used] * orbit_sizes[used] / typical
    scale = float((needs.shares @ costs).sum())
    chances = cp.Variable(len(profiles), nonneg=True)
    information = (profiles[:, used] / typical).T @ chances
    blocks = (costs / scale) @ power(information, -1) - needs.by_orbit.sum(axis=1) / scale
    constraints = [cvx_sum(chances) == 1]
    if objective == "mean":
        problem, worst = cp.Problem(cp.Minimize(needs.shares @ blocks), constraints), None
    else:
        top = cp.Variable()
        worst = blocks <= top
        problem = cp.Problem(cp.Minimize(top), [*constraints, worst])
    _solve(problem)
    if chances.value is None:
        raise RowsNotFound(f"the program for the rows' chances ended {problem.status}", problem.status)
    weights = needs.shares if worst is None else np.maximum(worst.dual_value, 0.0)
    weights = weights / weights.sum()
    found = np.maximum(chances.value, 0.0)
    found /= found.sum()
    prices = np.zeros(len(orbit_sizes))
    prices[used] = (weights @ (needs.by_orbit * orbit_sizes)[:, used]) / (found @ profiles[:, used]) ** 2
    return found, weights, prices


def best_multipliers(needed: Floats, orbits: GroupOrbits, epsilon: float) -> tuple[Floats, Floats, float]:
    """c, g and μ of `character_bound` with the largest Σ √(needed · c) for F ≤ 1 on a grid of p, in sinh²(ε/2).

    `needed` (orbits,) is N_o Σ n_r over each orbit. What the grid misses is counted by the recheck.
    """
    scale = math.sinh(epsilon / 2) ** 2
    used, cells = np.flatnonzero(needed > 0), float(orbits.sizes.sum())
    spectrum = cp.Variable(len(used), nonneg=True)
    multipliers = cp.Variable(len(orbits.sizes) - 1, nonneg=True)
    level, falls = cp.Variable(), cp.Variable(len(orbits.sizes) - 1, nonneg=True)
    weighted = multiply(orbits.sizes, orbits.table[:, 1:] @ multipliers / cells - level / cells)
    rises = weighted[1:] + falls
    low = 1 - np.union1d(np.linspace(math.exp(-epsilon), 1.0, _GRID), np.geomspace(math.exp(-epsilon), 1.0, _GRID))
    high = np.maximum(math.exp(epsilon) * (1 - low) - 1, 0.0)
    mixed, least = low * high / scale, np.minimum(low, high) ** 2 / scale
    form = mixed * (weighted[0] + cvx_sum(rises)) + least * cvx_sum(falls)
    problem = cp.Problem(
        cp.Maximize(np.sqrt(needed[used] / needed.max()) @ power(spectrum, 0.5)),
        [form <= 1, rises >= 0, multipliers[orbits.places[used] - 1] >= spectrum],
    )
    _solve(problem)
    if spectrum.value is None or multipliers.value is None or level.value is None:
        return np.ones(len(needed)), np.ones(1), 0.0
    found = np.zeros(len(needed))
    found[used] = np.maximum(spectrum.value, 0.0)
    dominating = np.maximum(multipliers.value, 0.0)
    dominating[orbits.places - 1] = np.maximum(dominating[orbits.places - 1], found)
    return found, dominating, float(level.value) / cells


def _solve(problem: cp.Problem) -> None:
    """Run the solver; where it fails, variables have no value. An inaccurate point is as good as another here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with contextlib.suppress(cp.SolverError):
            problem.solve(solver="CLARABEL")
