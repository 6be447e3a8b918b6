"""What the counts of a closed round say of quadratic forms; no report is looked at again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.consistency import RELATIVE_GAP, nearest_histogram
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.pairwise.decoded_report_moments import DecodedReportMoments
from sordino_analysis.questions.linear.operators import Dense
from sordino_shared.errors import InvalidValue

# As many users, spread evenly, as move the centre of Wilson's interval for a share at a level of 95 %.
_EVEN_USERS = 4.0
# Fits of the plausible histogram, and the least chance of an output that one divides by.
_FITS, _NEVER = 2, 1e-12


@dataclass(frozen=True, eq=False)
class DecodedReports:
    """The reports of one closed round: `counts` (p,) of their outputs under the `law`."""

    law: DecodedReportMoments
    counts: Floats

    @classmethod
    def of(cls, law: DecodedReportMoments, aggregate: Aggregate) -> DecodedReports:
        """The counts of an aggregate; raises InvalidValue where it is of another plan."""
        if aggregate.sums.shape != law.kernel.shape[:1] or aggregate.sums.sum() != aggregate.count:
            raise InvalidValue(
                f"the plan counts {len(law.kernel)} outputs, the aggregate has {len(aggregate.sums)}: it is of another "
                "plan"
            )
        return cls(law, aggregate.sums.astype(float))

    @cached_property
    def users(self) -> int:
        """n."""
        return int(self.counts.sum())

    @cached_property
    def histogram(self) -> Floats:
        """ĥ (k,), the mean decoded report: unbiased, and no true histogram."""
        return np.asarray(self.law.decoder @ (self.counts / self.users))

    @property
    def plausible(self) -> Floats:
        """(k,) the histogram that fits the outputs best, with a few users more who are spread evenly: for variances."""
        return self._with_even(self.fitted)

    @cached_property
    def fitted(self) -> Floats:
        """(k,) the histogram that fits the outputs best.

        The least χ² = n Σ_y (c_y/n − K_y·h)²/K_y·h, its denominators from an even histogram and then from the fit to
        that. It is not the nearest to ĥ: decoded reports are unbiased only as far as the forms tell types apart.
        """
        fitted = np.full(self.law.size, 1.0 / self.law.size)
        tolerance = RELATIVE_GAP * len(self.counts) / self.users
        for _ in range(_FITS):
            scale = 1.0 / np.sqrt(np.maximum(self.law.kernel @ self._with_even(fitted), _NEVER))
            answers, chances = scale * self.counts / self.users, scale[:, None] * self.law.kernel
            fitted = nearest_histogram(Dense(chances), answers, tolerance).histogram
        return np.asarray(fitted / fitted.sum())

    def _with_even(self, histogram: Floats) -> Floats:
        return np.asarray((self.users * histogram + _EVEN_USERS / self.law.size) / (self.users + _EVEN_USERS))

    @cached_property
    def covariance(self) -> Floats:
        """Σ (k, k) at the plausible histogram."""
        return self.law.covariance(self.plausible)

    @cached_property
    def _moment(self) -> Floats:
        return self.law.moment(self.counts / self.users)

    def form(self, matrix: Floats) -> float:
        """[SᵀWS − Σ_i g_iᵀWg_i]/(n(n − 1)) for S = Σ_i g_i: the mean of W over pairs of different users, unbiased.

        `matrix` W (k, k). Raises InvalidValue for fewer than two reports.
        """
        if self.users < 2:
            raise InvalidValue(f"a mean over pairs of different users needs two reports, got {self.users}", self.users)
        own = float((matrix * self._moment).sum())
        return (self.users * float(self.histogram @ matrix @ self.histogram) - own) / (self.users - 1)
