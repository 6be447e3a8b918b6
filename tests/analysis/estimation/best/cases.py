"""Measured histograms of grids with the exact law of their noise, and users of several shapes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.best.grids import MeasuredByGrids
from sordino_analysis.evaluation.grids.covariance import GridCovariance
from sordino_analysis.evaluation.grids.families import IntervalFamily, RangeFamily
from sordino_analysis.evaluation.grids.law import GridLaw
from sordino_analysis.evaluation.linear_answers import covariance_square_root
from sordino_analysis.mechanisms.grid_levels import designed_levels


@cache
def law_of(size: int, epsilon: float) -> GridLaw:
    return GridLaw(designed_levels(RangeFamily(size, size), epsilon), size)


def users_of(kind: str, size: int) -> Floats:
    places = (np.arange(size) + 0.5) / size
    every_second = np.where(np.arange(size) % 2 == 0, 1.0, 0.0)
    shares = {
        "smooth": np.exp(-((places - 0.3) ** 2) / 0.02) + 0.4 * np.exp(-((places - 0.7) ** 2) / 0.01),
        "zipf": 1 / (np.arange(size) + 1.0),
        "point": np.eye(size)[size // 3],
        "two": 0.6 * np.eye(size)[size // 4] + 0.3 * np.eye(size)[3 * size // 5] + 0.1 / size,
        "even": np.ones(size),
        "spiky": every_second * np.random.default_rng(1).exponential(size=size),
    }[kind]
    return np.asarray(shares / shares.sum())


def measured(
    family: IntervalFamily, epsilon: float, shares: Floats, users: float, draws: int, seed: int = 3
) -> Iterator[MeasuredByGrids]:
    """Unbiased histograms with normal errors of the exact covariance."""
    law = law_of(family.size, epsilon)
    root = covariance_square_root(GridCovariance(law, shares).matrix()) / np.sqrt(users)
    random = np.random.default_rng(seed)
    for _ in range(draws):
        yield MeasuredByGrids(family, shares + root @ random.standard_normal(root.shape[1]), users, law)


def lost(family: IntervalFamily, guess: Floats, shares: Floats) -> float:
    apart = guess - shares
    return float(apart @ family.gram(apart))
