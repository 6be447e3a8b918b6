"""Interface: exact variance (Q, k) and bias (Q,) of one report's contribution to W h."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.analyst_part import ErrorFigures
from sordino_analysis.evaluation.contribution_law import ContributionLaw
from sordino_analysis.progress import ProgressCallback, ignore_progress
from sordino_analysis.questions.linear import TooLargeForDense, Workload
from sordino_analysis.questions.linear.operators import DENSE_LIMIT, Indices


@dataclass(frozen=True, eq=False)
class ErrorProfile:
    """One user's error, query by query: `variance` (Q,) is the largest over types, `bias` (Q,) a bound for all types.

    `type_variance` is the mean of w_q Var_q(x) over the varying queries, for each type or each class of types that
    share it, and `weights` (Q,) are the w_q, which are 1 except in a stack whose parts have weights. Variance and bias
    are without them. Where queries are too many to list, the arrays are about the listed ones, `sought` is the largest
    variance of further ones and `weighted_sought` the largest w_q times it, unless that is the same. `over` says in
    words over which queries the largest of all was taken; `mean_over` says it of the mean. `uniform` is the mean of
    `type_variance` over all types where it is published.
    """

    variance: Floats
    bias: Floats
    type_variance: Floats
    weights: Floats
    _: KW_ONLY
    sought: float = 0.0
    weighted_sought: float | None = None
    over: str | None = None
    mean_over: str | None = None
    uniform: float | None = None

    def figures(self) -> ErrorFigures:
        """The numbers that a plan publishes; variances count w_q times, the bias is that of the answers."""
        sought = self.sought if self.weighted_sought is None else self.weighted_sought
        worst = max(sought, float((self.weights * self.variance).max()))
        return ErrorFigures(
            worst,
            float(self.type_variance.max()),
            float(self.bias.max()),
            max_variance_over=self.over,
            mean_variance_over=self.mean_over,
            uniform_mean_variance=self.uniform,
        )

    @property
    def largest_variance(self) -> float:
        """Of any query and type, without the weights."""
        return max(self.sought, float(self.variance.max()))

    @property
    def weighted_bias(self) -> float:
        """The largest √w_q · bias of an answer, which goes with the variances of the figures."""
        return float((np.sqrt(self.weights) * self.bias).max())

    def rmse(self, users: int) -> Floats:
        """(Q,) root mean squared error of each answer from `users` reports, for the worst histogram."""
        # A query that is the same for all types has a variance of 0, up to rounding of either sign.
        return np.asarray(np.sqrt(np.maximum(self.variance, 0.0) / users + self.bias**2))


@dataclass(frozen=True, eq=False)
class BlanketMoments:
    """What one random report of a shuffler adds to each answer: its `mean` (Q,) and `variance` (Q,), exact."""

    mean: Floats
    variance: Floats


@dataclass(frozen=True, eq=False)
class LawsOfSome:
    """`laws` of some queries, the `rows` (m,); `nearest` (Q,) says which of them stands for each query."""

    rows: Indices
    nearest: Indices
    laws: Iterable[ContributionLaw]


class AnswerMoments(ABC):
    """The moments of one user's contribution to the answers of a workload."""

    workload: Workload

    @property
    def judged_from(self) -> int:
        """From so many reports on the law of a report is known well enough to say how often intervals hold."""
        return 1

    @abstractmethod
    def profile(self, progress: ProgressCallback = ignore_progress) -> ErrorProfile:
        """Worst variance and bias of every query, mean variance of every type; `progress` where that takes seconds."""

    def extremes(self) -> tuple[Floats, Floats] | None:
        """(Q,) bounds on what a report adds to each listed answer; None where the randomizer alone tells them."""
        return None

    @abstractmethod
    def mixed_variances(self, histogram: Floats) -> Floats:
        """Σ_x h_x Var(answer | x) of every query, (Q,)."""

    @abstractmethod
    def variance_slopes(self, histogram: Floats) -> Floats:
        """(Q,) how an estimate of Σ_x h_x Var_q(x) goes with the error of the answer itself, where users hold h.

        Cov(V̂, q̂)/Var(q̂) for V̂ at the histogram of least squares to the answers. Where that takes long it is
        Cov_h(W, Var)/Var_h(W), as if users moved between the types of an answer; both are the step of a variance that
        depends on the answer alone.
        """

    def variance_scatter(self, histogram: Floats) -> Floats:
        """(Q,) standard deviation of an estimate of Σ_x h_x Var_q(x) that does not go with the answer's own error.

        It is that of one user's report, and falls as 1/√n. 0 where the variance depends on the answer alone, as for
        queries of zeros and ones on sets; taken as 0 where the variance of every type is too much to hold.
        """
        return np.zeros(self.workload.queries)

    def blanket(self) -> BlanketMoments:
        """Of the contribution of a report that a shuffler adds, by the law of `sordino_shared.shuffling.laws`.

        Here of a uniform type, which is a uniform output too where reports are shifts; answers are without bias. A law
        of another kind has its own. Raises InvalidValue where it is not worked out.
        """
        operator = self.workload.operator
        uniform = np.full(self.workload.size, 1 / self.workload.size)
        mean = operator.matvec(uniform)
        spread = np.maximum(operator.squared_matvec(uniform) - mean**2, 0.0)
        return BlanketMoments(mean, self.mixed_variances(uniform) + spread)

    def blanket_root(self) -> Floats | None:
        """A (Q, r) with A·Aᵀ the covariance of what a shuffler's random report adds to the answers; None if too large.

        Here of a uniform type, as in `blanket`: Cov = E Cov(answers | x) + Cov W_x.
        """
        queries, types = self.workload.operator.shape
        random = self.covariance_root(np.full(types, 1 / types))
        if random is None or queries * types > DENSE_LIMIT:
            return None
        spread = self.workload.operator.dense() - self.blanket().mean[:, None]
        return np.hstack([random, np.sqrt(1 / types) * spread])

    def drawn_laws(self, histogram: Floats) -> LawsOfSome | None:
        """Of contributions under a `histogram` (k,) from seeded draws; None where the randomizer alone tells them."""
        return None

    @abstractmethod
    def type_variances(self) -> Floats:
        """Var(answer | x), (Q, k); raises TooLargeForDense."""

    @abstractmethod
    def decode(self, mean: Floats) -> Floats:
        """(Q,) answers from the mean accumulator s̄ (p,)."""

    @abstractmethod
    def covariance_root(self, histogram: Floats) -> Floats | None:
        """A (Q, r) with A·Aᵀ = Σ_x h_x Cov(answers | x), or of seeded reports, bias included; None if too large."""


def regression_slopes(entries: Floats, variances: Floats, shares: Floats) -> Floats:
    """(b,) slopes of least squares of `variances` (b, k) on `entries` (b, k), weighed by `shares` (k,)."""
    around = entries - (entries * shares).sum(axis=1, keepdims=True)
    spread = (shares * around**2).sum(axis=1)
    together = (shares * around * variances).sum(axis=1)
    return np.asarray(np.divide(together, spread, out=np.zeros_like(spread), where=spread > 0))


def check_dense(workload: Workload) -> None:
    """Raise TooLargeForDense where a variance for each query and type is too much to hold."""
    queries, size = workload.operator.shape
    if queries * size > DENSE_LIMIT:
        raise TooLargeForDense(f"{queries} × {size} variances exceed the limit of {DENSE_LIMIT}", workload.operator)
