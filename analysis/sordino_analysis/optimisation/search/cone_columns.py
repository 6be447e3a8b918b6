"""The end of column generation for the mean: weights for the worst type by a cone program, which prices new rows too.

Type weights that move step by step oscillate where few queries leave many kernels equally good under one of them; the
cone program has them as multipliers, so that its prices are those of the worst type.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sordino_analysis.arrays import Floats, Mask
from sordino_analysis.optimisation.search.column_generation import Prices
from sordino_analysis.optimisation.search.cone_program import ConeDesign, solve_cone_program
from sordino_analysis.optimisation.search.tuning import CONE_COLUMNS


def settle_columns(
    matrix: Floats, epsilon: float, members: Mask, should_stop: Callable[[], bool] = lambda: False
) -> ConeDesign:
    """The best kernel found for the mean of W (Q, k) under its worst type, from the rows of `members` (m, k).

    Ends when no row near those in use or near the single types is worth adding, or once `should_stop()`.
    Raises ConeProgramFailed where the first program fails.
    """
    rows = np.unique(np.vstack([members, np.eye(members.shape[1], dtype=bool)]), axis=0)
    design = solve_cone_program(matrix, rows, epsilon, "mean")
    for _ in range(CONE_COLUMNS.rounds):
        added = _worth_adding(design, rows, epsilon)
        if should_stop() or not len(added):
            break
        rows = np.vstack([design.members, added, np.eye(members.shape[1], dtype=bool)])
        rows = np.unique(rows, axis=0)
        design = solve_cone_program(matrix, rows, epsilon, "mean")
    return design


def _worth_adding(design: ConeDesign, rows: Mask, epsilon: float) -> Mask:
    """Sets reached by flips from those in use and the single types whose prices are the highest."""
    types, weights = rows.shape[1], design.type_weights
    gram = design.answer_prices.T @ design.answer_prices
    prices = Prices(gram, design.column_prices, weights, float(np.expm1(epsilon)))
    candidates = np.unique(prices.improved(rows), axis=0)
    candidates = candidates[candidates.any(axis=1) & ~candidates.all(axis=1)]
    present = {row.tobytes() for row in rows}
    gains = np.where([row.tobytes() not in present for row in candidates], prices.gains(candidates), -np.inf)
    order = np.argsort(-gains, kind="stable")[: CONE_COLUMNS.new_rows_per_type * types]
    return np.asarray(candidates[order[gains[order] > CONE_COLUMNS.worth * abs(float(design.column_prices.sum()))]])
