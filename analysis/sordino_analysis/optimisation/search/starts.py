"""Where a search starts: a soft hyperplane codebook and the single types, under weights that balance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import ndtri

from sordino_analysis.arrays import NEARLY_ZERO, Floats, Mask
from sordino_analysis.optimisation.bounds.window_paths import Integers
from sordino_analysis.optimisation.search.balanced_rows import balance, balanced_weights
from sordino_analysis.optimisation.search.images import NO_IMAGES, Images
from sordino_analysis.optimisation.search.tuning import STARTS, Start

# Cosines nearer to 1 are those of one direction.
_ONE_DIRECTION = 1e-6


def portfolio(epsilon: float, right: Floats, *, ordered: bool = False) -> tuple[Start, ...]:
    """The starts worth a short run: at small ε half-spaces alone, at large ε more and more of the single types.

    Half-spaces cannot tell types apart that lie in one direction of the factor R, or in none; single types can.
    `right` R (r, k). Where types are `ordered` and 64 or more, one is best and needs no run.
    """
    starts = _of_ordered(epsilon) if ordered and epsilon > STARTS.largest_of_one else _by_epsilon(epsilon)
    if not _coincide(right):
        return starts
    return tuple(replace(start, singles=max(start.singles, STARTS.telling_share)) for start in starts)


def _coincide(right: Floats) -> bool:
    """Whether two columns of R have the same direction, or one has none."""
    lengths = np.linalg.norm(right, axis=0)
    if lengths.min() < _ONE_DIRECTION * lengths.max():
        return True
    directions = right / np.maximum(lengths, NEARLY_ZERO * lengths.max())
    cosines = directions.T @ directions - 2.0 * np.eye(len(lengths))
    return bool(cosines.max() > 1.0 - _ONE_DIRECTION)


def _of_ordered(epsilon: float) -> tuple[Start, ...]:
    """One start, without short runs: under product weights they do not tell what it is worth to the worst query."""
    return (STARTS.ordered if epsilon <= STARTS.largest_of_half_spaces else STARTS.ordered_at_large,)


def _by_epsilon(epsilon: float) -> tuple[Start, ...]:
    if epsilon <= STARTS.largest_of_one:
        return STARTS.at_small
    return STARTS.at_medium if epsilon <= STARTS.largest_of_half_spaces else STARTS.at_large


def begin(
    start: Start,
    right: Floats,
    epsilon: float,
    outputs: int,
    generator: np.random.Generator,
    images: Images = NO_IMAGES,
) -> tuple[Floats, Floats]:
    """Logits (m, k) and balanced weights (m,) of a start; `right` is the factor R (r, k) of the centred workload."""
    alone = np.eye(right.shape[1], dtype=bool)[images.kept_types(right.shape[1])]
    singles = len(alone) if start.singles > 0 else 0
    logits = _codebook(start, right, epsilon, outputs // images.copies - singles, generator)
    weights = np.full(len(logits), (1.0 - start.singles) / max(1, len(logits)))
    if singles:
        low = -2.0 * start.steepness - 0.5 * epsilon
        logits = np.vstack([logits, np.where(alone, STARTS.singles_height * start.steepness, low)])
        weights = np.concatenate([weights, np.full(singles, start.singles / singles)])
    levels = balance(logits, weights, epsilon, images).levels
    weights /= images.by_type(levels.T @ weights).mean()
    return logits, balanced_weights(levels, weights, images)


def small_sets(types: int) -> Mask:
    """(m, k) all sets of one type and of two, m = k(k + 1)/2."""
    first, second = np.triu_indices(types)
    numbers = np.arange(types)
    return np.asarray((first[:, None] == numbers) | (second[:, None] == numbers))


def near_sets(matrix: Floats) -> Mask:
    """(m, k) the sets of one type, of it and one of the eight nearest, and of it and two of the four nearest.

    Types are near where their columns of W = `matrix` (Q, k) are.
    """
    types = matrix.shape[1]
    squares = (matrix**2).sum(axis=0)
    distances = squares[:, None] + squares - 2.0 * matrix.T @ matrix
    np.fill_diagonal(distances, np.inf)
    nearest = np.argsort(distances, axis=1, kind="stable")[:, : min(STARTS.near, types - 1)]
    members = np.eye(types, dtype=bool)
    pairs = members[:, None] | members[nearest]
    first, second = np.triu_indices(min(STARTS.nearest, types - 1), 1)
    triples = members[:, None] | members[nearest[:, first]] | members[nearest[:, second]]
    return np.unique(np.vstack([members, pairs.reshape(-1, types), triples.reshape(-1, types)]), axis=0)


def short_intervals(order: Integers) -> Mask:
    """(m, k) all runs of one to three types in the `order` (k,), m = 3k − 3."""
    types = len(order)
    runs = [
        np.arange(types - length + 1)[:, None] + np.arange(length)
        for length in range(1, min(STARTS.longest_interval, types) + 1)
    ]
    sets = np.zeros((sum(len(run) for run in runs), types), dtype=bool)
    place = 0
    for run in runs:
        sets[np.arange(place, place + len(run))[:, None], order[run]] = True
        place += len(run)
    return sets


def _codebook(start: Start, right: Floats, epsilon: float, outputs: int, generator: np.random.Generator) -> Floats:
    """κ(⟨g, r_x⟩/‖r_x‖ − Φ⁻¹(1 − q)) for Gaussian directions g and their negatives."""
    lengths = np.linalg.norm(right, axis=0)
    directions = right / np.maximum(lengths, NEARLY_ZERO * lengths.max())
    half = generator.standard_normal((outputs // 2, len(right)))
    projections = np.vstack([half, -half]) @ directions
    share = min(0.5, max(start.fill / (np.exp(epsilon) + 1.0), STARTS.fewest_types / right.shape[1]))
    return np.asarray(start.steepness * (projections + ndtri(share)))
