"""The law P(z) ∝ e^(−‖z‖∞/s) on the lattice in floats: its variance, and draws to look at."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.curator.shell_index import eulerian_type_b

# A plan has a handful of dimensions; the coefficients of 1,024 take half a second.
_KEPT = 1 << 5


@dataclass(frozen=True, eq=False)
class BallLaw:
    """z is uniform in a cube of radius r, a sum of d + 1 geometric variables and an index j: see `CuratorNoise.ball`.

    `chances` (d + 1,) are those of the index.
    """

    dimension: int
    scale: float
    chances: Floats

    @classmethod
    def of(cls, dimension: int, scale: float) -> BallLaw:
        """Of a dimension up to 1,024."""
        logs = _logs(dimension) - np.arange(dimension + 1) / scale
        chances = np.exp(logs - logs.max())
        return cls(dimension, scale, chances / chances.sum())

    @property
    def variance(self) -> float:
        """Of each coordinate: E[r(r+1)]/3."""
        places = np.arange(self.dimension + 1)
        index = float(self.chances @ places)
        spread = float(self.chances @ places**2) - index**2
        fails = -math.expm1(-1 / self.scale)
        mean = (self.dimension + 1) * (1 - fails) / fails + index
        second = (self.dimension + 1) * (1 - fails) / fails**2 + spread + mean**2
        return (second + mean) / 3

    def drawn(self, generator: np.random.Generator, count: int) -> Floats:
        """(d, count) draws."""
        fails = -math.expm1(-1 / self.scale)
        radii = generator.negative_binomial(self.dimension + 1, fails, count)
        radii += generator.choice(self.dimension + 1, count, p=self.chances)
        return np.floor(generator.random((self.dimension, count)) * (2 * radii + 1)) - radii


@lru_cache(maxsize=_KEPT)
def _logs(dimension: int) -> Floats:
    return np.array([math.log(coefficient) for coefficient in eulerian_type_b(dimension)])
