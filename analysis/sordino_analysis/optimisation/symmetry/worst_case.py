"""Rows, chances and decoders for the worst query and type together, where marginals have types that are worse.

Every block of queries may give each row weights of its own, g_b for its features: 1 and F_o = Σ_{r of orbit o} β_r H_r,
or these at each overlap. With h_b = p_b g_b the variance at a type x is Σ_b h_bᵀ M_bx h_b/p_b minus a constant, jointly
convex in p and h, and being unbiased is linear in h. So it is a game: against weights ω on (block, type) the best ones
are g_b = A_b⁻¹ K_bᵀ y with A_b = Σ_x ω_x M_bx, K_b what the features of row b tell of 1 and of each orbit, and
y = (Σ_b p_b K_b A_b⁻¹ K_bᵀ)⁻¹ (0, 1, …, 1). Both sides move multiplicatively; the best point met is kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from sordino_analysis.arrays import Floats, Mask
from sordino_analysis.optimisation.symmetry.local_features import LocalFeatures, QueryParts, local_features
from sordino_analysis.optimisation.symmetry.orbit_design import OrbitDesign
from sordino_analysis.optimisation.symmetry.orbit_rows import row_shapes
from sordino_analysis.optimisation.symmetry.query_fourier_weights import query_fourier_weights
from sordino_analysis.optimisation.symmetry.row_moments import local_query, moments
from sordino_analysis.optimisation.symmetry.row_spectrum import likelihood_ratios, orbit_weights
from sordino_analysis.optimisation.symmetry.tuning import WORST_CASE
from sordino_analysis.questions.linear.operators import Indices
from sordino_analysis.questions.linear.widths import CharacterMap

# Moments of rows and types: 32 MiB of doubles.
_MOST_MOMENTS = 1 << 22
# Of the largest chance: rows of less are left out.
_LEAST_SHARE = 1e-7
# Profiles that agree in so many digits are those of one orbit.
_PROFILE_DIGITS = 9
# Keeps the moments invertible in double precision.
_RIDGE = 1e-13
# A query and type without weight could not get any again.
_FIRST_WEIGHT = 1e-9
# After a step, too.
_LEAST_WEIGHT = 1e-12


@dataclass(frozen=True, eq=False, kw_only=True)
class WorstCaseDesign:
    """Rows and chances, and each block's `slopes` (blocks, rows, levels, orbits) and `offsets` (blocks, rows, levels).

    The levels are the overlaps, or one for all of them. `variance` is that of the worst block's worst type.
    """

    rows: tuple[Mask, ...]
    chances: Floats
    slopes: Floats
    offsets: Floats
    variance: float


@dataclass(frozen=True, eq=False, kw_only=True)
class _Block:
    """One side of the game: `moments` M (n, c, c, types), `responses` K (n, 1 + o, c), and first `weights` (types,).

    `values` (types,) are the true answers times the root of the weight of the block's queries; M has that weight.
    """

    orbits: Indices
    features: LocalFeatures
    moments: Floats
    responses: Floats
    values: Floats
    weights: Floats

    def only(self, rows: Indices) -> _Block:
        return replace(self, moments=self.moments[rows], responses=self.responses[rows])


@dataclass(frozen=True, eq=False)
class _Point:
    """Variance at each type of each block, weights (n, c) of its features, and how much each row is missed (n,)."""

    variances: list[Floats]
    weights: list[Floats]
    missed: Floats

    @property
    def worst(self) -> float:
        return max(float(variance.max()) for variance in self.variances)


def worst_case_design(
    operator: CharacterMap, epsilon: float, start: OrbitDesign, seed: int, *, by_overlap: bool
) -> WorstCaseDesign | None:
    """A design whose worst type is better than with one slope an orbit; None where the game is too large to be played.

    `start` is the best design for the mean variance of the worst block.
    """
    rows = _rows(operator, epsilon, start, np.random.Generator(np.random.PCG64(seed)))
    features = [_features(operator, number, by_overlap=by_overlap) for number in range(len(operator.blocks))]
    types = sum(len(_representatives(block.shape)[0]) for block in operator.blocks)
    if len(rows) * types * max(len(of_block.parts) for of_block in features) ** 2 > _MOST_MOMENTS:
        return None
    blocks = [
        _block(operator, number, of_block, rows, epsilon, float(weight))
        for number, (of_block, weight) in enumerate(zip(features, start.block_weights, strict=True))
    ]
    kept, chances, point = _play(blocks)
    levels = operator.characters.width + 1 if by_overlap else 1
    slopes, offsets = _decoder(blocks, point, levels, len(operator.characters.orbits))
    return WorstCaseDesign(
        rows=tuple(rows[row] for row in kept), chances=chances, slopes=slopes, offsets=offsets, variance=point.worst
    )


def _decoder(blocks: list[_Block], point: _Point, levels: int, orbits: int) -> tuple[Floats, Floats]:
    """Slopes (blocks, n, levels, orbits) and offsets (blocks, n, levels) from the weights of the blocks' features.

    A feature is a level's constant, or the coefficient of an orbit at a level.
    """
    offsets = np.zeros((len(blocks), len(point.missed), levels))
    slopes = np.zeros((*offsets.shape, orbits))
    for number, (block, weights) in enumerate(zip(blocks, point.weights, strict=True)):
        constant, level = block.features.parts == 0, block.features.levels
        offsets[number][:, level[constant]] = weights[:, constant]
        orbit = block.orbits[block.features.parts[~constant] - 1]
        slopes[number][:, level[~constant], orbit] = weights[:, ~constant]
    return slopes, offsets


def _rows(operator: CharacterMap, epsilon: float, start: OrbitDesign, generator: np.random.Generator) -> list[Mask]:
    """The rows of the start, and the most informative ones of every shape and set size at the start's prices."""
    orbits = len(operator.characters.orbits)
    prices = _prices(operator, epsilon, start)
    rows: list[Mask] = []
    profiles = []
    for shape in row_shapes(operator.characters):
        if shape.listed:
            sets = shape.every_set(epsilon, orbits)
        else:
            smaller = (
                shape.most_informative_sets(prices, share * epsilon, generator)
                for share in WORST_CASE.shares_of_epsilon
            )
            sets = np.unique(np.vstack(list(smaller)), axis=0)
        sets = sets[_most_valuable(sets, shape.profiles(sets, epsilon, orbits) @ prices)]
        # Of two cells the only pair is all of them, which tells nothing.
        if 2 < shape.cells < WORST_CASE.cells_per_pair * (math.exp(epsilon) + 1):
            sets = np.vstack([sets, shape.pairs()])
        rows += [members.reshape(shape.sizes) for members in sets]
        profiles.append(shape.profiles(sets, epsilon, orbits))
    # A row with a slot more that it does not look at is the same row.
    stacked = np.vstack(profiles)
    _, first = np.unique(np.round(stacked / stacked.max(), _PROFILE_DIGITS), axis=0, return_index=True)
    return [*start.rows, *(rows[row] for row in sorted(first.tolist()))]


def _prices(operator: CharacterMap, epsilon: float, start: OrbitDesign) -> Floats:
    """(orbits,) what a little more of each λ is worth at the start; 0 for those that no query uses."""
    characters = operator.characters
    information = start.chances @ np.vstack([orbit_weights(row, math.exp(epsilon), characters) for row in start.rows])
    needed = characters.orbit_sizes * (start.block_weights @ query_fourier_weights(operator).by_orbit)
    return np.divide(needed, information**2, out=np.zeros_like(information), where=needed > 0)


def _most_valuable(sets: Mask, values: Floats) -> list[int]:
    """The sets of the largest value, and not too many of one size."""
    order = np.argsort(-values)
    sizes = sets.sum(axis=1)
    kept: list[int] = []
    for size in np.unique(sizes):
        kept += order[sizes[order] == size][: WORST_CASE.rows_per_size].tolist()
    kept.sort(key=lambda row: -float(values[row]))
    return kept[: WORST_CASE.rows_per_shape]


def _representatives(shape: tuple[int, ...]) -> tuple[Indices, Floats]:
    """A local cell of every orbit of exchanges, and their shares of all cells: of one orbit, all have one variance.

    A cell and its negative are not of one orbit: shifts and arrangements do not take a row to its mirror image.
    """
    keys = [tuple(sorted(zip(shape, cell, strict=True))) for cell in np.ndindex(*shape)]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    of_cell = np.array([numbers[key] for key in keys])
    _, first, counts = np.unique(of_cell, return_index=True, return_counts=True)
    return first, counts / len(keys)


def _needed(operator: CharacterMap, number: int) -> Indices:
    return np.flatnonzero(query_fourier_weights(operator).by_orbit[number] > 0)


def _features(operator: CharacterMap, number: int, *, by_overlap: bool) -> LocalFeatures:
    query = local_query(operator.characters, operator.blocks[number], 0)
    return local_features(QueryParts.of(query, _needed(operator, number)), by_overlap=by_overlap)


def _block(
    operator: CharacterMap, number: int, features: LocalFeatures, rows: list[Mask], epsilon: float, weight: float
) -> _Block:
    shape, count = operator.blocks[number].shape, len(features.parts)
    types, shares = _representatives(shape)
    responses = np.zeros((len(rows), len(features.query.waves), count))
    squares = np.zeros((len(rows), count, count, len(types)))
    by_shape: dict[tuple[int, ...], list[int]] = {}
    for index, row in enumerate(rows):
        by_shape.setdefault(row.shape, []).append(index)
    for indices in by_shape.values():
        levels = np.stack([likelihood_ratios(rows[index], math.exp(epsilon)) for index in indices])
        coefficients = np.fft.fftn(levels, axes=tuple(range(1, levels.ndim))) / levels[0].size
        means, squared = moments(coefficients, operator.characters, features.query.query.kinds, features.tables[None])
        responses[indices], squares[indices] = features.responses(means), squared[..., types]
    values = features.query.waves[1:, types].sum(axis=0)
    counted, first = operator.blocks[number].weight, np.maximum(weight * shares, _FIRST_WEIGHT)
    return _Block(
        orbits=_needed(operator, number),
        features=features,
        moments=counted * squares,
        responses=responses,
        values=np.sqrt(counted) * values,
        weights=first,
    )


def _play(blocks: list[_Block]) -> tuple[Indices, Floats, _Point]:
    """The best rows, their chances and slopes met. Weights move by twice the last variances minus those before."""
    live = np.arange(len(blocks[0].responses))
    chances = np.full(len(live), 1 / len(live))
    weights, before = [block.weights / sum(b.weights.sum() for b in blocks) for block in blocks], None
    best = (live, chances, _point(blocks, chances, weights))
    for step in range(WORST_CASE.steps):
        point = _point(blocks, chances, weights)
        if point.worst < best[2].worst:
            best = (live, chances, point)
        weights = _moved(weights, point, before or point.variances, step)
        chances = chances * np.sqrt(point.missed)
        chances, before = chances / chances.sum(), point.variances
        if step % WORST_CASE.prune_every == WORST_CASE.prune_every - 1:
            kept = np.flatnonzero(chances > _LEAST_SHARE * chances.max())
            live, chances, blocks = live[kept], chances[kept] / chances[kept].sum(), [b.only(kept) for b in blocks]
    return best


def _moved(weights: list[Floats], point: _Point, before: list[Floats], step: int) -> list[Floats]:
    """The weights of queries and types, multiplied by the exponential of twice the variances minus those `before`."""
    pace = WORST_CASE.first_step / (1 + step / WORST_CASE.steps_to_half)
    ahead = [2 * now - then for now, then in zip(point.variances, before, strict=True)]
    moved = [w * np.exp(pace * (v / point.worst - 1)) for w, v in zip(weights, ahead, strict=True)]
    return [np.maximum(w / sum(m.sum() for m in moved), _LEAST_WEIGHT) for w in moved]


def _point(blocks: list[_Block], chances: Floats, weights: list[Floats]) -> _Point:
    variances, weighed, missed = [], [], np.zeros(len(chances))
    for block, weight in zip(blocks, weights, strict=True):
        pressed = block.moments @ weight
        scale = np.trace(pressed, axis1=1, axis2=2)[:, None, None]
        reach = np.linalg.inv(pressed + _RIDGE * scale * np.eye(pressed.shape[1])) @ block.responses.swapaxes(1, 2)
        gains = block.responses @ reach
        wanted = np.ones(gains.shape[1])
        wanted[0] = 0.0
        multipliers = np.linalg.solve(np.tensordot(chances, gains, 1), wanted)
        estimates = reach @ multipliers
        squares = np.einsum("nix,ni->nx", np.einsum("nijx,nj->nix", block.moments, estimates), estimates)
        variances.append(chances @ squares - block.values**2)
        weighed.append(estimates)
        missed += (gains @ multipliers) @ multipliers
    return _Point(variances, weighed, missed)
