"""The kernel of full reports for quadratic forms: the least predicted variance over reference histograms.

The variance of an estimated form falls as Σ, the covariance of a decoded report, does: its gradient by Σ is a positive
matrix G, so the kernel that is best for the linear queries G^½ is a step towards the best one for the form. A few such
steps are taken, each from the Σ of the best kernel before it, and every kernel is judged by the variance itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from sordino_analysis.arrays import TINY, Floats
from sordino_analysis.documents.decoders import HistogramDecoder
from sordino_analysis.evaluation.integer_kernels import KernelError, histogram_decoder, integer_kernel
from sordino_analysis.optimisation.deadline import Deadline
from sordino_analysis.optimisation.factorization import FactorizationError, factorize
from sordino_analysis.optimisation.search import search_kernel
from sordino_analysis.pairwise.decoded_report_moments import DecodedReportMoments
from sordino_analysis.pairwise.tuning import FORM_KERNEL
from sordino_analysis.progress import Progress, ProgressCallback, progress_of_part
from sordino_analysis.request_terms import Effort
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import FiniteKernel

# Eigenvalues of G below this share of the largest ask for nothing that anybody would see.
_NOTHING = 1e-9
# Of the form: a decoder that misses it by more is not unbiased, and is left out.
_MOST_BIAS = 1e-6
# Eigenvalues of a Gram matrix below this share of the largest are zero but for rounding.
_ROUNDING = 1e-13


@dataclass(frozen=True, eq=False)
class Aim:
    """A form W (k, k) at a histogram h (k,): where the variance is to be small."""

    matrix: Floats
    histogram: Floats


@dataclass(frozen=True, eq=False)
class FormGoal:
    """Σ over aims of linear·4qᵀΣq/n + quadratic·2tr(ΣWΣW)/n², q = Wh: what a kernel should keep small."""

    aims: tuple[Aim, ...]
    users: float
    linear: float = 1.0
    quadratic: float = 1.0

    def value(self, law: DecodedReportMoments) -> float:
        """The mean over the aims."""
        parts = [law.form_variance(aim.matrix, aim.histogram, self.users) for aim in self.aims]
        return float(np.mean([self.linear * first + self.quadratic * second for first, second in parts]))

    def gradient(self, covariances: list[Floats]) -> Floats:
        """Its derivative by Σ (k, k), centred, for the covariance at each aim, with W²·‖h − 1/k‖²/k in place of qqᵀ.

        That is the mean of qqᵀ over all directions that h may lean to. A kernel for the aims' own q is good at the
        references and, for lack of the rest, up to 15 % worse at other histograms.
        """
        total = np.zeros_like(self.aims[0].matrix)
        for aim, covariance in zip(self.aims, covariances, strict=True):
            form, lean = centred(aim.matrix), aim.histogram - 1.0 / len(aim.histogram)
            total += self.linear * 4.0 / self.users * float(lean @ lean) / len(lean) * (form @ form)
            total += self.quadratic * 4.0 / self.users**2 * (form @ covariance @ form)
        return total / len(self.aims)


@dataclass(frozen=True, eq=False)
class FormKernel:
    """A kernel whose ε is proved, the decoder of its reports to a histogram, and the goal's value."""

    kernel: FiniteKernel
    decoder: HistogramDecoder
    law: DecodedReportMoments
    value: float


def centred(matrix: Floats) -> Floats:
    """(I − 11ᵀ/k) W (I − 11ᵀ/k): decoded reports sum to one, so W's rows and columns may be shifted by constants.

    `matrix` W (k, k) → (k, k).
    """
    shifted = matrix - matrix.mean(axis=0)
    return np.asarray(shifted - shifted.mean(axis=1, keepdims=True))


def search_form_kernel(
    goal: FormGoal,
    guarantee: PureEpsilon,
    *,
    effort: Effort,
    seed: int,
    deadline: Deadline,
    progress: ProgressCallback,
) -> FormKernel:
    """The best kernel of a few steps for the goal; deterministic for a seed. Raises KernelError where none is found."""
    covariances = [_first_covariance(aim) for aim in goal.aims]
    best: FormKernel | None = None
    steps = FORM_KERNEL.steps[effort]
    for step in range(steps):
        # The variance that a search reports is that of one gradient's queries, not of the forms.
        part = progress_of_part(_without_variance(progress), step / steps, 1 / steps)
        kernel = _step(goal, guarantee, covariances, effort, seed, deadline, part)
        if kernel is not None and (best is None or kernel.value < best.value):
            best = kernel
        if best is None or deadline.passed():
            break
        covariances = [best.law.covariance(aim.histogram) for aim in goal.aims]
    if best is None:
        raise KernelError("no kernel was found from which the forms can be decoded", goal)
    return best


def _without_variance(progress: ProgressCallback) -> ProgressCallback:
    return lambda step: progress(Progress(step.fraction))


def _first_covariance(aim: Aim) -> Floats:
    """That of reports which tell all types apart equally well."""
    size = len(aim.histogram)
    return np.eye(size) - 1.0 / size


def _step(
    goal: FormGoal,
    guarantee: PureEpsilon,
    covariances: list[Floats],
    effort: Effort,
    seed: int,
    deadline: Deadline,
    progress: ProgressCallback,
) -> FormKernel | None:
    queries = _root(goal.gradient(covariances))
    try:
        factors = factorize(
            queries, "mean", FORM_KERNEL.gap, should_stop=deadline.sooner(FORM_KERNEL.share_of_factorization)
        )
        design = search_kernel(
            queries, guarantee.epsilon, factors, effort=effort, seed=seed, deadline=deadline, progress=progress
        )
        kernel = integer_kernel(design.low, design.members, guarantee)
    except (ValueError, np.linalg.LinAlgError, FactorizationError):
        return None
    return best_decoded(goal, kernel, design.type_weights)


def best_decoded(goal: FormGoal, kernel: FiniteKernel, type_weights: Floats) -> FormKernel | None:
    """The kernel with the better decoder for the goal, of the search's type weights and the mean of the references.

    `type_weights` (k,).
    """
    decoded = []
    references = np.mean([aim.histogram for aim in goal.aims], axis=0)
    directions = _asked([aim.matrix for aim in goal.aims])
    for weights in (type_weights, references):
        decoder = histogram_decoder(kernel, weights, directions)
        law = DecodedReportMoments.of(kernel, decoder)
        if max(law.misses(centred(aim.matrix)) for aim in goal.aims) <= _MOST_BIAS:
            decoded.append(FormKernel(kernel, decoder, law, goal.value(law)))
    return min(decoded, key=lambda form_kernel: form_kernel.value, default=None)


def _asked(matrices: list[Floats]) -> Floats:
    """(r, k) orthonormal rows that span all that the forms ask of a histogram: rows, diagonals, and the sum."""
    size = len(matrices[0])
    gram = np.ones((size, size)) / size
    for matrix in matrices:
        scaled = matrix / max(float(np.abs(matrix).max()), TINY) / size
        diagonal = np.diag(scaled)
        gram += scaled.T @ scaled + np.outer(diagonal, diagonal)
    values, vectors = scipy.linalg.eigh(gram)
    return np.asarray(vectors[:, values > _ROUNDING * values.max()].T)


def _root(gradient: Floats) -> Floats:
    """A (r, k) with AᵀA = G; eigenvalues below _NOTHING of the largest are dropped."""
    values, vectors = scipy.linalg.eigh(gradient)
    kept = values > _NOTHING * values.max()
    if not kept.any():
        raise InvalidValue("the form is the same for all pairs of users: there is nothing to estimate", gradient)
    return np.asarray(np.sqrt(values[kept])[:, None] * vectors[:, kept].T)
