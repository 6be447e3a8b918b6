"""Users that a statement needs, such as "± .01 at 95 %": for one answer, for all answers, for a difference."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import NEARLY_ZERO, Floats
from sordino_analysis.documents.queries import RuleQueries
from sordino_analysis.estimation.few_attributes import MOST_LISTED_TYPES
from sordino_analysis.estimation.intervals import independent_quantile, normal_quantile, simultaneous_quantile
from sordino_analysis.evaluation.answer_moments import AnswerMoments, ErrorProfile
from sordino_analysis.evaluation.listing import MOST_PUBLISHED_QUERIES
from sordino_analysis.evaluation.variance import answer_moments
from sordino_analysis.figures import SHARE, chosen
from sordino_analysis.percentages import percent
from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning_options import PlanError
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.building import build_workload
from sordino_analysis.questions.linear.units import units_of
from sordino_shared.errors import InvalidValue
from sordino_shared.quantities import quantity


@dataclass(frozen=True, kw_only=True)
class Statement:
    """The answer ± `margin`, with probability `level`.

    `margin` is a share of the query's scale, its largest entry less its least. Of a share of users the scale is 1, so
    that .01 is one percentage point; of a mean of 0 to 60 minutes it is .6 minutes. `difference`: of the answers of two
    campaigns, each with the users that are stated. `population`: about the population that the users are an independent
    sample of, not about those who report. Raises InvalidValue outside 0 < margin < 1 and 0 < level < 1.
    """

    margin: float
    level: float = 0.95
    difference: bool = False
    population: bool = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.margin) and self.margin > 0):
            raise InvalidValue(f"the margin must be a number above 0, such as .01, got {self.margin}", self.margin)
        if self.margin >= 1:
            raise InvalidValue(
                f"± {self.margin:g} is the whole scale of an answer, which holds without a report: a margin is a share "
                "of the scale, .01 is one percentage point of a share of users",
                self.margin,
            )
        if not 0 < self.level < 1:
            raise InvalidValue(f"the level must lie between 0 and 1, such as .95, got {self.level}", self.level)

    def users(
        self, variances: Floats, biases: Floats, scales: Floats, quantile: float, added: Floats | float = 0.0
    ) -> NDArray[np.int64]:
        """(Q,) the least n whose interval of `quantile` standard errors is at most the margin, for every population.

        `variances`, `biases` and `scales` (Q,) are one user's, in units of the answers; a variance is that of the worst
        type. quantile·√(m·V/n) + m·bias ≤ margin·scale, where m is 2 for a difference and 1 otherwise. `added` (Q,) is
        the variance that all random reports of a shuffler add to a sum: V is then V + added/n. Raises PlanError where a
        bias alone exceeds the margin.
        """
        campaigns = 2 if self.difference else 1
        # A sample of a population varies most where half of its users are at either end of the scale.
        noise = variances + (scales**2 / 4 if self.population else 0.0)
        room = self.margin * scales - campaigns * biases
        short = (room <= 0) & (noise > 0)
        if short.any():
            least = float((campaigns * biases / np.where(scales > 0, scales, 1.0)).max())
            raise PlanError(
                f"no number of users gives ± {self.margin:g}: the bias alone may be {least:.3g}; take a larger margin, "
                "or a mechanism without bias",
                self.margin,
            )
        wanted = np.divide(campaigns * quantile**2, room**2, out=np.zeros_like(noise), where=noise > 0)
        needed = (wanted * noise + np.sqrt((wanted * noise) ** 2 + 4 * wanted * added)) / 2
        return np.maximum(1, np.ceil(needed * (1 - NEARLY_ZERO))).astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class NeededUsers:
    """What one ε needs; `band` and `queries` are of linear questions, `predicted` of pairwise statistics."""

    epsilon: str
    mechanism: str
    users: int
    band: int | None = None
    queries: tuple[tuple[str, int], ...] = ()
    predicted: float | None = None
    blanket: int | None = None

    @classmethod
    def of_plan(cls, plan: FinishedPlan, statement: Statement, epsilon: str) -> NeededUsers:
        """The users that a statement about answers to linear queries takes with this plan; raises PlanError.

        `epsilon` was asked for; behind a shuffler the plan has that of a device.
        """
        queries = build_workload(plan.device.domain, plan.analyst.queries, plan.analyst.workload)
        law = answer_moments(plan.device.randomizer, plan.analyst.decoder, queries)
        blanket = plan.analyst.blanket
        needed = SampleSizes.of(statement, law, queries, 0 if blanket is None else blanket.reports)
        share = plan.summary.first_share

        def in_all(answering: int) -> int:
            """Users of the campaign, of whom that many answer all queries."""
            return answering if share == 1 else math.ceil(answering / share)

        return cls(
            epsilon=epsilon if blanket is None else chosen(plan.device.guarantee.epsilon),
            blanket=None if blanket is None else blanket.reports,
            mechanism=plan.analyst.mechanism,
            users=in_all(needed.most),
            band=in_all(needed.band),
            queries=tuple(zip(law.workload.labels(), map(in_all, needed.users.tolist()), strict=True)),
        )

    def document(self) -> dict[str, Any]:
        """As `sordino size --json` prints it."""
        shown: dict[str, Any] = {"epsilon": float(self.epsilon), "mechanism": self.mechanism, "users": self.users}
        if self.predicted is not None:
            return shown | {"predicted_margin": self.predicted}
        if self.blanket is not None:
            shown["blanket"] = self.blanket
        return shown | {
            "band_users": self.band,
            "queries": [{"label": label, "users": users} for label, users in self.queries],
        }


def scale_and_unit(workload: Workload) -> tuple[float, str] | None:
    """Of the answers, where all are numbers of one scale and unit, so that a margin may be given in it."""
    if workload.queries > MOST_PUBLISHED_QUERIES:
        return None
    units, (low, high) = set(units_of(workload, workload.varying_rows.tolist())), workload.operator.entry_range()
    scales = set((high - low)[workload.varying_rows].tolist())
    if len(units) > 1 or len(scales) > 1 or units == {SHARE}:
        return None
    return scales.pop(), units.pop()


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SampleSizes:
    """Users that a statement takes with one plan: `users` (Q,) for the interval of each listed answer by itself.

    `asked` is the number of queries that are asked, listed or not; `law` and `profile` are about the listed ones.
    `blanket` random reports add the variance `added` (Q,) to the sums of all reports.
    """

    statement: Statement
    workload: Workload
    law: AnswerMoments
    profile: ErrorProfile
    asked: int
    users: NDArray[np.int64]
    added: Floats
    blanket: int

    @classmethod
    def of(cls, statement: Statement, law: AnswerMoments, workload: Workload, blanket: int = 0) -> SampleSizes:
        """For the answers to a plan's `workload` by the moments of one report's contribution; raises PlanError.

        `blanket` random reports of a shuffler are among those of the users. Losses of rules are always the
        population's, as they are in estimates.
        """
        if isinstance(workload.published, RuleQueries):
            statement = replace(statement, population=True)
        profile, (low, high) = law.profile(), law.workload.operator.entry_range()
        z = normal_quantile(statement.level)
        added = blanket * law.blanket().variance if blanket else np.zeros(law.workload.queries)
        return cls(
            statement=statement,
            workload=law.workload,
            law=law,
            profile=profile,
            asked=workload.asked,
            users=statement.users(profile.variance, profile.bias, high - low, z, added),
            added=added,
            blanket=blanket,
        )

    def __repr__(self) -> str:
        statement = self.statement
        of = "a difference of two campaigns" if statement.difference else "an answer"
        about = "the population" if statement.population else "those who report"
        of_each = ", in each of both" if statement.difference else ""
        return (
            f"Users for {of} ± {statement.margin:g} of its scale at {percent(statement.level)}, about {about}\n"
            f"  each answer by itself  {quantity(self.most, 'user')}{of_each}\n"
            f"  all answers at once    {quantity(self.band, 'user')}{of_each}\n"
            f"  hardest answer         {self.hardest}"
        )

    @cached_property
    def most(self) -> int:
        """Users for every answer, each by itself; of queries that are not listed the worst that was found counts."""
        return max(int(self.users.max()), self._of_the_worst(normal_quantile(self.statement.level)))

    @property
    def hardest(self) -> str:
        """Label of the listed query that needs the most users."""
        return self.workload.label(int(self.users.argmax()))

    @cached_property
    def band(self) -> int:
        """Users for all answers at once: the simultaneous band of a uniform population is within the margin.

        Where queries or types are too many to list it is Šidák's, of all queries that are asked, for any population.
        """
        quantile, (low, high) = self._band_quantile(), self.workload.operator.entry_range()
        listed = self.statement.users(self.profile.variance, self.profile.bias, high - low, quantile, self.added)
        return max(int(listed.max()), self._of_the_worst(quantile))

    def _of_the_worst(self, quantile: float) -> int:
        """Users for the worst query that was found among those that are not listed, which are shares; 0 without one."""
        if not self.profile.sought:
            return 0
        worst, bias = np.array([self.profile.sought]), np.array([self.profile.bias.max()])
        # What random reports add to the worst query is not computed; it is below this.
        added = self.added.max() + self.blanket * worst
        return int(self.statement.users(worst, bias, np.ones(1), quantile, added)[0])

    def _band_quantile(self) -> float:
        varying = self.workload.varying_rows
        if self.asked > self.workload.queries:
            return independent_quantile(self.statement.level, self.asked)
        if self.workload.size > MOST_LISTED_TYPES:
            return independent_quantile(self.statement.level, len(varying))
        uniform = np.full(self.workload.size, 1.0 / self.workload.size)
        root = self.law.covariance_root(uniform)
        if root is None:
            return independent_quantile(self.statement.level, len(varying))
        return simultaneous_quantile(root[varying], self.statement.level)
