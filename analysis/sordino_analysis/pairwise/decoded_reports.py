"""What the counts of a closed round say of quadratic forms; no report is looked at again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.pairwise.decoded_report_moments import DecodedReportMoments
from sordino_shared.errors import InvalidValue

# As many users, spread evenly, as move the centre of Wilson's interval for a share at a level of 95 %.
_EVEN_USERS = 4.0


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

    @cached_property
    def plausible(self) -> Floats:
        """(k,) the true histogram nearest to ĥ, with a few users more who are spread evenly: what variances use."""
        nearest, size = nearest_point(self.histogram), self.law.size
        return np.asarray((self.users * nearest + _EVEN_USERS / size) / (self.users + _EVEN_USERS))

    @cached_property
    def covariance(self) -> Floats:
        """Σ (k, k) at the plausible histogram."""
        return self.law.covariance(self.plausible)

    @cached_property
    def _moment(self) -> Floats:
        return self.law.moment(self.counts / self.users)

    def form(self, matrix: Floats) -> float:
        """[SᵀWS − Σ_i g_iᵀWg_i]/(n(n − 1)) for S = Σ_i g_i: the mean of W over pairs of different users, unbiased.

        `matrix` W (k, k).
        """
        if self.users < 2:
            raise InvalidValue(f"a mean over pairs of different users needs two reports, got {self.users}", self.users)
        own = float((matrix * self._moment).sum())
        return (self.users * float(self.histogram @ matrix @ self.histogram) - own) / (self.users - 1)


def nearest_point(values: Floats) -> Floats:
    """argmin ‖h − values‖² over the simplex (Held, Wolfe and Crowder 1974): values less a constant, cut off at 0."""
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - 1.0) / np.arange(1, len(values) + 1)
    return np.asarray(np.maximum(values - excess[np.flatnonzero(falling > excess)[-1]], 0.0))
