"""The papers' mechanism as a candidate: W = LᵀR, the vector R e_x by the half-sphere randomizer, L on the server."""

from __future__ import annotations

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.analyst_part import Factors
from sordino_analysis.documents.decoders import AnswerDecoder
from sordino_analysis.evaluation.integer_kernels import KERNEL_BITS
from sordino_analysis.evaluation.randomizers.directions import DirectionMoments
from sordino_analysis.mechanisms.least_variances import least_of_half_spheres
from sordino_analysis.mechanisms.mechanism import Proposal, SharedWork, plain_answers
from sordino_analysis.mechanisms.request import PlanRequest
from sordino_analysis.optimisation.factorization import Factorization, reduce_dimension
from sordino_analysis.progress import ProgressCallback
from sordino_analysis.vectorized.arrays import array_of
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import SeededDirection

# Entries of vectors are rounded to 32 bits on the wire: far below double precision.
_LARGEST_ENTRY = 2**31 - 1
# Singular values below this share of the largest are rounding of 32 bits.
_RELATIVE_RANK = 1e-7


class FactorizationMechanism:
    """γ₂ factors for "max" and γ_F factors for "mean", reduced by a random projection if the request sets `reduction`.

    Edmonds–Nikolov–Ullman 2020, Theorem 10 with the randomizer of Lemma 9; the reduction is Lemma 12 of Ghazi et al.
    """

    name = "factorization"

    def reason_against(self, work: SharedWork) -> str | None:
        return work.solved_in_closed_form or work.too_large_for_dense

    def least_variance(self, work: SharedWork) -> float | None:
        # A projection adds a bias, which depends on how it is drawn.
        return least_of_half_spheres(work) if work.request.options.reduction is None else None

    def propose(self, work: SharedWork, progress: ProgressCallback) -> Proposal:
        return vector_mechanism(work.factorization(work.request.options.objective, progress), work.request)


def vector_mechanism(whole: Factorization, request: PlanRequest) -> Proposal:
    """LᵀR + c1ᵀ = diag(√w) W from half-spheres, through a random projection if the request sets `reduction`.

    What is published are the factors of W.
    """
    used, transform = (whole.left, whole.right), None
    if request.options.reduction is not None:
        reduced = reduce_dimension(whole, request.options.reduction, request.options.seed)
        used, transform = (reduced.left, reduced.right), array_of(reduced.projection, "<f8")
    randomizer = direction_randomizer(used[1], request.guarantee)
    decoder = _decoder(*used, whole.centre, randomizer)
    roots = np.sqrt(request.workload.query_weights)
    left, centre = array_of(whole.left / roots, "<f8"), array_of(whole.centre / roots, "<f8")
    factors = Factors(left, array_of(whole.right, "<f8"), centre, transform)
    return Proposal(randomizer, plain_answers(decoder, request.workload), factors)


def direction_randomizer(right: Floats, guarantee: PureEpsilon, bits: int = KERNEL_BITS) -> SeededDirection:
    """The half-sphere randomizer of the columns of R (d, k), quantised; the longest column has the whole ε.

    A shorter column is kept with chance ½ + (c − ½)·‖r_x‖/max‖r‖, which is unbiased rounding to ± its direction.
    """
    lengths = np.sqrt((right**2).sum(axis=0))
    largest, half = SeededDirection.largest_keep_weight(guarantee, bits), 1 << (bits - 1)
    kept = [half + round((largest - half) * float(share)) for share in lengths / lengths.max()]
    scales = np.abs(right).max(axis=0)
    scales[scales == 0] = 1.0
    vectors = np.rint(right / scales * _LARGEST_ENTRY).astype(np.int64)
    weights = np.array([min(weight, largest) for weight in kept], dtype=np.uint64)
    return SeededDirection(bits, array_of(vectors.T, "<i4"), array_of(weights, "<u8"))


def _decoder(left: Floats, right: Floats, centre: Floats, randomizer: SeededDirection) -> AnswerDecoder:
    """answers = c + F s̄ with F μ_x + c = (LᵀR + c1ᵀ)e_x for the mean directions μ_x that are shipped, not designed.

    F starts at L scaled by the one number that is right before quantising; least squares take out what is left.
    """
    means = DirectionMoments.of(randomizer).means(np.eye(randomizer.dimension))
    lengths = np.sqrt((right**2).sum(axis=0))
    scale = lengths.max() / np.sqrt((means**2).sum(axis=0)).max()
    matrix = scale * left.T
    wanted = left.T @ right
    extended = np.vstack([means, np.ones(means.shape[1])])
    # Small singular values are left alone: they would turn a quantisation of 2^-32 into a decoder of any size.
    correction = (wanted - matrix @ means) @ np.linalg.pinv(extended, rcond=_RELATIVE_RANK)
    matrix, offset = matrix + correction[:, :-1], centre + correction[:, -1]
    return AnswerDecoder(array_of(matrix, "<f8"), array_of(offset, "<f8"))
