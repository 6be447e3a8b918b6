"""Plan a workload, and read what a plan promises: variance, certified bound, errors, users needed."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import overload

import numpy as np

from sordino_analysis.analyst.arguments import (
    BYTES,
    FLAG,
    FUNCTION,
    NONE,
    NUMBER,
    PAIR,
    PATH,
    TEXT,
    WHOLE,
    instance,
    takes,
)
from sordino_analysis.analyst.planning_calls import chosen_effort, planned, written_epsilon
from sordino_analysis.analyst.published_plans import PublishedPlan
from sordino_analysis.analyst.string_plans import StringPlan
from sordino_analysis.arrays import Floats
from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.documents.string_queries import StringQueries
from sordino_analysis.evaluation.answer_moments import AnswerMoments, ErrorProfile
from sordino_analysis.evaluation.manipulation import DrawnMoves, drawn_manipulation, manipulation
from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_analysis.evaluation.variance import answer_moments
from sordino_analysis.figures import amount, chosen, figure, ratio
from sordino_analysis.guarantees.approximate import DELTA
from sordino_analysis.guarantees.shuffled import FAKE_SHARE, Shuffled
from sordino_analysis.guarantees.written_chance import chance_of
from sordino_analysis.planning.audit import Check, audit_plan
from sordino_analysis.planning.finished_plan import users_needed
from sordino_analysis.planning.linear_request import LinearRequest
from sordino_analysis.planning.measures import behind_blanket
from sordino_analysis.planning.plan_folder import read_round
from sordino_analysis.planning.plan_warnings import error_warnings, quality_warnings
from sordino_analysis.planning.sample_size import SampleSizes, Statement
from sordino_analysis.planning.shuffling import shuffled_guarantee
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.progress import ProgressCallback
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.building import build_workload
from sordino_analysis.questions.linear.units import units_of
from sordino_analysis.request_terms import Effort, Objective
from sordino_analysis.strings.request import StringsRequest
from sordino_analysis.strings.specification import StringsSpecification
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import DevicePart
from sordino_shared.quantities import quantity

# A plan is shown with the errors of a campaign of middle size.
_USERS_SHOWN = 10_000


@dataclass(frozen=True, eq=False, repr=False)
class Plan(PublishedPlan):
    """A published mechanism: the part that devices verify and run, and the part that analysts decode with.

    Everything below follows from the bytes of the two parts. Raises InvalidValue where they are not of one plan, and
    GuaranteeNotMet where the integers of the device part prove a larger ε than it claims.
    """

    @property
    def objective(self) -> str:
        """ "max" (the worst query) or "mean" (the mean over queries)."""
        return self.analyst.objective

    @property
    def variance(self) -> float:
        """The objective's variance of one user's contribution, for the worst cell, recomputed from integers by audits.

        Query weights of a stack count in it, as in `bound`. With n users a variance is n times smaller.
        """
        figures = self.analyst.figures
        return figures.max_variance if self.objective == "max" else figures.mean_variance

    @property
    def bound(self) -> float:
        """A variance that no unbiased one-round mechanism with an estimator that is a sum over users can beat."""
        certificate = self.analyst.certificate
        return certificate.max.value if self.objective == "max" else certificate.mean.value

    @property
    def ratio(self) -> float | None:
        """variance / bound, at least 1; None where no bound above 0 was proved."""
        return self.variance / self.bound if self.bound > 0 else None

    @property
    def bias_bound(self) -> float:
        """A bound on the bias of every answer; 0, or rounding, for unbiased mechanisms."""
        return self.analyst.figures.bias_bound

    @cached_property
    def workload(self) -> Workload:
        """The queries that are listed: all that the analyst part publishes, unless these are too many."""
        return for_randomizer(self.device.randomizer).listed(self._whole)

    @cached_property
    def _whole(self) -> Workload:
        return build_workload(self.device.domain, self.analyst.queries, self.analyst.workload)

    @property
    def variances(self) -> Floats:
        """(Q,) exact variance of one report's part in each listed answer, for the worst cell; without query weights."""
        return self._profile.variance

    @takes(users=NUMBER)
    def errors(self, users: int) -> Floats:
        """(Q,) root mean squared error of each answer from `users` reports, for the worst population.

        In units of the answers: .01 is one percentage point. Raises InvalidValue for fewer than one user.
        """
        if users < 1:
            raise InvalidValue(f"users must be at least 1, got {users}", users)
        added = 0.0 if self.blanket is None else self.blanket.reports * self._moments.blanket().variance
        return np.asarray(np.sqrt(self._profile.rmse(users) ** 2 + added / users**2))

    @takes(error=NUMBER)
    def users_needed(self, error: float) -> int:
        """The least number of reports for which every answer's root mean squared error is at most `error`.

        In units of the answers: .01 is one percentage point of a share. For the objective "mean" the root of the mean
        over queries. Raises PlanError where the bias alone is more, InvalidValue for an error of a whole scale.
        """
        low, high = self.workload.operator.entry_range()
        if error >= (scale := float((high - low).max())):
            raise InvalidValue(
                f"an error of {chosen(error)} is the whole scale of an answer, {chosen(scale)}: give one in units of "
                "the answers, .01 for one percentage point of a share",
                error,
            )
        if self.blanket is not None:
            objective: Objective = "max" if self.objective == "max" else "mean"
            return behind_blanket(self._moments, self._profile, objective, self.blanket.reports, error).users
        largest = self._profile.largest_variance if self.objective == "max" else self.analyst.figures.mean_variance
        return users_needed(largest, self.bias_bound, error)

    @takes(margin=NUMBER, level=NUMBER, difference=FLAG, population=FLAG)
    def sample_sizes(
        self, margin: float, *, level: float = 0.95, difference: bool = False, population: bool = False
    ) -> SampleSizes:
        """Users for the statement "each answer ± margin, with probability `level`": `users` (Q,), `most`, and `band`.

        `margin` is a share of each query's scale, its largest entry less its least, so .01 is one percentage point of
        a share of users. `difference`: of two campaigns with so many users each. `population`: about the population
        that the users are an independent sample of. Raises InvalidValue for a margin or a level out of range, and
        PlanError where the bias alone exceeds the margin.
        """
        statement = Statement(margin=margin, level=level, difference=difference, population=population)
        return SampleSizes.of(
            statement, self._moments, self._whole, 0 if self.blanket is None else self.blanket.reports
        )

    def manipulation(self) -> Floats:
        """(Q,) c: a share f of fake reports moves an answer by at most f·c."""
        return manipulation(self.device, self.analyst, self._whole)

    def drawn_manipulation(self) -> DrawnMoves:
        """The same of reports with tokens, whose coins are drawn: `mean` d and `most` c, the largest of all queries.

        A share f of tokens moves an answer by at most f·d in the mean; `with_chance(f, reports)` is a bound that holds
        but for a chance of 10⁻⁶. Of grids with many queries d is that of some, which `over` says: it is no bound on
        the others.
        """
        return self._drawn

    @takes(reports=WHOLE, delta=NUMBER | TEXT, fake=NUMBER | TEXT)
    def shuffled(
        self, reports: int, *, delta: float | str | Fraction = DELTA, fake: float | str | Fraction = FAKE_SHARE
    ) -> Shuffled:
        """(ε, δ) of each user for anyone who sees only the multiset of reports: `epsilon`, `delta`, `amplified`.

        That is a reader of the published counts, or a server behind a separate shuffler that strips ids, addresses and
        order; never a server that takes reports from devices itself. `reports` is their floor, stated before, of
        which the share `fake` may be fake. ε is proved and never below the truth; where shuffling proves nothing
        better it is the device's own, without δ. Raises InvalidValue for fewer than one report, a share outside [0, 1)
        or a δ outside [10⁻¹⁵, 1).

        >>> ten_thousand = plan(histogram(3), epsilon=1).shuffled(10_000)
        >>> ten_thousand.honest, round(ten_thousand.epsilon, 3)
        (9000, 0.04)
        """
        return shuffled_guarantee(self.device, reports, chance_of(fake), chance_of(delta))

    @takes(users=WHOLE | NONE)
    def warnings(self, users: int | None = None) -> tuple[str, ...]:
        """What speaks against the plan and what to do instead; with `users` also where their answers say nothing."""
        errors = () if users is None else error_warnings(self._profile, self.workload, users)
        return (*self._quality, *errors)

    def audit(self) -> tuple[Check, ...]:
        """Every claim of the plan recomputed from its bytes: ε, variances, bias, factors, both bounds."""
        return tuple(audit_plan(self.device, self.analyst))

    @cached_property
    def _quality(self) -> tuple[str, ...]:
        # A coarser question is planned for it.
        return tuple(
            quality_warnings(
                self.variance,
                self.bound,
                self._whole,
                mechanism=self.mechanism,
                epsilon=self.epsilon,
                objective="max" if self.objective == "max" else "mean",
            )
        )

    @cached_property
    def _drawn(self) -> DrawnMoves:
        return drawn_manipulation(self.device, self.analyst, self._whole)

    @cached_property
    def _moments(self) -> AnswerMoments:
        return answer_moments(self.device.randomizer, self.analyst.decoder, self._whole)

    @cached_property
    def _profile(self) -> ErrorProfile:
        return self._moments.profile()

    def _largest_error(self) -> str:
        """In the unit of the answers, where all are numbers of one."""
        error = float(np.max(self.errors(_USERS_SHOWN)))
        units = set(units_of(self.workload, range(self.workload.queries))) if self.workload.has_units else set()
        unit = units.pop() if len(units) == 1 else ""
        return amount(error, unit) if unit else figure(error, 3)

    def _moved(self) -> str:
        """By how much fake reports move an answer, with chosen and with drawn coins."""
        chosen_coins = f"a share f moves an answer by at most {figure(self._drawn.most)}·f"
        if not self.device.randomizer.has_coin:
            return f"{chosen_coins}, also with tokens: no coin"
        some = f" ({self._drawn.over})" if self._drawn.over else ""
        return f"{chosen_coins}, with tokens {figure(self._drawn.mean)}·f in the mean{some}"

    def _facts(self) -> tuple[str, list[tuple[str, str]]]:
        title = (
            f"Plan of {self.analyst.workload}: {quantity(self._whole.asked, 'query')} over "
            f"{quantity(self._whole.size, 'cell')}"
        )
        above = "no bound above 0 proved" if self.ratio is None else f"{figure(self.bound)}, ratio {ratio(self.ratio)}"
        return title, [
            ("privacy", f"{self.device.guarantee} for each report"),
            ("mechanism", self.mechanism),
            (f"variance ({self.objective})", f"{figure(self.variance)} for each user"),
            ("lower bound", above),
            (f"error, {_USERS_SHOWN:,} users", f"at most {self._largest_error()} rms"),
            ("fake reports", self._moved()),
            ("device part", f"{len(self.device.content):,} bytes"),
            *(("warning", warning) for warning in self.warnings()),
        ]


@overload
def plan(
    workload: Workload,
    epsilon: float | str | Decimal,
    *,
    objective: Objective = ...,
    users: int | None = ...,
    mechanism: str | None = ...,
    robust: float | None = ...,
    seed: int = ...,
    effort: Effort | str = ...,
    time_limit: float | None = ...,
    collector: tuple[float | str, float | str] | None = ...,
    target_error: float | None = ...,
    progress: ProgressCallback | bool = ...,
    cache: Path | str | None = ...,
) -> Plan: ...
@overload
def plan(
    workload: StringsSpecification,
    epsilon: float | str | Decimal,
    *,
    users: int | None = ...,
    progress: ProgressCallback | bool = ...,
    cache: Path | str | None = ...,
) -> StringPlan: ...
@takes(
    workload=instance(
        Workload,
        StringsSpecification,
        advice=", which prefix, histogram, workload and common_strings make (plan_pairwise plans a pairwise statistic)",
    ),
    epsilon=NUMBER | TEXT,
    collector=PAIR | NONE,
    target_error=NUMBER | NONE,
    progress=FLAG | FUNCTION,
    cache=PATH | NONE,
)
def plan(
    workload: Workload | StringsSpecification,
    epsilon: float | str | Decimal,
    *,
    objective: Objective = "max",
    users: int | None = None,
    mechanism: str | None = None,
    robust: float | None = None,
    seed: int = 0,
    effort: Effort | str = Effort.STANDARD,
    time_limit: float | None = None,
    collector: tuple[float | str, float | str] | None = None,
    target_error: float | None = None,
    progress: ProgressCallback | bool = False,
    cache: Path | str | None = None,
) -> Plan | StringPlan:
    """The mechanism with the least exact variance for a workload, proved ε-LDP in integers, with a certified bound.

    `objective` "max" makes the worst query's variance small, "mean" the mean over queries. `users` is how many reports
    are expected: biased mechanisms are compared by mean squared error at that number only. `mechanism` names the only
    one to consider; `robust`, a share of fake reports, weighs how far they move an answer at that number of users.
    `seed` and `effort` ("quick", "standard", "thorough") steer the search: the same arguments give the same bytes.
    `collector` = (ε, δ) plans for a shuffler that adds random reports: what takes the fewest users for `target_error`
    is chosen, and `epsilon` is the most that a device spends. After `time_limit` seconds the best plan so far is taken.
    `progress=True` prints each stage to stderr, a function is called with a `Progress`. `cache` is a folder where plans
    are kept; `sordino plan` uses ~/.cache/sordino. Of `common_strings` the plan is a `StringPlan` with a fresh public
    salt, which takes `users`, `progress` and `cache`.

    Raises PlanError where no mechanism applies, and InvalidValue for an ε outside [.001, 16].

    >>> histogram_of_3 = plan(histogram(3), epsilon=1)
    >>> histogram_of_3.mechanism, round(histogram_of_3.ratio, 3)
    ('randomized_response', 1.0)
    """
    options = PlanningOptions.of(
        epsilon=written_epsilon(epsilon),
        objective=objective,
        mechanism=mechanism,
        users=users,
        robust=robust,
        seed=seed,
        effort=chosen_effort(effort),
        time_limit=time_limit,
        collector=None if collector is None else {"epsilon": collector[0], "delta": collector[1]},
        target_error=target_error,
    )
    if isinstance(workload, StringsSpecification):
        finished = planned(StringsRequest(workload, options), progress, cache)
        return StringPlan(finished.device, finished.analyst)
    finished = planned(LinearRequest(workload, options), progress, cache)
    return Plan(finished.device, finished.analyst)


@takes(device=PATH | BYTES, analyst=BYTES | NONE)
def read_plan(device: Path | str | bytes, analyst: bytes | None = None) -> Plan:
    """The plan that two parts or a folder hold: `read_plan(device_bytes, analyst_bytes)` or `read_plan(folder)`.

    A folder is one that `Plan.save` or `sordino plan --output` wrote; `read_string_plan` reads those of strings.
    ε is proved again. Raises ProtocolError for
    bytes that are not a plan, InvalidValue for parts of two plans, GuaranteeNotMet, and OSError.
    """
    if isinstance(device, bytes):
        if analyst is None:
            raise InvalidValue("give both parts of the plan: read_plan(device_bytes, analyst_bytes)")
        return _linear(DevicePart.read(device), AnalystPart.read(analyst))
    parts = read_round(Path(device))
    return _linear(parts.device, parts.analyst)


def _linear(device: DevicePart, analyst: AnalystPart) -> Plan:
    if isinstance(analyst.queries, StringQueries):
        raise InvalidValue("the plan finds strings: read it with read_string_plan", analyst)
    return Plan(device, analyst)
