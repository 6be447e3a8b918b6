"""The papers' mechanism for a matrix near W instead of W: a bias that is stated, for less variance at a few users."""

from __future__ import annotations

import math

from sordino_analysis.mechanisms.factorization import vector_mechanism
from sordino_analysis.mechanisms.least_variances import least_of_approximations
from sordino_analysis.mechanisms.mechanism import MechanismFailed, Proposal, SharedWork
from sordino_analysis.mechanisms.tuning import BIASED_FACTORS
from sordino_analysis.optimisation.factorization import cheapest
from sordino_analysis.progress import ProgressCallback
from sordino_shared.quantities import quantity

# Entries of W: 8 MiB, and a singular value decomposition a step.
_MAX_ENTRIES = 1 << 20


class ApproximateFactorizationMechanism:
    """W̃ with |W̃ − W| ≤ α, answered through its factors, for the α with the least variance/n + α² at the stated n.

    Edmonds–Nikolov–Ullman 2020, Theorem 10: γ₂(W; α) in the place of γ₂(W).
    """

    name = "approximate_factorization"

    def reason_against(self, work: SharedWork) -> str | None:
        request = work.request
        if request.reason_against_bias is not None:
            return request.reason_against_bias
        queries, size = request.workload.operator.shape
        if size > BIASED_FACTORS.max_types or queries * size > _MAX_ENTRIES:
            limits = f"{BIASED_FACTORS.max_types} types and {_MAX_ENTRIES}"
            return f"{queries} × {size} entries of W; it is made for at most {limits}"
        return work.solved_in_closed_form or work.too_large_for_dense

    def least_variance(self, work: SharedWork) -> float | None:
        users = work.request.options.users
        return None if users is None or self.reason_against(work) else least_of_approximations(work, users)

    def propose(self, work: SharedWork, progress: ProgressCallback) -> Proposal:
        request, exact = work.request, work.factorization(work.request.options.objective)
        users = request.options.users or 1
        # B²/d of the half-sphere randomizer, for any dimension but the smallest.
        spread = math.pi / 2 / math.tanh(request.guarantee.epsilon / 2) ** 2

        def squared_error(gamma: float, alpha: float) -> float:
            return spread * gamma**2 / users + alpha**2

        approximation, _ = cheapest(work.matrix, exact, squared_error, should_stop=work.deadline.passed)
        if approximation is None:
            raise MechanismFailed(f"with {quantity(users, 'user')} no approximation of the queries is worth its bias")
        return vector_mechanism(approximation.factorization, request)
