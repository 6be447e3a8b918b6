"""Moments of decoded reports g of a finite kernel, for quadratic forms.

A report y of a user of type x is decoded as g = V_y with E[g | x] = e_x, or a vector that no form in question tells
from it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dsyrk

from sordino_analysis.arrays import TINY, Floats
from sordino_analysis.documents.decoders import Decoder, HistogramDecoder
from sordino_analysis.evaluation.integer_kernels import probabilities
from sordino_analysis.request_terms import Target
from sordino_analysis.vectorized.arrays import ndarray
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import AnyRandomizer, FiniteKernel

# The least chance of an output that one divides by, and what keeps the information matrix regular.
_NEVER, _RIDGE = 1e-12, 1e-10


@dataclass(frozen=True, eq=False)
class DecodedReportMoments:
    """`kernel` K (p, k) and `decoder` V (k, p): a user of type x sends y with chance K_yx, decoded as V_y."""

    kernel: Floats
    decoder: Floats

    @classmethod
    def of(cls, randomizer: AnyRandomizer, decoder: Decoder) -> DecodedReportMoments:
        """The law where outputs are counted and decoded to a histogram; raises InvalidValue for anything else."""
        if not isinstance(randomizer, FiniteKernel) or not isinstance(decoder, HistogramDecoder):
            raise InvalidValue(
                f"quadratic forms need a finite kernel decoded to a histogram, got {randomizer.kind} and {decoder.kind}"
            )
        return cls(probabilities(randomizer), ndarray(decoder.matrix) + ndarray(decoder.offset)[:, None])

    @property
    def size(self) -> int:
        """k, the number of types."""
        return int(self.decoder.shape[0])

    def moment(self, outputs: Floats) -> Floats:
        """Σ_y p_y V_y V_yᵀ for the chances p (p,) of the outputs, (k, k)."""
        scaled = self.decoder * np.sqrt(outputs)
        upper = dsyrk(1.0, scaled)
        return np.asarray(np.triu(upper) + np.triu(upper, 1).T)

    def covariance(self, histogram: Floats) -> Floats:
        """Σ = Σ_x h_x Cov(g | x), (k, k)."""
        return self.moment(self.kernel @ histogram) - np.diag(histogram)

    def fit_covariance(self, histogram: Floats, vector: Floats) -> Floats:
        """(KᵀD⁻¹K)⁻¹v (k,) for D = diag(Kh), which is n Cov(h*, ⟨h*, v⟩) + h⟨h, v⟩ for the h* that fits n reports best.

        Fisher's information. v is told by K: a combination of its rows. `histogram` h and `vector` v (k,).
        """
        expected = self.kernel @ histogram
        scaled = self.kernel / np.sqrt(np.maximum(expected, _NEVER))[:, None]
        information = scaled.T @ scaled
        ridge = _RIDGE * np.trace(information) / self.size * np.eye(self.size)
        return np.asarray(np.linalg.solve(information + ridge, vector))

    def form_variance(self, matrix: Floats, histogram: Floats, users: float) -> tuple[float, float]:
        """4qᵀΣq/n and 2tr(ΣWΣW)/n², q = Wh: linear and quadratic part of the variance of an estimated form.

        It is the variance about these n users' own value; what the second term leaves out is O(1/n³).
        `matrix` W (k, k), `histogram` h (k,).
        """
        covariance, slope = self.covariance(histogram), matrix @ histogram
        spread = matrix @ covariance
        linear = 4.0 * float(slope @ covariance @ slope) / users
        return linear, 2.0 * float((spread * spread.T).sum()) / users**2

    def exact_variance(self, matrix: Floats, histogram: Floats, users: int, target: Target) -> float:
        """The mean variance of the U-statistic about the users' own value, for n users drawn from h, exactly.

        (4uᵀΣu + 2[tr(((Σ + C)W)²) − tr((CW)²)]/(n − 1))/n for u = Wh and C the covariance of e_x. For hᵀWh it is
        u = (1 − 1/n)Wh + diag(W)/2n, and the second term (1 − 1/n)² times that. `matrix` W (k, k), `histogram` h (k,).
        """
        covariance, sampled = self.covariance(histogram), np.diag(histogram) - np.outer(histogram, histogram)
        slope, share = matrix @ histogram, 1.0
        if target == "histogram":
            share = 1 - 1 / users
            slope = share * slope + np.diag(matrix) / (2 * users)
        both, alone = (covariance + sampled) @ matrix, sampled @ matrix
        quadratic = float((both * both.T).sum() - (alone * alone.T).sum())
        return (4 * float(slope @ covariance @ slope) + share**2 * 2 * quadratic / (users - 1)) / users

    def misses(self, matrix: Floats) -> float:
        """max |W(VK − I)| relative to max |W|: how far the decoded reports are from unbiased for the form.

        `matrix` W (k, k).
        """
        wrong = matrix @ self.decoder @ self.kernel - matrix
        return float(np.abs(wrong).max() / max(float(np.abs(matrix).max()), TINY))
