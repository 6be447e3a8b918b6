"""Symmetric positive Toeplitz matrices: products, solutions, and sums over intervals of what has small displacement.

A Toeplitz matrix is given by its first column m (k,): M_xy = m_|x−y|. Nothing of size k × k is formed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy import fft

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.tuning import TOEPLITZ
from sordino_shared.errors import InvalidValue

# Of a residual, relative to the right-hand side.
_TOLERANCE = 1e-13
# Eigenvalues of a displacement below this share of the largest are rounding.
_RANK_TOLERANCE = 1e-11
# Eigenvalues that are all below this are what rounding leaves of nothing: weights of answers are of the order of 1.
_NOTHING = 1e-22

LinearOperator = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class SymmetricToeplitz:
    """M (k, k) with the first column `column` (k,)."""

    column: Floats

    @property
    def size(self) -> int:
        """k."""
        return len(self.column)

    @cached_property
    def _spectrum(self) -> Floats:
        """Of the circulant matrix of at least 2k − 1 points whose corner is M."""
        return _circulant_spectrum(self.column, self._length)

    @cached_property
    def _length(self) -> int:
        return fast_length(2 * self.size)

    @cached_property
    def _preconditioner(self) -> Floats:
        """Spectrum of the circulant matrix nearest to M (T. Chan 1988), which is positive where M is."""
        k = self.size
        column = np.arange(k, 0, -1) * self.column
        column[1:] += np.arange(1, k) * self.column[:0:-1]
        return np.asarray(fft.rfft(column / k).real)

    def product(self, vectors: Floats) -> Floats:
        """M v for each of `vectors` (…, k)."""
        transformed = fft.rfft(vectors, self._length) * self._spectrum
        return np.asarray(fft.irfft(transformed, self._length)[..., : self.size])

    def solve(self, vectors: Floats, tolerance: float = _TOLERANCE) -> Floats:
        """M⁻¹ v for each of `vectors` (…, k): conjugate gradients with the circulant preconditioner, in 8 to 15 steps.

        Raises InvalidValue where the residual does not become `tolerance` of v, for M is then not positive.
        """
        if not (self._preconditioner > 0).all():
            raise InvalidValue("a Toeplitz system cannot be solved: the matrix is not positive", self.column)
        solution, residual = np.zeros_like(vectors), np.array(vectors, dtype=float)
        goal = tolerance * np.linalg.norm(vectors, axis=-1)
        direction = self._conditioned(residual)
        slope = (residual * direction).sum(axis=-1, keepdims=True)
        before = np.full(goal.shape, np.inf)
        for _ in range(TOEPLITZ.most_steps):
            image = self.product(direction)
            curvature = (direction * image).sum(axis=-1, keepdims=True)
            if (curvature < 0).any():
                break
            step = np.divide(slope, curvature, out=np.zeros_like(slope), where=curvature > 0)
            solution += step * direction
            residual -= step * image
            size = np.linalg.norm(residual, axis=-1)
            if (size <= goal).all():
                return solution
            conditioned = self._conditioned(residual)
            steeper = (residual * conditioned).sum(axis=-1, keepdims=True)
            turn = np.divide(steeper, slope, out=np.zeros_like(slope), where=slope > 0)
            direction, slope = conditioned + turn * direction, steeper
            before = np.minimum(before, size)
        if (before <= TOEPLITZ.sufficient * goal).all():
            return solution
        raise InvalidValue("a Toeplitz system was not solved: the matrix is not positive", self.column)

    def _conditioned(self, vectors: Floats) -> Floats:
        return np.asarray(fft.irfft(fft.rfft(vectors) / self._preconditioner, self.size))


@dataclass(frozen=True, eq=False)
class ToeplitzInverse:
    """M⁻¹ = (L(x)L(x)ᵀ − L(x̂)L(x̂)ᵀ)/x₀ for x = M⁻¹e₀ and x̂ = (0, x_{k−1}, …, x₁) (Gohberg, Semencul 1972).

    L(a) is the lower triangular Toeplitz matrix with the first column a.
    """

    matrix: SymmetricToeplitz

    @cached_property
    def first_column(self) -> Floats:
        """x (k,)."""
        unit = np.zeros(self.matrix.size)
        unit[0] = 1.0
        return self.matrix.solve(unit)

    @cached_property
    def _spectra(self) -> tuple[np.ndarray, np.ndarray, int]:
        x = self.first_column
        length = fast_length(2 * len(x))
        mirrored = np.concatenate([[0.0], x[:0:-1]])
        return fft.rfft(x, length), fft.rfft(mirrored, length), length

    def product(self, vectors: Floats) -> Floats:
        """M⁻¹ v for each of `vectors` (…, k): six transforms, and an error of 1e-13 of v at 65,536 types."""
        near, far, length = self._spectra
        k, transformed = self.matrix.size, fft.rfft(vectors, length)
        total = np.zeros_like(transformed)
        for spectrum, sign in ((near, 1.0), (far, -1.0)):
            upper = fft.irfft(transformed * spectrum.conj(), length)[..., :k]
            total += sign * fft.rfft(upper, length) * spectrum
        return np.asarray(fft.irfft(total, length)[..., :k] / self.first_column[0])


@dataclass(frozen=True, eq=False)
class IntervalForms:
    """1_Iᵀ N 1_J for intervals I, J of equal width, where N (n, n) is symmetric and N − ZNZᵀ has a small rank.

    Z shifts down by one. With N − ZNZᵀ = Σ_i s_i g_i g_iᵀ it is N = Σ_i s_i L(g_i)L(g_i)ᵀ, and the form of two
    intervals is a sum over the cumulative sums of g_i, so that all intervals of one width take O(n) together.
    `signs` (r,), `sums` (r, n + 1) the cumulative sums of g_i from 0.
    """

    signs: Floats
    sums: Floats

    @classmethod
    def of(cls, operator: LinearOperator, size: int, seed: int = 0) -> IntervalForms:
        """For N given as its products with vectors (b, n); raises InvalidValue where the displacement rank is large."""
        random = np.random.default_rng(seed).standard_normal((TOEPLITZ.most_generators, size))
        basis = np.linalg.qr(_displacement(operator, random).T)[0]
        core = basis.T @ _displacement(operator, basis.T).T
        values, vectors = np.linalg.eigh((core + core.T) / 2)
        kept = np.abs(values) > max(_RANK_TOLERANCE * np.abs(values).max(), _NOTHING)
        if kept.all():
            raise InvalidValue("the displacement rank is too large for sums over intervals", size)
        generators = (basis @ vectors[:, kept] * np.sqrt(np.abs(values[kept]))).T
        sums = np.concatenate([np.zeros((len(generators), 1)), np.cumsum(generators, axis=1)], axis=1)
        return cls(np.sign(values[kept]), sums)

    @property
    def size(self) -> int:
        """n."""
        return int(self.sums.shape[1] - 1)

    def prefixes(self) -> Floats:
        """(n + 1,) the forms 1_Iᵀ N 1_I of I = [0, b) for b = 0 … n."""
        return np.asarray(np.cumsum(self.signs @ self.sums**2))

    def windows(self, width: int, lag: int = 0) -> Floats:
        """1_Iᵀ N 1_J of I = [c, c + width) and J = I + lag for c = 1 − width … n − width − lag: (n − lag,).

        What an interval has before 0 is cut off; after n it has nothing. `lag` ≥ 0.
        """
        near = self._differences(width, self.size - lag - width)
        far = self._differences(width, self.size - width)[:, lag : lag + near.shape[1]]
        return np.asarray(np.cumsum(self.signs @ (near * far)))

    def _differences(self, width: int, last: int) -> Floats:
        """A(c + width) − A(c) for c = −width + 1 … last, with A = 0 before 0."""
        stops = self.sums[:, 1 : last + width + 1]
        starts = np.zeros_like(stops)
        inner = max(0, last + 1)
        if inner:
            starts[:, -inner:] = self.sums[:, :inner]
        return stops - starts


def _displacement(operator: LinearOperator, vectors: Floats) -> Floats:
    """(N − ZNZᵀ) v for each of `vectors` (b, n)."""
    lifted = np.zeros_like(vectors)
    lifted[:, :-1] = vectors[:, 1:]
    image = operator(lifted)
    images = operator(vectors)
    images[:, 1:] -= image[:, :-1]
    return images


def _circulant_spectrum(column: Floats, length: int) -> Floats:
    whole = np.zeros(length)
    whole[: len(column)] = column
    whole[length - len(column) + 1 :] = column[:0:-1]
    return np.asarray(fft.rfft(whole).real)


def fast_length(least: int) -> int:
    """The smallest product of powers of 2, 3 and 5 that is at least `least`: transforms of such lengths are fast."""
    powers = range(least.bit_length() + 1)
    products: list[int] = [3**threes * 5**fives for threes in powers for fives in powers]
    # Each times the least power of 2 that makes it large enough.
    return min(odd << max(0, (-(-least // odd) - 1).bit_length()) for odd in products if odd < 2 * least)
