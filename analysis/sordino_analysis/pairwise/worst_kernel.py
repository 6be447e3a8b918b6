"""The kernel whose estimate of a form has the least variance for the worst population, of few types.

With rows θ_v v for v ∈ {1, e^ε}^k, decoders V_v and G_v = θ_v V_v, n times the variance of a form at a population h is
4[Σ_v (hᵀv)(q̃ᵀG_v)²/θ_v − Σ_x h_x q̃_x²] to first order, for q̃ of `pair_game`. This is convex in θ and G together,
so that the worst of some populations is least at the optimum of a cone program. It is the bound of `pair_game` for the
same populations: the two are dual.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sordino_analysis.arrays import Floats, Mask
from sordino_analysis.documents.decoders import HistogramDecoder
from sordino_analysis.evaluation.integer_kernels import KernelError, integer_kernel, probabilities
from sordino_analysis.optimisation.bounds.listed_rows import listed_rows
from sordino_analysis.optimisation.conic_program import Affine, ConicProgram
from sordino_analysis.pairwise.tuning import WORST_KERNEL
from sordino_analysis.vectorized.arrays import array_of
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import FiniteKernel


@dataclass(frozen=True, eq=False, kw_only=True)
class WorstCase:
    """Queries q̃ (P, k) at populations h (P, k), whose variances are compared after division by `scales` (P,)."""

    queries: Floats
    populations: Floats
    scales: Floats

    def variances(self, kernel: Floats, decoder: Floats) -> Floats:
        """(P,) of one report by K (p, k) that is decoded by V (k, p), over the scales."""
        squares = (self.queries @ decoder) ** 2
        seconds = (squares * (self.populations @ kernel.T)).sum(axis=1)
        return np.asarray((seconds - (self.populations * self.queries**2).sum(axis=1)) / self.scales)


def worst_kernel(case: WorstCase, guarantee: PureEpsilon) -> tuple[FiniteKernel, HistogramDecoder]:
    """A kernel whose ε is proved and its decoder to a histogram; raises KernelError where none is found."""
    epsilon, types = guarantee.epsilon, case.queries.shape[1]
    rows = np.vstack(list(listed_rows(types, epsilon)))
    shares = _solved(case, rows)
    kept = shares > WORST_KERNEL.least_share * shares.max()
    low, members = _balanced(shares[kept], rows[kept] > 1, epsilon)
    kernel = integer_kernel(low, members, guarantee)
    decoder = _decoder(case, probabilities(kernel))
    return kernel, HistogramDecoder(array_of(decoder, "<f8"), array_of(np.zeros(types), "<f8"))


def _solved(case: WorstCase, rows: Floats) -> Floats:
    """(V,) the shares θ of the rows (V, k)."""
    (count, types), populations = rows.shape, len(case.queries)
    sizes = {"shares": count, "decoders": types * count, "terms": populations * count, "worst": 1}
    program = ConicProgram(sizes, {"worst": np.ones(1)})
    program.zero(Affine({"shares": rows.T}, -1.0))
    # Σ_v G_v vᵀ = I, with G row by row.
    told = sparse.kron(sparse.eye_array(types), sparse.csr_array(rows.T))
    program.zero(Affine({"decoders": told}, -np.eye(types).ravel()))
    every = sparse.eye_array(populations * count)
    repeated = sparse.vstack([sparse.eye_array(count)] * populations)
    asked = sparse.kron(sparse.csr_array(case.queries), sparse.eye_array(count))
    # (q̃ᵀG_v)² ≤ T·θ_v
    program.second_order(
        [
            Affine({"terms": every, "shares": repeated}),
            Affine({"decoders": 2 * asked}),
            Affine({"terms": every, "shares": -repeated}),
        ]
    )
    weighed = sparse.block_diag([(rows @ population)[None, :] for population in case.populations])
    scaled = sparse.diags_array(1 / case.scales) @ weighed
    squares = (case.populations * case.queries**2).sum(axis=1) / case.scales
    program.not_negative(Affine({"worst": np.ones((populations, 1)), "terms": -scaled}, squares))
    solution = program.solve()
    if not solution.values:
        raise KernelError(f"the program for the worst population ended {solution.status}", case)
    return np.maximum(solution.values["shares"], 0.0)


def _balanced(shares: Floats, members: Mask, epsilon: float) -> tuple[Floats, Mask]:
    """Rows whose columns sum to one: what columns lack after small rows were left out goes to rows of single types.

    These have a share of at least 0 each, since all rows are lowered by as much as that takes.
    """
    boost, types = np.expm1(epsilon), members.shape[1]
    levels = 1 + boost * members
    shares = shares / (shares @ levels).max()
    lacking = float((1 - shares @ levels).max())
    shares = shares * (1 - max(WORST_KERNEL.spare, 2 * types * lacking / boost))
    single = 1 + boost * np.eye(types)
    added = np.linalg.solve(single, 1 - shares @ levels)
    return np.concatenate([shares, added]), np.vstack([members, np.eye(types, dtype=bool)])


def _decoder(case: WorstCase, kernel: Floats) -> Floats:
    """V (k, p) with VK = I and the least worst variance, by weights of the populations that grow where it is large."""
    weights = np.full(len(case.queries), 1 / len(case.queries))
    best, least = None, np.inf
    for _ in range(WORST_KERNEL.rounds):
        decoder = _weighted_decoder(case, kernel, weights)
        variances = case.variances(kernel, decoder)
        if variances.max() < least:
            best, least = decoder, float(variances.max())
        weights = weights * variances / variances.max()
        weights = np.maximum(weights / weights.sum(), WORST_KERNEL.least_weight)
    if best is None or not np.isfinite(best).all():
        raise KernelError("the kernel for the worst population tells the types not apart", case)
    return best


def _weighted_decoder(case: WorstCase, kernel: Floats, weights: Floats) -> Floats:
    """argmin Σ_y V_yᵀA_yV_y with VK = I, for A_y = Σ_h w_h (Kh)_y q̃q̃ᵀ and a little more: V_y = A_y⁻¹ΛK_y."""
    types = kernel.shape[1]
    chances = (weights / case.scales)[:, None] * (case.populations @ kernel.T)
    forms = np.einsum("py,pi,pj->yij", chances, case.queries, case.queries)
    sizes = np.trace(forms, axis1=1, axis2=2)[:, None, None]
    # Directions that no query asks for are decoded with little noise, too.
    inverses = np.linalg.inv(forms + WORST_KERNEL.ridge * sizes * np.eye(types))
    squares = kernel[:, :, None] * kernel[:, None, :]
    # Σ_y A_y⁻¹ΛK_yK_yᵀ = I, with Λ row by row.
    system = np.einsum("yij,ykl->ikjl", inverses, squares).reshape(types * types, types * types)
    multipliers = np.linalg.solve(system, np.eye(types).ravel()).reshape(types, types)
    return np.asarray(np.einsum("yij,jk,yk->iy", inverses, multipliers, kernel))
