"""What no unbiased mechanism of a trusted curator beats, and for which data sets that is proved.

zCDP at order 2 bounds χ²(M(X′)‖M(X)) by e^{2ρ} − 1, and Hammersley, Chapman and Robbins then bound the covariance of an
unbiased M at X: yᵀCov⁻¹y ≤ e^{2ρ} − 1 for every difference y from X to a neighbour. With the dual of the covariance
problem the mean variance is at least γ²/(e^{2ρ} − 1), for any noise, also one that depends on the data. The Gaussian
has 2ρ for e^{2ρ} − 1. Under pure ε χ² is at most 4 sinh²(ε/2), which takes the place of e^{2ρ} − 1. (Edmonds,
Nikolov and Ullman 2020, Section 5, with its constant.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

import numpy as np

from sordino_analysis.arrays import Floats, Mask
from sordino_analysis.guarantees import Guarantee
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_analysis.optimisation.gaussian.covariance import GaussianOptimum, dual_value, proof_from_types
from sordino_analysis.request_terms import Neighbours
from sordino_shared.guarantees import PureEpsilon

# Relative rounding of γ, of which the bound takes the square.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False, kw_only=True)
class CuratorCertificate:
    """(1/Q) Σ w_q Var_q ≥ norm²/χ² in squared counts, for unbiased mechanisms.

    χ² is e^{2ρ} − 1 under ρ and 4 sinh²(ε/2) under ε.

    It is proved by `query_weights` w and `weights` P alone. w has one for each query, or for each orbit of queries of
    bits. P is (k, k) on pairs, (k,) on types, or (d,) on the distances of d bits, where `add-remove` needs none. It
    holds at every data set that has a member of each pair with weight. Some data set of `holds_from_n` people has them;
    one of `add-remove` neighbours needs nobody. `norm` is γ, in counts.
    """

    neighbours: Neighbours
    query_weights: Floats
    weights: Floats
    norm: float
    holds_from_n: int

    @classmethod
    def of(cls, matrix: Floats, weights: Floats, query_weights: Floats | None = None) -> CuratorCertificate:
        """The certificate of P, (k, k) on pairs or (k,) on types, and w (Q,), 1 if left out, for the matrix (Q, k)."""
        on_pairs = weights.ndim == 2
        counted = np.ones(len(matrix)) if query_weights is None else query_weights
        return cls(
            neighbours="replace" if on_pairs else "add-remove",
            query_weights=counted,
            weights=weights,
            norm=dual_value(np.sqrt(counted)[:, None] * matrix, weights),
            holds_from_n=cover_size(weights > 0) if on_pairs else 0,
        )

    def mean_variance(self, guarantee: Guarantee) -> float:
        """The bound at this ρ or ε, rounded down, in squared counts."""
        return (1 - _ROUNDING) * self.norm**2 / largest_chi_square(guarantee)


def largest_chi_square(guarantee: Guarantee) -> float:
    """What χ² of neighbours may be: e^{2ρ} − 1 under zCDP, 4 sinh²(ε/2) under ε, as of randomised response."""
    match guarantee:
        case Zcdp():
            return math.expm1(2 * guarantee.rho)
        case PureEpsilon():
            return 4 * math.sinh(guarantee.epsilon / 2) ** 2
    assert_never(guarantee)


def certify(
    matrix: Floats,
    optimum: GaussianOptimum,
    users: int | None = None,
    query_weights: Floats | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> CuratorCertificate | None:
    """The certificate that speaks of data sets of so many people; None where none does. `matrix` (Q, k).

    `optimum` is of diag(√w) W for the `query_weights` w (Q,), which are 1 if left out.

    Where the best one needs more types than there are people, pairs with a member among `users` evenly spaced types
    are weighted instead: that one holds at data sets with a person of each.
    """
    counted = np.ones(len(matrix)) if query_weights is None else query_weights
    best = CuratorCertificate.of(matrix, optimum.weights, counted)
    if users is None or users >= best.holds_from_n:
        return best
    if users < 1:
        return None
    present = np.linspace(0, matrix.shape[1] - 1, users).round().astype(np.int64)
    proof = proof_from_types(np.sqrt(counted)[:, None] * matrix, present, should_stop=should_stop)
    return CuratorCertificate.of(matrix, proof, counted)


def cover_size(pairs: Mask) -> int:
    """How many types suffice to have a member in each of these pairs, (k, k) symmetric.

    All but an independent set, which is found greedily by least degree: k − 1 where all pairs count. The least number
    may be smaller.
    """
    remaining = np.ones(len(pairs), dtype=bool)
    independent = 0
    while remaining.any():
        degrees = (pairs & remaining).sum(axis=1)
        chosen = int(np.where(remaining, degrees, len(pairs) + 1).argmin())
        independent += 1
        remaining &= ~pairs[chosen]
        remaining[chosen] = False
    return len(pairs) - independent
