"""Strategies that the descent starts from: cells, Haar wavelets and trees, as levels of rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.laplace.tuning import DESCENT


def starts(size: int) -> dict[str, Sequence[Floats]]:
    """Names and levels, (rows, size) each, whose weights are free: rows of a level share one."""
    if size < 2:
        return {"cells": [np.eye(size)]}
    trees = {f"tree of {branching}": tree_levels(size, branching) for branching in DESCENT.branchings}
    return {"cells": [np.eye(size)], "haar": haar_levels(size), **trees}


def tree_levels(size: int, branching: int) -> list[Floats]:
    """(rows, k): the cells, sums of `branching` neighbours, sums of these and so on, but not of all."""
    levels, width = [], 1
    while width < size:
        nodes = np.arange(size) // width
        levels.append((nodes == np.arange(nodes[-1] + 1)[:, None]).astype(float))
        width *= branching
    return levels


def haar_levels(size: int) -> list[Floats]:
    """(rows, k): differences of halves of blocks of 2^j cells, the last block cut at `size`, and the sum of all."""
    levels, width = [], 2
    while width < 2 * size:
        place = np.arange(size)
        nodes, sign = place // width, np.where(place % width < width // 2, 1.0, -1.0)
        levels.append(np.where(nodes == np.arange(nodes[-1] + 1)[:, None], sign, 0.0))
        width *= 2
    return [*levels, np.ones((1, size))]
