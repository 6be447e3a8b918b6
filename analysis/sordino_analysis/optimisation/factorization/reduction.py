"""Fewer dimensions for the vector mechanism: a random projection of L and R, with its exact distortion."""

from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.factorization.certificate import Factorization, FactorizationError


@dataclass(frozen=True, eq=False, kw_only=True)
class ReducedFactorization:
    """W ≈ (TL)ᵀ(TR) + c1ᵀ with T of shape ℓ×r; `left` is TL, `right` is TR.

    `bias` has for each query the largest error over the user types, computed from the matrices themselves and
    not from a theorem: it bounds the bias of that query's answer for every population.
    """

    projection: Floats
    left: Floats
    right: Floats
    centre: Floats
    bias: Floats

    @property
    def dimension(self) -> int:
        """ℓ, the number of rows of T."""
        return int(self.projection.shape[0])


def reduce_dimension(factorization: Factorization, dimension: int, seed: int) -> ReducedFactorization:
    """Project L and R onto ℓ random orthonormal directions scaled by √(r/ℓ), so that E (TL)ᵀ(TR) = LᵀR.

    ℓ of order γ₂² log(k)/α² suffices for an error of α (Ghazi et al., Lemma 12). Rows are orthonormal where
    Nikolov's Definition 2.4 has independent ones, so that ℓ = r changes nothing. T is drawn when the plan is made
    and is published with it: it protects nothing, so its generator is a reproducible one. Raises
    FactorizationError unless 1 ≤ ℓ ≤ r.
    """
    rank = factorization.rank
    if not 1 <= dimension <= rank:
        raise FactorizationError(f"the reduced dimension must be from 1 to the rank {rank}, not {dimension}", dimension)
    if seed < 0:
        raise FactorizationError(f"the seed of the projection must not be negative, got {seed}", seed)
    generator = np.random.Generator(np.random.PCG64(seed))
    basis, triangle = np.linalg.qr(generator.standard_normal((rank, dimension)))
    # Signs of the triangular factor are LAPACK's choice; with them taken out the subspace's basis is uniform.
    projection = (basis * np.sign(np.diag(triangle))).T * np.sqrt(rank / dimension)
    left, right = projection @ factorization.left, projection @ factorization.right
    error = np.abs(left.T @ right - factorization.left.T @ factorization.right).max(axis=1)
    return ReducedFactorization(projection=projection, left=left, right=right, centre=factorization.centre, bias=error)
