"""Reports of vectors by the half-sphere randomizer: what they decode to, and how they spread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.analyst_part import Factors
from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_analysis.optimisation.factorization import Factorization
from sordino_analysis.vectorized.arrays import ndarray
from sordino_shared.randomizers import AnyRandomizer


@dataclass(frozen=True, eq=False)
class VectorReports:
    """y = b·s for a unit vector s in d dimensions with E[y | x] = `columns`[:, x] (d, k); `scale` is b.

    Every report has length b and E[y yᵀ | x] = (b²/d)·I (Lemma 9 of Edmonds–Nikolov–Ullman 2020).
    """

    columns: Floats
    scale: float

    @classmethod
    def of(cls, columns: Floats, randomizer: AnyRandomizer) -> VectorReports:
        """The scale that makes the shipped randomizer's mean directions as long as the columns. `columns` (d, k)."""
        means = for_randomizer(randomizer).moments.means(np.eye(randomizer.accumulator_size))
        return cls(columns, _longest(columns) / _longest(means))

    @property
    def power(self) -> float:
        """b²/d, the second moment of a report in every direction."""
        return self.scale**2 / len(self.columns)

    def variance(self, vector: Floats, histogram: Floats) -> float:
        """Σ_x h_x Var(⟨y, v⟩ | x). `vector` v (d,), `histogram` h (k,)."""
        return float(self.power * (vector @ vector) - histogram @ (vector @ self.columns) ** 2)

    def covariance(self, histogram: Floats) -> Floats:
        """Σ_x h_x Cov(y | x), (d, d)."""
        return np.asarray(self.power * np.eye(len(self.columns)) - (self.columns * histogram) @ self.columns.T)

    def played(self, histogram: Floats, users: int, generator: np.random.Generator) -> Floats:
        """A mean report (d,) of so many users with this histogram, drawn from its normal limit."""
        root = np.linalg.cholesky(self.covariance(histogram) / users)
        return np.asarray(self.columns @ histogram + root @ generator.standard_normal(len(root)))


def balanced_factors(whole: Factorization) -> tuple[Floats, Floats]:
    """L and R with longest columns of the same length √γ₂. L (r, k), R (r, k)."""
    ratio = np.sqrt(_longest(whole.right) / _longest(whole.left))
    return whole.left * ratio, whole.right / ratio


def published_factors(factors: Factors) -> tuple[Floats, Floats]:
    """TL and TR, or L and R where nothing was reduced; (d, k) each."""
    left, right = ndarray(factors.left), ndarray(factors.right)
    if factors.transform is None:
        return left, right
    transform = ndarray(factors.transform)
    return transform @ left, transform @ right


def row_labels(rows: int) -> tuple[str, ...]:
    """Names of the linear queries Wh."""
    return tuple(f"row {row + 1} of W" for row in range(rows))


def _longest(columns: Floats) -> float:
    return float(np.sqrt((columns**2).sum(axis=0).max()))
