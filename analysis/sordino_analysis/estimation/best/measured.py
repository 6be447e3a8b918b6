"""What a best guess of ordered types is computed from: an unbiased histogram, its covariance, and what it is asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.best.cells import Cells
from sordino_analysis.evaluation.grids.families import IntervalFamily

# Fixed signs that a trace is estimated with where a vector for each type would be too many: off by a tenth at most.
_PROBES, _SEED = 32, 20_261_134
# Types up to which there is a vector for each.
MOST_EXACT = 2048
# Steps towards the largest eigenvalue: a tenth of it moves a guess by less than a hundredth.
_POWER_STEPS = 12


@dataclass(frozen=True, eq=False)
class MeasuredHistogram(ABC):
    """An unbiased histogram y (k,) of sum 1 from `users` reports, with covariance S/users and information M·users.

    The error of a guess h is (h − h*)ᵀG(h − h*) for the Gram matrix G of all queries of the `family`. `users` may be
    fewer than reported, where random reports of a shuffler add to the noise.
    """

    family: IntervalFamily
    unbiased: Floats
    users: float

    @abstractmethod
    def covariances(self, vectors: Floats) -> Floats:
        """S v for each of `vectors` (b, k)."""

    @abstractmethod
    def information(self, cells: Cells) -> Floats:
        """AᵀMA (m, m), A (k, m) spreads each cell's share evenly over its types."""

    @abstractmethod
    def pulled(self, cells: Cells) -> Floats:
        """AᵀMy (m,)."""

    @abstractmethod
    def response(self, cells: Cells) -> Floats:
        """AᵀMSGA (m, m): how AᵀMy goes with the errors of the queries, of one report."""

    @property
    @abstractmethod
    def total(self) -> float:
        """tr(GS): the squared error of all unbiased answers together, of one report."""

    @property
    def noise(self) -> float:
        """tr(GS)/users."""
        return self.total / self.users

    @cached_property
    def largest(self) -> float:
        """About the largest eigenvalue of GS, by steps from a fixed vector."""
        vector = np.zeros((1, self.family.size))
        vector[0, : self.family.bins] = np.cos(np.linspace(0.0, np.pi, self.family.bins))
        length = 1.0
        for _ in range(_POWER_STEPS):
            vector = self.family.gram(self.covariances(vector))
            length = float(np.sqrt((vector**2).sum()))
            vector /= length
        return length

    def distance(self, histogram: Floats) -> float:
        """(h − y)ᵀG(h − y) of a histogram (k,): over all queries, also within cells."""
        apart = histogram - self.unbiased
        return float(apart @ self.family.gram(apart))

    def probes(self, size: int) -> tuple[Floats, float]:
        """Vectors z (b, size) and a factor: a trace is factor·Σ zᵀ(…)z, exactly where there are few types."""
        if size <= MOST_EXACT:
            return np.eye(size), 1.0
        signs: Floats = np.random.Generator(np.random.PCG64(_SEED)).integers(0, 2, (_PROBES, size)).astype(float)
        return 2.0 * signs - 1, 1 / _PROBES
