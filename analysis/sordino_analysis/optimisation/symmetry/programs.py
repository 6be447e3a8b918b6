"""The convex programs of symmetric designs, small ones in a number for each orbit or row."""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.conic_program import Affine, ConicProgram
from sordino_analysis.optimisation.symmetry.group_orbits import GroupOrbits
from sordino_analysis.optimisation.symmetry.query_fourier_weights import QueryFourierWeights
from sordino_analysis.optimisation.symmetry.rows_not_found import RowsNotFound
from sordino_analysis.optimisation.symmetry.tuning import PROGRAMS
from sordino_analysis.questions.linear.characters import Integers
from sordino_analysis.request_terms import Objective


def best_chances(
    profiles: Floats, orbit_sizes: Floats, needs: QueryFourierWeights, objective: Objective
) -> tuple[Floats, Floats, Floats]:
    """Chances (n,), weights (blocks,) of the blocks at the optimum, and prices (orbits,) of the information there.

    Raises RowsNotFound without an optimum.
    """
    used = np.flatnonzero(needs.by_orbit.max(axis=0) > 0)
    # "mean" is one block: their mean.
    blocks = np.eye(len(needs.shares)) if objective == "max" else needs.shares[None]
    program, by_block = _chances_program(profiles[:, used], needs.by_orbit[:, used] * orbit_sizes[used], needs, blocks)
    solution = program.solve()
    if not solution.values:
        raise RowsNotFound(f"the program for the rows' chances ended {solution.status}", solution.status)
    weights = np.maximum(solution.prices[by_block], 0.0) @ blocks
    weights = weights / weights.sum()
    chances = np.maximum(solution.values["chances"], 0.0)
    chances /= chances.sum()
    prices = np.zeros(len(orbit_sizes))
    prices[used] = (weights @ (needs.by_orbit * orbit_sizes)[:, used]) / (chances @ profiles[:, used]) ** 2
    return chances, weights, prices


def _chances_program(
    profiles: Floats, needed: Floats, needs: QueryFourierWeights, blocks: Floats
) -> tuple[ConicProgram, int]:
    """The program for chances (n,), and where its prices of the `blocks` are; information (n, orbits) of the rows.

    The worst block's Σ `needed`·variance is least, where the variance of an orbit is the inverse of its information.
    All is in units of typical rows, so that numbers are of order 1.
    """
    typical = profiles.mean(axis=0)
    costs = needed / typical
    scale = float((needs.shares @ costs).sum())
    informed = (profiles / typical).T
    orbits, size = informed.shape
    program = ConicProgram({"chances": size, "variances": orbits, "worst": 1}, {"worst": np.ones(1)})
    program.zero(Affine({"chances": np.ones((1, size))}, -1.0))
    program.not_negative(Affine({"chances": sparse.eye_array(size)}))
    # 1 ≤ variance · information of each orbit
    above, below = ({"chances": informed, "variances": sign * sparse.eye_array(orbits)} for sign in (1, -1))
    two = Affine({"variances": sparse.csr_array((orbits, orbits))}, 2.0)
    program.second_order([Affine(above), Affine(below), two])
    constants = blocks @ needs.by_orbit.sum(axis=1) / scale
    worst = {"variances": -blocks @ costs / scale, "worst": np.ones((len(blocks), 1))}
    return program, program.not_negative(Affine(worst, constants))


def evenest_chances(costs: Floats) -> Floats:
    """(n,) chances p with the least max_b Σ_j c_bj/p_j, for costs c (blocks, n) of which no column is 0.

    Raises RowsNotFound without an optimum.
    """
    blocks, size = costs.shape
    # Of order 1: chances in units of those that are best for the sum of all blocks.
    typical = np.sqrt(costs.sum(axis=0))
    typical /= typical.sum()
    scaled = costs / typical
    program = ConicProgram({"chances": size, "inverses": size, "worst": 1}, {"worst": np.ones(1)})
    program.zero(Affine({"chances": typical[None]}, -1.0))
    # 1 ≤ chance · inverse
    both = [Affine({"chances": sparse.eye_array(size), "inverses": sign * sparse.eye_array(size)}) for sign in (1, -1)]
    program.second_order([*both, Affine({"inverses": sparse.csr_array((size, size))}, 2.0)])
    program.not_negative(Affine({"inverses": -scaled / scaled.max(), "worst": np.ones((blocks, 1))}))
    solution = program.solve()
    if not solution.values:
        raise RowsNotFound(f"the program for chances ended {solution.status}", solution.status)
    chances = np.maximum(solution.values["chances"], 0.0) * typical
    return np.asarray(chances / chances.sum())


def best_multipliers(needed: Floats, orbits: GroupOrbits, epsilon: float) -> tuple[Floats, Floats, float]:
    """c, g and μ of `character_bound` with the largest Σ √(needed · c) for F ≤ 1 on a grid of p, in sinh²(ε/2).

    `needed` (orbits,) is N_o Σ n_r over each orbit. What the grid misses is counted by the recheck.
    """
    used = np.flatnonzero(needed > 0)
    solution = _multiplier_program(
        np.sqrt(needed[used] / needed.max()), orbits.places[used] - 1, orbits, epsilon
    ).solve()
    if not solution.values:
        return np.ones(len(needed)), np.ones(1), 0.0
    multipliers = np.zeros(len(needed))
    multipliers[used] = np.maximum(solution.values["spectrum"], 0.0)
    dominating = np.maximum(solution.values["multipliers"], 0.0)
    dominating[orbits.places - 1] = np.maximum(dominating[orbits.places - 1], multipliers)
    return multipliers, dominating, float(solution.values["level"][0]) / float(orbits.sizes.sum())


def _multiplier_program(gains: Floats, places: Integers, orbits: GroupOrbits, epsilon: float) -> ConicProgram:
    """max Σ gains · √spectrum for spectrum (used,) at most the multipliers at its `places`, and F ≤ 1 on the grid."""
    low = 1 - np.union1d(
        np.linspace(math.exp(-epsilon), 1.0, PROGRAMS.grid), np.geomspace(math.exp(-epsilon), 1.0, PROGRAMS.grid)
    )
    high = np.maximum(math.exp(epsilon) * (1 - low) - 1, 0.0)
    mixed, least = np.array([low * high, np.minimum(low, high) ** 2]) / math.sinh(epsilon / 2) ** 2
    used, others = len(gains), len(orbits.sizes) - 1
    sizes = {"roots": used, "spectrum": used, "multipliers": others, "level": 1, "falls": others}
    program = ConicProgram(sizes, {"roots": -gains})
    of_used, every = sparse.eye_array(used, format="csr"), sparse.eye_array(others, format="csr")
    for name, identity in {"spectrum": of_used, "multipliers": every, "falls": every}.items():
        program.not_negative(Affine({name: identity}))
    program.not_negative(Affine({"multipliers": every[places], "spectrum": -of_used}))
    # root² ≤ spectrum
    roots = Affine({"roots": 2 * of_used})
    program.second_order([Affine({"spectrum": of_used}, 1.0), roots, Affine({"spectrum": of_used}, -1.0)])
    # t of each orbit, the first that of z = 0; a positive part is t and the fall below zero.
    multipliers = orbits.sizes[:, None] * orbits.table[:, 1:] / orbits.sizes.sum()
    level = -orbits.sizes[:, None] / orbits.sizes.sum()
    program.not_negative(Affine({"multipliers": multipliers[1:], "level": level[1:], "falls": every}))
    form = {
        "multipliers": np.outer(mixed, multipliers.sum(axis=0)),
        "level": np.outer(mixed, level.sum(axis=0)),
        "falls": np.outer(mixed + least, np.ones(others)),
    }
    program.not_negative(Affine({name: -weights for name, weights in form.items()}, 1.0))
    return program
