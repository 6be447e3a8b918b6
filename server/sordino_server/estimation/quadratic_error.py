"""The law of the error of an estimated quadratic form: a normal variable and a weighted sum of χ² variables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy.linalg

from sordino_server.design.arrays import Floats
from sordino_server.estimation.intervals import normal_quantile

# The quadratic term's share of the variance below which the error counts as normal: quantiles move by less than 2 %.
_NEGLIGIBLE_SHARE = 0.02
# The seed and the number of draws are part of the method: the same estimate has the same interval on every machine.
_DRAWS, _SEED = 20_000, 20_261_121
_LARGEST_SCALES = 48
# Eigenvalues of W below this share of the largest are rounding; the ridge keeps a singular covariance factorable.
_NOTHING, _RIDGE = 1e-12, 1e-10


@dataclass(frozen=True, eq=False)
class QuadraticError:
    """√linear·z + Σ_r λ_r (z_r² − 1) for independent standard normal z, z_r and the eigenvalues λ of `product`.

    `linear` = 4qᵀΣq/n is the variance of the linear term, `quadratic` = 2tr(ΣWΣW)/n² that of the other, whose λ are
    those of Σ^½WΣ^½/n for the covariance Σ of one decoded report, the form W and n reports.
    """

    linear: float
    quadratic: float
    covariance: Floats
    matrix: Floats

    @property
    def standard_error(self) -> float:
        """The root of the whole variance."""
        return float(np.sqrt(self.linear + self.quadratic))

    def quantiles(self, level: float) -> tuple[float, float]:
        """Below and above which the error lies with chance (1 − level)/2 each."""
        if self.quadratic <= _NEGLIGIBLE_SHARE * (self.linear + self.quadratic):
            reach = normal_quantile(level) * self.standard_error
            return -reach, reach
        low, high = np.quantile(self._draws(), [(1 - level) / 2, (1 + level) / 2])
        return float(low), float(high)

    def _draws(self) -> Floats:
        scales = self._scales()
        largest, rest = scales[:_LARGEST_SCALES], scales[_LARGEST_SCALES:]
        normal, squares = _standard_draws()
        spread = np.sqrt(self.linear + 2.0 * float(rest @ rest))
        return np.asarray(spread * normal + squares[:, : len(largest)] @ largest)

    def _scales(self) -> Floats:
        """λ, the largest in size first, with Σ 2λ² = quadratic."""
        values, vectors = scipy.linalg.eigh(self.matrix)
        kept = np.abs(values) > _NOTHING * np.abs(values).max()
        # Σ is a covariance on what W sees; elsewhere, where decoders may do as they like, it need not be one.
        seen = vectors[:, kept].T @ self.covariance @ vectors[:, kept]
        root = scipy.linalg.cholesky(seen + _RIDGE * np.trace(seen) * np.eye(len(seen)), lower=True)
        found = scipy.linalg.eigvalsh((root.T * values[kept]) @ root)
        ordered = found[np.argsort(-np.abs(found))]
        return np.asarray(ordered * np.sqrt(self.quadratic / (2.0 * float(ordered @ ordered))))


@cache
def _standard_draws() -> tuple[Floats, Floats]:
    """(draws,) of z and (draws, scales) of z² − 1, the same for every estimate."""
    generator = np.random.Generator(np.random.PCG64(_SEED))
    return generator.standard_normal(_DRAWS), generator.standard_normal((_DRAWS, _LARGEST_SCALES)) ** 2 - 1.0
