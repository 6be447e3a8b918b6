"""The law of the error of an estimated quadratic form: a normal variable and a weighted sum of χ² variables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from sordino_server.design.arrays import Floats
from sordino_server.estimation.intervals import normal_quantile

# The quadratic term's share of the variance below which the error counts as normal: quantiles move by less than 2 %.
_NEGLIGIBLE_SHARE = 0.02
# The seed and the number of draws are part of the method: the same estimate has the same interval on every machine.
_DRAWS, _SEED = 20_000, 20_261_121
# All but the largest λ add up to something normal.
_LARGEST_SCALES, _ITERATIONS = 32, 8
# A direction in which reports spread by less than this share of the widest is rounding.
_NOTHING = 1e-12


@dataclass(frozen=True, eq=False)
class QuadraticError:
    """√linear·z + Σ_r λ_r (z_r² − 1) for independent standard normal z, z_r and weights λ_r.

    `linear` = 4qᵀΣq/n is the variance of the linear term, `quadratic` = 2tr(ΣWΣW)/n² that of the other, whose λ are
    those of `turn`·Σ^½WΣ^½/n for the covariance Σ of one decoded report, the form W and n `users`.
    """

    linear: float
    quadratic: float
    covariance: Floats
    matrix: Floats
    users: int
    turn: float = 1.0

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
        scales = self._scales() * self.turn
        normal, squares = _standard_draws()
        rest = max(self.quadratic - 2.0 * float(scales @ scales), 0.0)
        return np.asarray(np.sqrt(self.linear + rest) * normal + squares[:, : len(scales)] @ scales)

    def _scales(self) -> Floats:
        """The largest λ in size, by subspace iteration on WΣ, which is symmetric where Σ gives lengths."""
        generator = np.random.Generator(np.random.PCG64(_SEED))
        block = self.matrix @ generator.standard_normal((len(self.matrix), min(_LARGEST_SCALES, len(self.matrix))))
        for _ in range(_ITERATIONS):
            block = self.matrix @ (self.covariance @ np.linalg.qr(block)[0])
        pulled = self.covariance @ block
        lengths, vectors = np.linalg.eigh(block.T @ pulled)
        kept = lengths > _NOTHING * lengths.max()
        pulled = pulled @ (vectors[:, kept] / np.sqrt(lengths[kept]))
        return np.asarray(np.linalg.eigvalsh(pulled.T @ self.matrix @ pulled) / self.users)


@cache
def _standard_draws() -> tuple[Floats, Floats]:
    """(draws,) of z and (draws, scales) of z² − 1, the same for every estimate."""
    generator = np.random.Generator(np.random.PCG64(_SEED))
    return generator.standard_normal(_DRAWS), generator.standard_normal((_DRAWS, _LARGEST_SCALES)) ** 2 - 1.0
