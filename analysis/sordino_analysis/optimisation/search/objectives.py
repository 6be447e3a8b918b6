"""What a kernel is searched for: the averaged second moment, or the soft maximum of the variances, with gradients.

Throughout D = diag(Kπ), M = KᵀD⁻¹K, N = M⁻¹KᵀD⁻¹; a decoder V is unbiased iff VK = W.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.search.images import NO_IMAGES, Images

# Keeps M invertible where W needs only a part of the types' space; relative to its mean eigenvalue.
_RIDGE = 1e-11


@dataclass(frozen=True, eq=False, kw_only=True)
class Information:
    """M of a kernel under type weights π, factored."""

    kernel: Floats
    type_weights: Floats
    masses: Floats
    scaled: Floats
    factor: tuple[Floats, bool]

    def solve(self, right: Floats) -> Floats:
        """M⁻¹ times a (k, ·) matrix."""
        return np.asarray(scipy.linalg.cho_solve(self.factor, right, check_finite=False))

    def reconstruction(self) -> Floats:
        """N, the (k, m) decoder of the histogram with the least π-averaged second moment."""
        return self.solve(self.scaled.T)

    def through_masses(self, by_inverse_mass: Floats) -> Floats:
        """∂F/∂K through D⁻¹ only, from ∂F/∂(D⁻¹). `by_inverse_mass` (m,) → (m, k)."""
        return -np.outer(by_inverse_mass / self.masses**2, self.type_weights)


def information(kernel: Floats, type_weights: Floats, images: Images = NO_IMAGES) -> Information:
    """M and its Cholesky factor. `kernel` K (m, k), `type_weights` π (k,)."""
    masses = kernel @ type_weights
    scaled = kernel / masses[:, None]
    factor = _factor(images.by_types(kernel.T @ scaled))
    return Information(kernel=kernel, type_weights=type_weights, masses=masses, scaled=scaled, factor=factor)


def _factor(matrix: Floats) -> tuple[Floats, bool]:
    """Cholesky's, of a matrix that is changed."""
    matrix[np.diag_indices_from(matrix)] += _RIDGE * np.trace(matrix) / len(matrix)
    triangle, lower = scipy.linalg.cho_factor(matrix, check_finite=False)
    return np.asarray(triangle), bool(lower)


def gls_decoder(kernel: Floats, matrix: Floats, type_weights: Floats, images: Images = NO_IMAGES) -> Floats:
    """V = W N (Q, m): the unbiased decoder with the least π-averaged variance for every query."""
    return np.asarray(matrix @ information(kernel, type_weights, images).reconstruction())


def variances(kernel: Floats, decoder: Floats, matrix: Floats, images: Images = NO_IMAGES) -> Floats:
    """(Q, k) Var_q(x) = Σ_y V_qy² K_yx − W_qx² of an unbiased decoder."""
    return np.asarray(images.of_squares((decoder * decoder) @ kernel) - matrix * matrix)


def averaged_by_type(
    kernel: Floats, gram: Floats, second_moments: Floats, type_weights: Floats, images: Images = NO_IMAGES
) -> Floats:
    """(k,) Σ_q ρ_q Var_q(x) of the GLS decoder, from G = Wᵀ diag(ρ) W (k, k) and Σ_q ρ_q W_qx² (k,) alone."""
    rebuild = information(kernel, type_weights, images).reconstruction()
    by_output = np.einsum("xy,xy->y", rebuild, gram @ rebuild)
    return np.asarray(images.by_type(by_output @ kernel) - second_moments)


@dataclass(frozen=True, eq=False)
class AveragedVariance:
    """log of Σ_x π_x (mean over queries of Var_q(x)) = log(tr(G M⁻¹) − c), G = Wᵀ diag(ρ) W: needs W only through G."""

    gram: Floats
    second_moments: Floats
    type_weights: Floats
    images: Images = NO_IMAGES

    def __call__(self, kernel: Floats, _: Floats | None) -> tuple[float, Floats, None]:
        masses = kernel @ self.type_weights
        value, pushed = -float(self.type_weights @ self.second_moments), []
        for part, gram in zip(self.images.parts(kernel), self._grams, strict=True):
            factor = _factor(part.T @ (part / masses[:, None]))
            solved = scipy.linalg.cho_solve(factor, gram, check_finite=False)
            value += float(np.trace(solved))
            pushed.append(part @ -scipy.linalg.cho_solve(factor, solved.T, check_finite=False))
        moved = self.images.joined(pushed)
        gradient = 2.0 * moved / masses[:, None]
        gradient -= np.outer(np.einsum("yx,yx->y", moved, kernel) / masses**2, self.type_weights)
        return float(np.log(value)), gradient * (self.images.copies / value), None

    @cached_property
    def _grams(self) -> list[Floats]:
        return self.images.blocks(self.gram)


@dataclass(frozen=True, eq=False)
class SoftMaximum:
    """(1/b) log Σ_qx exp(b · Var_q(x)/s): an upper bound of max Var/s that tightens as the sharpness b grows.

    The decoder is free: V = F + (W − FK)N is unbiased for every F, which is the optimiser's variable.
    """

    matrix: Floats
    type_weights: Floats
    scale: float
    sharpness: float
    _: KW_ONLY
    images: Images = NO_IMAGES

    def __call__(self, kernel: Floats, free: Floats | None) -> tuple[float, Floats, Floats]:
        if free is None:
            raise ValueError("the soft maximum is over kernel and decoder")
        images = self.images
        found = information(kernel, self.type_weights, images)
        rebuild = found.reconstruction()
        missing = self.matrix - images.of_answers(free @ kernel)
        decoder = free + missing @ rebuild
        squares = decoder * decoder
        value, pressure = self._soft_maximum(images.of_squares(squares @ kernel) - self.matrix * self.matrix)
        by_decoder = (2.0 * images.copies) * decoder * (pressure @ kernel.T)
        projected = images.of_answers(by_decoder @ rebuild.T)
        by_kernel = images.copies * (squares.T @ pressure) - free.T @ projected
        by_kernel += self._through_rebuild(found, rebuild, missing.T @ by_decoder)
        return value, by_kernel, by_decoder - projected @ kernel.T

    def _soft_maximum(self, variance: Floats) -> tuple[float, Floats]:
        """Its value and its derivative by each variance."""
        top = float(variance.max())
        weights = np.exp(self.sharpness * (variance - top) / self.scale)
        total = float(weights.sum())
        return top / self.scale + np.log(total) / self.sharpness, weights / (total * self.scale)

    def _through_rebuild(self, current: Information, rebuild: Floats, by_rebuild: Floats) -> Floats:
        """∂F/∂K through N, from ∂F/∂N (k, m)."""
        solved = current.solve(by_rebuild)
        middle = self.images.by_types(solved @ rebuild.T)
        gradient = solved.T / current.masses[:, None]
        gradient -= (current.kernel @ (middle + middle.T)) / current.masses[:, None]
        by_inverse_mass = np.einsum("yx,xy->y", current.kernel, solved)
        by_inverse_mass -= np.einsum("yx,yx->y", current.kernel @ middle, current.kernel)
        return gradient + current.through_masses(by_inverse_mass)
