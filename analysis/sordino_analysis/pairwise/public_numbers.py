"""Reports of one number that is public for every type once the round is sealed, such as ⟨L e_x, μ⟩ for a sealed μ.

The values' own range is all that a report has to hide, so the kernel spends its whole ε on it, whatever the number
might have been.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.decoders import AnswerDecoder
from sordino_analysis.evaluation.accumulate import mean_accumulator
from sordino_analysis.evaluation.integer_kernels import dense_kernel
from sordino_analysis.mechanisms.single_query import QueryKernel, answer_cumulants, query_kernel
from sordino_analysis.pairwise.error_moments import IndependentError
from sordino_analysis.pairwise.protocol import PairwiseError
from sordino_analysis.planning.rounds import ClosedRound
from sordino_analysis.vectorized.arrays import array_of, ndarray
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import FiniteKernel, Pair

# Values closer than this share of the largest differ by rounding alone.
_ROUNDING = 1e-12


def number_kernel(values: Floats, type_weights: Floats, guarantee: PureEpsilon) -> QueryKernel:
    """The kernel with the least Σ_x π_x Var(x) for values (k,) and weights π (k,), unbiased for every type.

    Where the values are all the same nothing is asked: a report is a fair coin, and decodes to their value.
    """
    if np.ptp(values) > _ROUNDING * np.abs(values).max():
        return query_kernel(values, type_weights, guarantee)
    coin = dense_kernel(np.full((2, len(values)), 0.5), guarantee)
    nothing = AnswerDecoder(array_of(np.zeros((1, coin.outputs)), "<f8"), array_of(values[:1], "<f8"))
    return QueryKernel(coin, nothing, np.zeros(len(values)))


def number_variances(values: Floats, type_weights: Floats, guarantee: PureEpsilon) -> Floats:
    """(m, k) Var of a report of each of m numbers with these values (m, k), by one kernel for the numbers of all rows.

    For predictions: a kernel of its own for every number takes m times as long and has about the same variance.
    """
    low, high = values.min(axis=1, keepdims=True), values.max(axis=1, keepdims=True)
    radius = (high - low) / 2
    scaled = np.clip((values - (low + high) / 2) / np.where(radius > 0, radius, 1.0), -1, 1)
    together = number_kernel(scaled.ravel(), type_weights.ravel(), guarantee).variances
    return np.asarray(together.reshape(values.shape) * radius**2)


@dataclass(frozen=True, eq=False, kw_only=True)
class MeanNumber:
    """The mean of the numbers of a round's `users`, unbiased for that of their values.

    `variances`, `third` and `fourth` (k,) are cumulants of one report.
    """

    value: float
    variances: Floats
    third: Floats
    fourth: Floats
    users: int

    @classmethod
    def of(cls, closed: ClosedRound) -> MeanNumber:
        """By the round's sealed plan, whose last answer the number is; raises PairwiseError for another plan."""
        randomizer, decoder = closed.plan.device.randomizer, closed.plan.analyst.decoder
        kernel = randomizer.second if isinstance(randomizer, Pair) else randomizer
        if not isinstance(kernel, FiniteKernel) or not isinstance(decoder, AnswerDecoder):
            raise PairwiseError("the round's plan estimates no number", closed.plan.device.digest)
        row, offset = ndarray(decoder.matrix)[-1, -kernel.outputs :], ndarray(decoder.offset)[-1]
        mean = mean_accumulator(randomizer, closed.aggregate)[-kernel.outputs :]
        number = AnswerDecoder(array_of(row[None, :], "<f8"), array_of(np.array([offset]), "<f8"))
        variances, third, fourth = answer_cumulants(kernel, number)
        value = float(offset + row @ mean)
        return cls(value=value, variances=variances, third=third, fourth=fourth, users=closed.aggregate.count)

    def error(self, histogram: Floats) -> IndependentError:
        """Of the mean, for users with this histogram (k,)."""
        second, third, fourth = (float(histogram @ each) for each in (self.variances, self.third, self.fourth))
        return IndependentError(
            variance=second / self.users, third=third / self.users**2, fourth=fourth / self.users**3
        )
