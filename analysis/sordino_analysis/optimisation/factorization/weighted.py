"""The singular value decomposition of D_u^½ C D_v^½ through its smaller Gram matrix, and its factors."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from sordino_analysis.arrays import Floats

# Singular values below this share of the largest are lifted to it: a Gram matrix does not know them better.
_FLOOR = 1e-7
# Rows of L and R that together add less than this share of every query are left out.
_NEGLIGIBLE = 1e-11


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightedSpectrum:
    """D_u^½ C D_v^½ = Σ σᵢ pᵢqᵢᵀ, known by the eigenvectors of its smaller Gram matrix.

    `tall` is C, or Cᵀ when C is wide; `near` weighs its columns, and the Gram matrix lives on that side.
    For *any* positive s the matrices S^½ VᵀD^-½ (near side) and S^-½ VᵀD^½ C (far side) give C exactly:
    the squared condition number of the Gram matrix costs optimality in the last digits, never exactness.
    """

    tall: Floats
    near: Floats
    wide: bool
    eigenvalues: Floats
    basis: Floats

    @property
    def nuclear_norm(self) -> float:
        """Σσᵢ from below: short of it by rounding only."""
        return float(self.least_singular_values.sum())

    @property
    def least_singular_values(self) -> Floats:
        """σᵢ from below in increasing order: Weyl's error is taken off each eigenvalue. Shape (min(Q, k),)."""
        error = 8 * len(self.eigenvalues) * np.finfo(float).eps * self.eigenvalues[-1]
        return np.asarray(np.sqrt(np.maximum(self.eigenvalues - error, 0.0)))

    @property
    def singular_values(self) -> Floats:
        """σᵢ in increasing order, lifted to a floor that keeps them invertible. Shape (min(Q, k),)."""
        largest = max(float(self.eigenvalues[-1]), np.finfo(float).tiny)
        return np.sqrt(np.maximum(self.eigenvalues, _FLOOR**2 * largest))

    def row_squares(self, moments: Floats | None = None) -> Floats:
        """‖L_q‖² of every query: Σ_i m_i p_iq²/u_q for m = σ, or for the `moments` m (min(Q, k),). Shape (Q,)."""
        moments = self.singular_values if moments is None else moments
        return self._near_squares(moments) if self.wide else self._far_squares(moments)

    def column_squares(self, moments: Floats | None = None) -> Floats:
        """‖R_x‖² of every type, likewise Σ_i m_i q_ix²/v_x. Shape (k,)."""
        moments = self.singular_values if moments is None else moments
        return self._far_squares(moments) if self.wide else self._near_squares(moments)

    def factors(self) -> tuple[Floats, Floats]:
        """L (r×Q) and R (r×k) with LᵀR = C up to rounding; negligible rows are left out. Shapes (r, Q) and (r, k)."""
        root = np.sqrt(self.singular_values)[:, None]
        near = root * self.basis.T / np.sqrt(self.near)
        far = self._projected().T / root
        left, right = (near, far) if self.wide else (far, near)
        kept = self._noticeable(left, right)
        return left[kept], right[kept]

    def _noticeable(self, left: Floats, right: Floats) -> NDArray[np.intp]:
        """Rows of L and R, largest σ first, without those that together do not change any query."""
        spread = np.abs(self.tall).max(axis=0 if self.wide else 1)
        sizes = (np.abs(left) / spread).max(axis=1) * np.abs(right).max(axis=1)
        order = np.argsort(sizes)
        return np.sort(order[np.cumsum(sizes[order]) > _NEGLIGIBLE])[::-1]

    def _near_squares(self, moments: Floats) -> Floats:
        return np.asarray((self.basis**2 @ moments) / self.near)

    def _far_squares(self, moments: Floats) -> Floats:
        return np.asarray(self._projected() ** 2 @ (moments / self.singular_values**2))

    def _projected(self) -> Floats:
        return np.asarray(self.tall @ (np.sqrt(self.near)[:, None] * self.basis))


def weighted_spectrum(matrix: Floats, row_weights: Floats, column_weights: Floats) -> WeightedSpectrum:
    """Decompose D_u^½ C D_v^½ at the cost of one product and one eigenproblem of the smaller side.

    `matrix` C (Q, k), `row_weights` u (Q,), `column_weights` v (k,).
    """
    wide = matrix.shape[0] < matrix.shape[1]
    tall = matrix.T if wide else matrix
    near, far = (row_weights, column_weights) if wide else (column_weights, row_weights)
    scaled = np.sqrt(far)[:, None] * tall * np.sqrt(near)
    eigenvalues, basis = eigh(scaled.T @ scaled, driver="evd", overwrite_a=True, check_finite=False)
    return WeightedSpectrum(tall=tall, near=near, wide=wide, eigenvalues=eigenvalues, basis=basis)
