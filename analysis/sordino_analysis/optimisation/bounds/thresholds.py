"""Thresholds among the queries: an order of the types in which rows of W have one step each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.bounds.window_paths import Integers

# Relative to the largest entry of a row.
_EQUAL = 1e-9


@dataclass(frozen=True, eq=False)
class ThresholdQueries:
    """Row `queries[j]` of W, its columns in `order`, is constant before `thresholds[j]` and from there on.

    `heights` (Q,) are the squares of the steps, relative to which their variances are those of 0/1 thresholds.
    """

    order: Integers
    queries: Integers
    thresholds: Integers
    heights: Floats


def find_thresholds(matrix: Floats, most_types: int | None = None) -> ThresholdQueries | None:
    """The thresholds among the rows of W (Q, k), for its own order of types or that of its column sums.

    Of more than `most_types` so many are taken, evenly spaced in the order. One row for each place between two types,
    the one with the highest step; None unless at least half of the places have one.
    """
    types = matrix.shape[1]
    taken = evenly_spaced(types, types if most_types is None else most_types)
    orders = np.arange(types), np.argsort(-matrix.sum(axis=0), kind="stable")
    found = [_of_order(matrix, order[taken]) for order in orders]
    best = max(found, key=lambda one: len(one.queries))
    return best if len(best.queries) >= max(1, (len(taken) - 1) // 2) else None


def evenly_spaced(types: int, most: int) -> Integers:
    """All types where they are at most `most`, else so many of them, each in the middle of its share, (m,)."""
    if types <= most:
        return np.arange(types)
    return (2 * np.arange(most) + 1) * types // (2 * most)


def steps_of(matrix: Floats, order: Integers) -> tuple[Integers, Floats]:
    """For every row of W (Q, k) where its one step is, 0 if it has none or several, and the square of its height."""
    jumps = np.diff(matrix[:, order], axis=1)
    scale = np.abs(matrix).max(axis=1, keepdims=True)
    there = np.abs(jumps) > _EQUAL * scale
    single = there.sum(axis=1) == 1
    places = there.argmax(axis=1)
    heights = jumps[np.arange(len(matrix)), places] ** 2
    return np.where(single, places + 1, 0), np.where(single, heights, 0.0)


def _of_order(matrix: Floats, order: Integers) -> ThresholdQueries:
    places, heights = steps_of(matrix, order)
    by_height = np.argsort(-heights, kind="stable")
    by_height = by_height[places[by_height] > 0]
    thresholds, first = np.unique(places[by_height], return_index=True)
    queries = by_height[first]
    return ThresholdQueries(order, queries, thresholds, heights[queries])
