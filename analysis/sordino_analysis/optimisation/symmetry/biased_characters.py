"""Chances of characters, and how much of each an answer takes, for the least mean squared error at n users.

An answer of block B counts each character of orbit o with the share g_Bo; answers are unbiased where every share is 1.
With a_Bo the squares of a mean query's coefficients, λ_o what a report tells of a character of the orbit, and w_fo with
λ_o = Σ_f θ_f w_fo/N_o,

    min over θ, g of  max_B Σ_o a_Bo g_Bo²/λ_o / n + α²,   α = the largest |Σ_o (1 − g_Bo) q_o| of any query and cell,

with q_o the part of a query that is made of the characters of o. It is a cone program in some numbers for each block,
whatever the domain; of conjunctions of one width it is the linear program of `approximate_conjunctions` at the best α.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.conic_program import Affine, ConicProgram
from sordino_analysis.optimisation.symmetry.programs import best_chances
from sordino_analysis.optimisation.symmetry.query_fourier_weights import query_fourier_weights
from sordino_analysis.optimisation.symmetry.rows_not_found import RowsNotFound
from sordino_analysis.questions.linear.characters import cas_table
from sordino_analysis.questions.linear.operators import Indices
from sordino_analysis.questions.linear.widths import CharacterBlock, CharacterMap
from sordino_analysis.request_terms import Objective

# Digits beyond which the solver's shares are rounding.
_DIGITS = 9
# The solver returns shares of 0 as small numbers: a character whose shares are all at most this is not drawn.
_LEAST_SHARE = 1e-4


@dataclass(frozen=True, eq=False)
class BiasedCharacters:
    """`chances` (families,) that sum to 1; `gains` (blocks, orbits) g, 0 where no family of the orbit is drawn."""

    chances: Floats
    gains: Floats


def biased_characters(profiles: Floats, operator: CharacterMap, objective: Objective, users: int) -> BiasedCharacters:
    """The chances and shares with the least error at so many users. `profiles` (families, orbits) are w.

    Each family is about one orbit. Raises RowsNotFound where queries need an orbit without a family, where the solver
    finds no optimum, and where the best answers ignore the reports.
    """
    needs, sizes = query_fourier_weights(operator), operator.characters.orbit_sizes
    used = np.flatnonzero(needs.by_orbit.max(axis=0) > 0)
    first, weights, _ = best_chances(profiles, sizes, needs, objective)
    information = first @ profiles[:, used]
    if (information <= 0).any():
        raise RowsNotFound("its rows carry no information on a character that the queries need", "not told")
    costs = needs.by_orbit[:, used] * sizes[used] / information
    # Of order 1: chances in units of the unbiased ones, noise in units of theirs, the bias in units of its root.
    unbiased = float((weights @ costs).sum())
    informed = (profiles[:, used] * first[:, None] / information).T
    weighed = np.diag(np.ones(len(costs))) if objective == "max" else needs.shares[None]
    program = _noise_program(informed, weighed, costs / unbiased)
    program.zero(Affine({"times": first[None]}, -1.0))
    _limit_bias(program, [_parts(block, operator, used) for block in operator.blocks], math.sqrt(unbiased / users))
    solution = program.solve()
    if not solution.values:
        raise RowsNotFound(f"the program for biased answers ended {solution.status}", solution.status)
    gains = solution.values["gains"].reshape(costs.shape)
    return _without_shares_of_none(first * solution.values["times"], gains, profiles, used)


def _noise_program(informed: Floats, weighed: Floats, costs: Floats) -> ConicProgram:
    """min worst + bias² with worst at least the `weighed` (n, blocks) sums of Σ_o costs g²/(informed · times)_o."""
    blocks, orbits = costs.shape
    cells, families = blocks * orbits, informed.shape[1]
    sizes = {"times": families, "gains": cells, "noise": cells, "worst": 1, "bias": 1, "square": 1}
    program = ConicProgram(sizes, {"worst": np.ones(1), "square": np.ones(1)})
    program.not_negative(Affine({"times": sparse.eye_array(families)}))
    # g² ≤ noise · information, and bias² ≤ square
    every, terms = sparse.eye_array(cells, format="csr"), np.tile(informed, (blocks, 1))
    above, below = (Affine({"noise": every, "times": sign * terms}) for sign in (1, -1))
    program.second_order([above, Affine({"gains": 2 * every}), below])
    one = np.ones((1, 1))
    program.second_order([Affine({"square": one}, 1.0), Affine({"bias": 2 * one}), Affine({"square": one}, -1.0)])
    sums = np.einsum("nb,bo->nbo", weighed, costs).reshape(len(weighed), -1)
    program.not_negative(Affine({"worst": np.ones((len(weighed), 1)), "noise": -sums}))
    return program


def _limit_bias(program: ConicProgram, parts: Sequence[Floats], unit: float) -> None:
    """|parts (1 − g)| ≤ unit · bias for each block's own parts (n, orbits)."""
    missing = sparse.csr_array(sparse.block_diag(parts))
    whole = missing.sum(axis=1)
    for sign in (1, -1):
        limit = np.full((len(whole), 1), unit)
        program.not_negative(Affine({"gains": -sign * missing, "bias": limit}, sign * whole))


def _parts(block: CharacterBlock, operator: CharacterMap, used: Indices) -> Floats:
    """(n, orbits) the part of each orbit in a query of the block at a cell; rows equal up to a sign are once."""
    characters, waves = operator.characters, cas_table(block.shape)
    places = characters.places(tuple(block.supports[0].tolist()))
    orbit_of = np.append(-1, characters.orbit_of)[places]
    parts = np.stack([(block.table * (orbit_of == orbit)) @ waves for orbit in used], axis=-1).reshape(-1, len(used))
    rounded = np.round(parts, _DIGITS) + 0.0
    leading = np.take_along_axis(rounded, (rounded != 0).argmax(axis=1)[:, None], axis=1)
    return np.unique(np.where(leading < 0, -rounded, rounded) + 0.0, axis=0)


def _without_shares_of_none(chances: Floats, gains: Floats, profiles: Floats, used: Indices) -> BiasedCharacters:
    """Raises RowsNotFound where answers take nothing of any character."""
    taken = np.abs(gains).max(axis=0) > _LEAST_SHARE
    if not taken.any():
        raise RowsNotFound("for so few users the best answers ignore the reports: state more users", "no share")
    drawn = (profiles[:, used[taken]] > 0).any(axis=1)
    kept = np.where(drawn, np.maximum(chances, 0.0), 0.0)
    reduced = np.zeros((len(gains), profiles.shape[1]))
    reduced[:, used[taken]] = gains[:, taken]
    return BiasedCharacters(kept / kept.sum(), reduced)
