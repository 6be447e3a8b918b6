"""Symmetric positive block-Toeplitz matrices over the cells of a plane: products and solutions by transforms.

M_(x,y),(x',y') = m_|x−x'|,|y−y'| is given by m (k₁, k₂). Nothing of k₁k₂ × k₁k₂ entries is formed unless there are few.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy import fft

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.toeplitz import fast_length
from sordino_analysis.optimisation.tuning import TOEPLITZ
from sordino_shared.errors import InvalidValue

# Of a residual, relative to the right-hand side.
_TOLERANCE = 1e-12
_NOT_POSITIVE = "a block-Toeplitz system cannot be solved: the matrix is not positive"


@dataclass(frozen=True, eq=False)
class BlockToeplitz:
    """M with the first block column `column` m (k₁, k₂)."""

    column: Floats

    @property
    def shape(self) -> tuple[int, int]:
        """(k₁, k₂)."""
        first, second = self.column.shape
        return first, second

    @cached_property
    def _lengths(self) -> tuple[int, int]:
        first, second = self.shape
        return fast_length(2 * first), fast_length(2 * second)

    @cached_property
    def _spectrum(self) -> Floats:
        """Of the matrix of a torus whose corner is M."""
        whole = self.column
        for axis, length in enumerate(self._lengths):
            whole = _wrapped(whole, axis, length)
        return np.asarray(fft.rfft2(whole).real)

    @cached_property
    def _preconditioner(self) -> Floats:
        """Spectrum of the matrix of the torus of k₁ × k₂ cells that is nearest to M (T. Chan 1988), axis by axis."""
        column = self.column
        for axis in (0, 1):
            moved = np.moveaxis(column, axis, 0)
            size = len(moved)
            shares = (np.arange(size) / size)[:, None]
            column = np.moveaxis((1 - shares) * moved + shares * np.roll(moved[::-1], 1, axis=0), 0, axis)
        return np.asarray(fft.rfft2(column).real)

    def product(self, plane: Floats) -> Floats:
        """M v for v (…, k₁, k₂)."""
        first, second = self.shape
        transformed = fft.rfft2(plane, self._lengths) * self._spectrum
        return np.asarray(fft.irfft2(transformed, self._lengths)[..., :first, :second])

    def solve_all(self, planes: Floats) -> Floats:
        """M⁻¹ v for each v of `planes` (b, k₁, k₂), by one factorization where there are few cells.

        Raises InvalidValue where M is not positive.
        """
        first, second = self.shape
        if first * second > TOEPLITZ.most_factored:
            return np.stack([self.solve(plane) for plane in planes])
        # Here, since processes that only add reports up import this module and do without scipy.
        from scipy.linalg import cho_solve

        solutions = cho_solve(self._factor, planes.reshape(len(planes), -1).T)
        return np.asarray(solutions.T.reshape(planes.shape))

    @cached_property
    def _factor(self) -> tuple[Floats, bool]:
        """The Cholesky factor of M as a dense matrix."""
        from scipy.linalg import cho_factor

        first, second = np.indices(self.shape).reshape(2, -1)
        dense = self.column[np.abs(first[:, None] - first), np.abs(second[:, None] - second)]
        try:
            factor, lower = cho_factor(dense, lower=True, overwrite_a=True)
        except np.linalg.LinAlgError as failure:
            raise InvalidValue(_NOT_POSITIVE, self.column) from failure
        return factor, bool(lower)

    def solve(self, plane: Floats, tolerance: float = _TOLERANCE) -> Floats:
        """M⁻¹ v for v (k₁, k₂): conjugate gradients with the preconditioner of a torus, in 15 to 40 steps.

        Raises InvalidValue where the residual does not become `tolerance` of v, for M is then not positive.
        """
        if not (self._preconditioner > 0).all():
            raise InvalidValue(_NOT_POSITIVE, self.column)
        solution, residual = np.zeros(self.shape), np.array(plane, dtype=float)
        goal = tolerance * float(np.linalg.norm(plane))
        direction = self._conditioned(residual)
        slope = float((residual * direction).sum())
        for _ in range(TOEPLITZ.most_plane_steps):
            if float(np.linalg.norm(residual)) <= goal:
                return solution
            image = self.product(direction)
            curvature = float((direction * image).sum())
            if curvature <= 0:
                break
            solution += slope / curvature * direction
            residual -= slope / curvature * image
            conditioned = self._conditioned(residual)
            steeper = float((residual * conditioned).sum())
            direction, slope = conditioned + steeper / slope * direction, steeper
        raise InvalidValue(_NOT_POSITIVE, self.column)

    def _conditioned(self, plane: Floats) -> Floats:
        return np.asarray(fft.irfft2(fft.rfft2(plane) / self._preconditioner, self.shape))


def _wrapped(values: Floats, axis: int, length: int) -> Floats:
    """`values` at the distances 0, 1, … from both ends of an axis of `length` places."""
    moved = np.moveaxis(values, axis, 0)
    whole = np.zeros((length, *moved.shape[1:]))
    whole[: len(moved)] = moved
    whole[length - len(moved) + 1 :] = moved[:0:-1]
    return np.moveaxis(whole, 0, axis)
