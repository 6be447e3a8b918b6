"""The law of the error of an estimated quadratic form, and the intervals that follow from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.intervals import normal_quantile

# The quadratic term's share of the variance below which the error counts as normal: quantiles move by less than 2 %.
_NEGLIGIBLE_SHARE = 0.02
# The seed and the number of draws are part of the method: the same estimate has the same interval on every machine.
_DRAWS, _SEED = 10_000, 20_261_121
# All but the largest λ add up to something normal.
_LARGEST_SCALES, _ITERATIONS = 32, 8
# A direction in which reports spread by less than this share of the widest is rounding.
_NOTHING = 1e-12
_HALVINGS = 12


@dataclass(frozen=True, eq=False)
class QuadraticError:
    """turn·Σ_r λ_r (z_r² − 1) + stretch·2γ Σ_r λ_r z_r + √independent·z for independent standard normal z and z_r.

    λ are the eigenvalues of Σ^½WΣ^½/n for the covariance Σ of one decoded report, the form W and n `users`;
    `quadratic` = 2tr(ΣWΣW)/n² = 2Σλ². `linear` = 4qᵀΣq/n for the form's slope q fixes γ = √(linear/4Σλ²): it is an
    unbiased estimate, below zero where q cannot be told from nothing. That q leans as λ does is
    exact for one direction, and for more it is the mean over histograms that lean anywhere.
    """

    linear: float
    quadratic: float
    covariance: Floats
    matrix: Floats
    users: int
    turn: float = 1.0
    stretch: float = 1.0
    independent: float = 0.0

    @property
    def variance(self) -> float:
        """Of the whole error; never below what the quadratic and the independent part have."""
        return self.stretch**2 * max(self.linear, 0.0) + self.turn**2 * self.quadratic + self.independent

    @property
    def standard_error(self) -> float:
        """Its root."""
        return float(np.sqrt(self.variance))

    def interval(self, value: float, level: float) -> tuple[float, float]:
        """All true values under which an error as large as `value` has is no surprise at this level.

        The linear variance depends on the true value, and its estimate errs together with the estimate of the value:
        under a true value θ it is linear − κ(value − θ), κ = 4Σλ³/Σλ² for one round. A normal interval, and one with
        the variance held fixed, covers 84 % and 51 % at the worst where these cover 91 %.
        """
        if self.turn**2 * self.quadratic <= _NEGLIGIBLE_SHARE * self.variance:
            reach = normal_quantile(level) * self.standard_error
            return value - reach, value + reach
        quantile = self._quantiles()
        scale = self.standard_error
        low = _root(lambda off: off - quantile(off, (1 + level) / 2), 0.0, scale)
        high = _root(lambda off: off - quantile(off, (1 - level) / 2), 0.0, -scale)
        return value - low, value - high

    def _quantiles(self) -> Callable[[float, float], float]:
        """The quantile of the error, at a chance, where the value is `off` the truth."""
        scales = self._scales()
        squares, normals, alone = _standard_draws()
        found = float(scales @ scales)
        rest = max(self.quadratic - 2.0 * found, 0.0)
        quadratic, linear = squares[:, : len(scales)] @ scales, 2.0 * (normals[:, : len(scales)] @ scales)
        together = self.stretch * max(self.linear, 0.0) + self.turn * self.quadratic
        feedback = 4.0 * float((scales**3).sum()) / found * together / self.variance

        def quantile(off: float, chance: float) -> float:
            lean = np.sqrt(max(self.linear - feedback * off, 0.0) / (2.0 * self.quadratic))
            normal = np.sqrt(self.independent + rest * (self.turn**2 + 2.0 * (self.stretch * lean) ** 2))
            drawn = self.turn * quadratic + self.stretch * lean * linear + normal * alone
            rank = round(chance * (_DRAWS - 1))
            return float(np.partition(drawn, rank)[rank])

        return quantile

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


def _root(function: Callable[[float], float], start: float, step: float) -> float:
    """Where `function` changes its sign between `start` and the first of start + step, start + 3·step, … past that."""
    below = function(start) < 0
    near, far = start, start + step
    while (function(far) < 0) == below:
        near, step = far, 2 * step
        far += step
    for _ in range(_HALVINGS):
        middle = (near + far) / 2
        if (function(middle) < 0) == below:
            near = middle
        else:
            far = middle
    return (near + far) / 2


@cache
def _standard_draws() -> tuple[Floats, Floats, Floats]:
    """(draws, scales) of z² − 1 and of the same z, and (draws,) of another z; the same for every estimate."""
    generator = np.random.Generator(np.random.PCG64(_SEED))
    normals = generator.standard_normal((_DRAWS, _LARGEST_SCALES))
    return normals**2 - 1.0, normals, generator.standard_normal(_DRAWS)
