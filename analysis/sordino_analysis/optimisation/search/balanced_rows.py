"""Kernels K = diag(θ)(1 + (e^ε − 1)σ(Z)) whose columns sum to one exactly, for any logits Z.

Given positive weights t, θ = t ∘ (1 + A y) with A = 1 + (e^ε − 1)σ(Z) and y solving (Aᵀ diag(t) A) y = 1 − Aᵀt: the
correction of t that is least in the t-weighted sense. So the k equality constraints are gone and the optimiser sees
only free variables; a penalty in their place makes k stiff directions that a limited-memory method cannot learn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.special import expit

from sordino_analysis.arrays import SUM_TOLERANCE, TINY, Floats
from sordino_analysis.optimisation.search.images import NO_IMAGES, Images
from sordino_analysis.optimisation.search.tuning import DESCENT

# Columns that miss 1 by no more are balanced up to rounding, as singular values of this share are zero.
_ROUNDING = 1e-13


@dataclass(frozen=True, eq=False, kw_only=True)
class BalancedRows:
    """The kernel at one point (Z, t), with what its gradient needs."""

    boost: float
    membership: Floats
    levels: Floats
    folded: Floats
    weights: Floats
    correction: Floats
    row_correction: Floats
    system: tuple[Floats, bool]
    images: Images

    @property
    def row_weights(self) -> Floats:
        """(m,) θ; a negative entry means that the point is outside where kernels are."""
        return np.asarray(self.weights * (1.0 + self.row_correction))

    @property
    def kernel(self) -> Floats:
        """(m, k) K."""
        return np.asarray(self.row_weights[:, None] * self.levels)

    def gradient(self, kernel_gradient: Floats) -> tuple[Floats, Floats]:
        """(∂F/∂Z, ∂F/∂t) from ∂F/∂K, through θ's dependence on both. `kernel_gradient` (m, k) → (m, k) and (m,)."""
        by_weight = np.einsum("yx,yx->y", kernel_gradient, self.levels)
        moved = self.folded.T @ (self.weights * by_weight)
        pull = scipy.linalg.cho_solve(self.system, moved, check_finite=False)
        row_pull = self.folded @ pull
        row_weights = self.row_weights
        by_level = kernel_gradient * row_weights[:, None]
        by_level += np.outer(self.weights * (by_weight - row_pull), self.images.unfolded(self.correction))
        by_level -= np.outer(row_weights, self.images.unfolded(pull))
        by_logit = by_level * (self.boost * self.membership * (1.0 - self.membership))
        return by_logit, (by_weight - row_pull) * (1.0 + self.row_correction)


def balance(logits: Floats, weights: Floats, epsilon: float, images: Images = NO_IMAGES) -> BalancedRows:
    """The balanced rows at logits (m, k) and weights (m,); LinAlgError where the rows do not span all types."""
    boost = float(np.expm1(epsilon))
    membership = expit(logits)
    levels = 1.0 + boost * membership
    # Columns sum to one at a type and its image together, and so do corrections.
    folded = images.folded(levels)
    weighted = folded * weights[:, None]
    system = scipy.linalg.cho_factor(weighted.T @ folded, check_finite=False)
    correction = scipy.linalg.cho_solve(system, 1.0 - weighted.sum(axis=0), check_finite=False)
    return BalancedRows(
        boost=boost,
        membership=membership,
        levels=levels,
        folded=folded,
        weights=weights,
        correction=correction,
        row_correction=folded @ correction,
        system=system,
        images=images,
    )


def balanced_weights(
    levels: Floats, weights: Floats, images: Images = NO_IMAGES, *, steps: int | None = None
) -> Floats:
    """Positive (m,) weights near `weights` under which every column of the (m, k) rows sums to one.

    By damped Newton steps; raises ValueError where the rows cannot be balanced from here.
    """
    weights, levels = weights.copy(), images.folded(levels)
    for _ in range(DESCENT.balancing_steps if steps is None else steps):
        residual = 1.0 - levels.T @ weights
        if np.abs(residual).max() < _ROUNDING:
            break
        gram = (levels * weights[:, None]).T @ levels
        step = weights * (levels @ np.linalg.lstsq(gram, residual, rcond=_ROUNDING)[0])
        # Half-way to the boundary at most: a weight never dies here.
        shrink = np.min(np.where(step < 0, -0.5 * weights / np.minimum(step, -TINY), 1.0))
        weights += min(1.0, shrink) * step
    if np.abs(1.0 - levels.T @ weights).max() > SUM_TOLERANCE:
        raise ValueError("the rows cannot be weighted so that every column sums to one")
    return weights
