"""Answers of n users from their reports and m random ones, whose expected sum is subtracted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.answer_moments import AnswerMoments, BlanketMoments, ErrorProfile, LawsOfSome
from sordino_analysis.evaluation.linear_answers import root_fits
from sordino_analysis.progress import ProgressCallback, ignore_progress
from sordino_analysis.questions.linear import Workload


@dataclass(frozen=True, eq=False)
class BlanketedMoments(AnswerMoments):
    """The moments `own` of a user's report, and m = `blanket` random ones with mean μ_q and variance s_q.

    answer_q = (Σ c_q(y) − m μ_q)/n has the variance (Σ_users v_q + m s_q)/n², so that each of the n = `users` seems to
    have m s_q/n more.
    """

    own: AnswerMoments
    users: int
    reports: int

    @property
    def workload(self) -> Workload:  # type: ignore[override]
        """The queries of the plan."""
        return self.own.workload

    @property
    def judged_from(self) -> int:
        return self.own.judged_from

    @cached_property
    def _blanket(self) -> BlanketMoments:
        return self.own.blanket()

    @property
    def _share(self) -> float:
        """m/n."""
        return self.reports / self.users

    @property
    def _added(self) -> Floats:
        """(Q,) m s_q/n."""
        return self._share * self._blanket.variance

    def blanket(self) -> BlanketMoments:
        return self._blanket

    def decode(self, mean: Floats) -> Floats:
        """(Q,) answers of the users from the mean accumulator (p,) of all reports, random ones included."""
        return np.asarray((1 + self._share) * self.own.decode(mean) - self._share * self._blanket.mean)

    def profile(self, progress: ProgressCallback = ignore_progress) -> ErrorProfile:
        found, added = self.own.profile(progress), self._added
        varying = self.workload.varying_rows
        mean = float((found.weights * added)[varying].mean())
        return replace(found, variance=found.variance + added, type_variance=found.type_variance + mean)

    def extremes(self) -> tuple[Floats, Floats] | None:
        return self.own.extremes()

    def mixed_variances(self, histogram: Floats) -> Floats:
        return np.asarray(self.own.mixed_variances(histogram) + self._added)

    def variance_slopes(self, histogram: Floats) -> Floats:
        return self.own.variance_slopes(histogram)

    def variance_scatter(self, histogram: Floats) -> Floats:
        """(Q,) What errors of the answers leave of it grows with them; `histogram` (k,)."""
        own = self.own.mixed_variances(histogram)
        larger = np.divide(self._added, own, out=np.zeros_like(own), where=own > 0)
        return np.asarray(self.own.variance_scatter(histogram) * np.sqrt(1 + larger))

    def drawn_laws(self, histogram: Floats) -> LawsOfSome | None:
        return self.own.drawn_laws(histogram)

    def type_variances(self) -> Floats:
        return np.asarray(self.own.type_variances() + self._added[:, None])

    def covariance_root(self, histogram: Floats) -> Floats | None:
        """A (Q, r) of users and random reports side by side."""
        queries, types = self.workload.operator.shape
        users, random = self.own.covariance_root(histogram), self.own.blanket_root()
        if users is None or random is None or not root_fits(queries, types):
            return None
        return np.hstack([users, np.sqrt(self._share) * random])
