"""What a campaign asks, and the error that its plan predicts: kept with the campaign, shown with its status."""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import singledispatch
from typing import Self

from pydantic import BaseModel, ConfigDict, Field

from sordino_analysis.documents.plan_summary import LinearSummary, PairwiseSummary, two_sided
from sordino_analysis.documents.strings_summary import StringsSummary
from sordino_analysis.documents.summary_parts import BlanketSummary

# The level of every band.
LEVEL = 0.95
_MOST_DEVICES = 2**53


class Question(BaseModel):
    """The question of a campaign, from the summary of its plan."""

    model_config = ConfigDict(frozen=True)

    plan_request: str = Field(description="Id of the plan request.")
    workload: str = Field(description="Digest of the workload.")
    name: str = Field(description="The workload's name, or that of the pairwise statistic.")
    queries: int = Field(description="Number of answers; 1 for a pairwise statistic.")
    users: int | None = Field(description="Number of users that the plan was asked to predict errors for.")
    variance: float | None = Field(
        description="Of one report, for the worst query; null for a pairwise statistic, whose error does not scale."
    )
    bias_bound: float
    predicted_rmse: float | None = Field(description="For `users` users: the worst query's, or the statistic's.")
    blanket: BlanketSummary | None = Field(None, description="Of a plan for a shuffler: the random reports it adds.")
    shown: str | None = Field(None, description="Of common strings: which of them people see, in words.")
    band_variance: float | None = Field(
        None, description="Of one report, for the band; null where it is `variance`, and for a pairwise statistic."
    )
    scale: float | None = Field(None, description="Of means of numbers: the range that they are of; null for shares.")
    unit: str | None = Field(None, description="Of means of numbers that all have this unit.")

    def rmse(self, users: int) -> float | None:
        """√(variance/users + bias²), at least the worst query's error, with what random reports add; None: unknown."""
        if self.variance is not None and users > 0:
            variance = self.variance + (0.0 if self.blanket is None else self.blanket.noise(users))
            return math.sqrt(variance / users + self.bias_bound**2)
        return self.predicted_rmse if users == self.users else None

    def band(self, users: int) -> float | None:
        """Half of the width, at most, of the band that holds all answers of `users` at once, in 19 of 20 results.

        z·√((V + what random reports add)/users) + bias, with z of all answers (Šidák 1967); None: unknown.
        """
        variance = self.variance if self.band_variance is None else self.band_variance
        if variance is None or users < 1:
            return None
        noise = 0.0 if self.blanket is None else self.blanket.noise(users)
        return two_sided(LEVEL, max(1, self.queries)) * math.sqrt((variance + noise) / users) + self.bias_bound

    def devices_for(self, margin: float) -> int | None:
        """The fewest devices of which the band is ± `margin` or narrower; None where no number, or none below 2^53."""
        widest = self.band(_MOST_DEVICES)
        if widest is None or widest > margin:
            return None
        enough = bisect_left(range(1, _MOST_DEVICES), -margin, key=lambda devices: -(self.band(devices) or 0.0))
        return 1 + enough


@singledispatch
def question_of(summary: object, plan_request: str, workload: str) -> Question:
    """The question of a finished plan; raises TypeError for a summary of an unknown kind."""
    raise TypeError(f"no question of a {type(summary).__name__}")


@question_of.register
def _(summary: LinearSummary, plan_request: str, workload: str) -> Question:
    return Question(
        plan_request=plan_request,
        workload=workload,
        name=summary.workload,
        queries=summary.queries,
        users=summary.users,
        # Of three rounds the first alone is about all queries, and has a share of the users.
        variance=summary.largest_variance / summary.first_share,
        bias_bound=summary.bias_bound,
        predicted_rmse=summary.predicted_max_rmse,
        blanket=summary.blanket,
        band_variance=summary.band_variance,
        scale=summary.scale,
        unit=summary.unit,
    )


@question_of.register
def _(summary: PairwiseSummary, plan_request: str, workload: str) -> Question:
    return Question(
        plan_request=plan_request,
        workload=workload,
        name=summary.statistic,
        queries=1,
        users=summary.users,
        variance=None,
        bias_bound=0.0,
        predicted_rmse=summary.predicted_rmse,
    )


@question_of.register
def _(summary: StringsSummary, plan_request: str, workload: str) -> Question:
    return Question(
        plan_request=plan_request,
        workload=workload,
        name=summary.workload,
        queries=1,
        users=summary.users,
        variance=summary.variance,
        bias_bound=0.0,
        predicted_rmse=None if summary.users is None else summary.share_error(summary.users),
        blanket=summary.blanket,
        shown=summary.shown,
    )


class CampaignError(BaseModel):
    """Root mean squared error of the worst query, or of the statistic, that the plan predicts."""

    users_now: int = Field(description="Reports counted so far; of a series in its newest period that has any.")
    rmse_now: float | None = Field(description="With so many; null before the first, and for a pairwise statistic.")
    users_wanted: int | None = Field(description="Reports after which the campaign closes, or the plan's `users`.")
    rmse_wanted: float | None = Field(description="With so many.")

    @classmethod
    def of(cls, question: Question, counted: int, closes_after: int | None) -> Self:
        """The errors of `question` with `counted` reports and with the number wanted."""
        wanted = question.users if closes_after is None else closes_after
        return cls(
            users_now=counted,
            rmse_now=question.rmse(counted),
            users_wanted=wanted,
            rmse_wanted=None if wanted is None else question.rmse(wanted),
        )
