"""A plan in numbers, as JSON: one model for each kind of question, and what they have in common as a protocol."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist
from typing import Protocol, Self

from pydantic import Field, TypeAdapter, ValidationError

from sordino_analysis.documents.base_summary import BaseSummary
from sordino_analysis.documents.crowd_size import CrowdFigures, CrowdSize
from sordino_analysis.documents.elimination_plan import RoundShares
from sordino_analysis.documents.price_of_locality import PriceOfLocality
from sordino_analysis.documents.strings_summary import StringsSummary
from sordino_analysis.documents.summary_parts import (
    AverageCaseFigures,
    BlanketSummary,
    DrawnManipulation,
    FormBoundSummary,
    FormManipulation,
    MechanismRow,
    PartDigests,
    PredictedError,
    ProtocolRow,
    ShuffledPrivacy,
    is_none,
)
from sordino_analysis.percentages import percent
from sordino_analysis.request_terms import CutShort, Objective, Target
from sordino_shared.errors import InvalidValue, MalformedDocument

# The whole numbers up to here are those of a float.
_MOST_USERS = 2**53
# Answers without bias have that of their decoder's floats.
_ROUNDING = 1e-9
# The level of every interval.
_LEVEL = 0.95


class PlanSummary(Protocol):
    """What the plan of any kind of question states of itself.

    `variance` is the objective's variance of one report and `ratio` that over its lower bound; None where a plan has
    none, as one that is compared by its predicted error. `cut_short` is the reason why the plan could be better.
    """

    @property
    def variance(self) -> float | None: ...

    @property
    def ratio(self) -> float | None: ...

    @property
    def cut_short(self) -> CutShort | None: ...

    @property
    def seconds(self) -> float: ...

    @property
    def device_bytes(self) -> int: ...

    @property
    def device_memory(self) -> int: ...

    @property
    def quality(self) -> str:
        """How good the plan is, in words: its variance and the lower bound, or the error that it predicts."""

    def forecast(self, users: int) -> str:
        """What so many users lead to, in words, before anybody is asked."""

    def text(self) -> str: ...


class LinearSummary(BaseSummary):
    """A plan for linear queries. Variances and bias are of one report; errors are of the `users` expected."""

    workload: str
    k: int
    queries: int
    epsilon: float
    objective: Objective
    mechanism: str
    max_variance: float
    mean_variance: float
    bias_bound: float
    max_variance_over: str | None = Field(
        None, exclude_if=is_none, description="The queries of which max_variance is the largest, unless of all."
    )
    mean_variance_over: str | None = Field(
        None, exclude_if=is_none, description="The queries of which mean_variance is the mean, unless of all."
    )
    uniform_mean_variance: float | None = Field(
        None, exclude_if=is_none, description="Mean over the same queries and all types, of shifted grids."
    )
    scale: float | None = Field(
        None,
        exclude_if=is_none,
        description="Of measures of numbers: variances over its square are those over the squared range.",
    )
    unit: str | None = Field(
        None, exclude_if=is_none, description="Of measures of numbers that all have this unit: that of their errors."
    )
    largest_variance: float = Field(description="Of any query, without the weights of a stack's parts.")
    manipulation: float = Field(description="Times a share of fake reports: how far they move an answer at most.")
    drawn_manipulation: DrawnManipulation | None = Field(
        None, exclude_if=is_none, description="The same with tokens, in the mean; absent in plans of before."
    )
    lower_bound_max: float
    lower_bound_mean: float
    ratio_max: float | None = Field(description="Null where no bound above 0 was proved.")
    ratio_mean: float | None = Field(description="Null where no bound above 0 was proved.")
    outputs: int | None = Field(description="How many different reports there are, where they are counted one by one.")
    device_bytes: int
    device_memory: int = Field(description="Bytes that a device needs to verify its part.")
    analyst_bytes: int
    digests: PartDigests
    seconds: float
    cut_short: CutShort | None
    warnings: tuple[str, ...] = Field((), description="What speaks against using the plan, and what to do instead.")
    candidates: tuple[MechanismRow, ...]
    robust: float | None = Field(None, exclude_if=is_none, description="Share of fake reports that was weighed.")
    users: int | None = Field(None, exclude_if=is_none)
    predicted_max_rmse: float | None = Field(None, exclude_if=is_none)
    predicted_errors: tuple[PredictedError, ...] | None = Field(None, exclude_if=is_none)
    shuffled: ShuffledPrivacy | None = Field(
        None, exclude_if=is_none, description="Of the users expected, for readers of the published counts."
    )
    target_error: float | None = Field(None, exclude_if=is_none)
    users_needed: int | None = Field(None, exclude_if=is_none)
    blanket: BlanketSummary | None = Field(
        None, exclude_if=is_none, description="Of a plan for devices behind a shuffler."
    )
    price_of_locality: PriceOfLocality | None = Field(
        None, exclude_if=is_none, description="Users for the target error, by whom they trust."
    )
    asks_rules: bool | None = Field(
        None, exclude_if=is_none, description="True where the queries are the losses of a class of rules."
    )
    population_variance: float | None = Field(
        None,
        exclude_if=is_none,
        description="Of losses of rules: the largest variance of one report, sampling included: losses are those of "
        "the population that the users are drawn from.",
    )

    shares: tuple[float, ...] | None = Field(
        None, exclude_if=is_none, description="Of three rounds: the share of devices that answers each."
    )
    top: int | None = Field(
        None, exclude_if=is_none, description="Of three rounds: how many rules the second asks about."
    )

    crowd: CrowdFigures | None = Field(
        None, exclude_if=is_none, description="What intervals are made of; absent in plans of before."
    )
    average_case: AverageCaseFigures | None = Field(
        None, exclude_if=is_none, description="What the same reports tell of one known rule on average."
    )

    def of_first_round(self, users: int | None, rounds: RoundShares, protocol: str) -> Self:
        """The summary of three rounds by that of the first, whose errors are predicted for its share of `users`."""
        digests = self.digests.model_copy(update={"protocol": protocol})
        return self.model_copy(update={"users": users, "shares": rounds.shares, "top": rounds.top, "digests": digests})

    @property
    def linear(self) -> LinearSummary:
        """This one."""
        return self

    @property
    def first_share(self) -> float:
        """The share of the devices that answers all queries: of the first round, if there are several."""
        return 1.0 if self.shares is None else self.shares[0]

    @property
    def variance(self) -> float:
        """The objective's variance."""
        return self.max_variance if self.objective == "max" else self.mean_variance

    @property
    def ratio(self) -> float | None:
        """The objective's variance over its lower bound."""
        return self.ratio_max if self.objective == "max" else self.ratio_mean

    @property
    def answer_variance(self) -> float:
        """Of an answer's own error, in which the weights of a stack's parts have no place, for each user."""
        own = self.largest_variance if self.objective == "max" else self.mean_variance
        return own / self.first_share

    @property
    def quality(self) -> str:
        """The variance and how it compares with the lower bound, which a biased answer may be below."""
        variance = f"variance {self.relative(self.max_variance):.4g}{self.of_range}"
        if self.has_bias:
            return f"{variance} and a bias; the lower bound, {self.lower_bound_max:.4g}, is for answers without bias"
        if self.ratio_max is None:
            return "no lower bound above 0 at this ε"
        return f"{variance}, {self.ratio_max:.3f}× lower bound"

    @property
    def has_bias(self) -> bool:
        """Whether answers have a bias that is more than the rounding of their floats."""
        return self.bias_bound > _ROUNDING * (self.scale or 1.0)

    def relative(self, variance: float) -> float:
        """A variance as readers see it: of numbers over the squared range, else as it is."""
        return variance if self.scale is None else variance / self.scale**2

    @property
    def of_range(self) -> str:
        """The words behind variances of numbers."""
        return "" if self.scale is None else " of the squared range"

    def forecast(self, users: int) -> str:
        """Half of the width of the band."""
        answers = "losses" if self.asks_rules else "answers"
        if self.scale is not None:
            quantile = two_sided(_LEVEL, max(1, self.queries))
            share = quantile * math.sqrt(self.relative(self.max_variance) / users)
            return f"expected band over all answers ± {percent(share, 2)} of the range at most"
        return f"expected band over all {answers} ± {self.reach(_LEVEL, users):.3g} at most"

    @property
    def band_variance(self) -> float:
        """Of an answer as estimates state it, for each user of all rounds: `reach` is of it."""
        return self._variance_of_statements / self.first_share

    @property
    def _variance_of_statements(self) -> float:
        """Of one report about what estimates state: losses of rules are the population's, other answers the users'."""
        return self.largest_variance if self.population_variance is None else self.population_variance

    def crowd_of(self, reports: int) -> CrowdSize | None:
        """What so many reports of devices, in all rounds, tell of each answer; None for plans of before."""
        answering = math.floor(reports * self.first_share)
        if self.crowd is None or answering < 1:
            return None
        found, share = self.crowd.crowd(answering), self.first_share
        needed = None if found.needed is None else math.ceil(found.needed / share)
        return replace(found, reports=reports, needed=needed)

    def certified_reach(self, level: float, users: int) -> float:
        """Half of the width, at most, of the interval for one rule whose mistakes cost 1, from the last round."""
        answering = users * (1.0 if self.shares is None else self.shares[-1])
        return two_sided(level, 1) / (2 * math.tanh(self.epsilon / 2) * math.sqrt(answering))

    def reach(self, level: float, users: int) -> float:
        """Half of the width of the band that holds all answers of `users` at once, at `level` (Šidák 1967)."""
        answering = users * self.first_share
        return (
            two_sided(level, max(1, self.queries)) * math.sqrt(self._variance_among(users) / answering)
            + self.bias_bound
        )

    def _variance_among(self, users: int) -> float:
        """Of one report among those of so many users, what random reports add included."""
        return self._variance_of_statements + (0.0 if self.blanket is None else self.blanket.noise(users))

    def users_within(self, margin: float, level: float, difference: bool) -> tuple[int, int] | None:
        """Users for ± `margin`, in units of the answers: of every answer by itself, and of all answers at once.

        The second is enough however the answers are correlated (Šidák 1967). `difference`: of two campaigns, with so
        many users each. None where the bias alone exceeds the margin. `level` is a probability between 0 and 1.
        Raises InvalidValue for a margin that takes more than 2^53 users.
        """
        campaigns = 2 if difference else 1
        room = margin - campaigns * self.bias_bound
        if room <= 0:
            return None
        largest = self._variance_of_statements / self.first_share
        one, every = (
            self._users(campaigns * _squared(two_sided(level, queries) / room), largest)
            for queries in (1, max(1, self.queries))
        )
        if every > _MOST_USERS:
            raise InvalidValue(f"± {margin:g} takes more than 2^53 users: allow a larger margin", margin)
        return max(1, math.ceil(one)), max(1, math.ceil(every))

    def _users(self, wanted: float, variance: float) -> float:
        """The n with `wanted`·(n·v + m·s)/n² = 1, for random reports with m·s, and v = `variance`."""
        if self.blanket is None:
            return wanted * variance
        noise = self.blanket.reports * self.blanket.variance
        return (wanted * variance + math.sqrt((wanted * variance) ** 2 + 4 * wanted * noise)) / 2


def _squared(number: float) -> float:
    """Infinite where a power would be an error."""
    return number * number


def two_sided(level: float, queries: int) -> float:
    """z with P(|Z| ≤ z)^queries = level: half of the width, in standard errors, that holds all answers (Šidák 1967)."""
    # The tail, since 1 less so small a number may round to 1.
    return -NormalDist().inv_cdf(-math.expm1(math.log(level) / queries) / 2)


class PairwiseSummary(BaseSummary):
    """A plan for a pairwise statistic: the protocol, ε of its rounds, the error predicted for `users` users."""

    statistic: str
    k: int
    target: Target
    users: int
    epsilon: float
    protocol: str
    rounds: tuple[float, ...]
    share_of_first_round: float | None
    predicted_rmse: float
    manipulation: dict[str, FormManipulation]
    bounds: dict[str, FormBoundSummary] = Field(
        default_factory=dict, description="Lower bounds by form; none for plans of before, or where none was found."
    )
    digest: str
    digests: PartDigests
    device_bytes: int
    device_memory: int = Field(description="Bytes that a device needs to verify its part.")
    analyst_bytes: int
    protocols: tuple[ProtocolRow, ...]
    seconds: float
    cut_short: CutShort | None

    @property
    def pairwise(self) -> PairwiseSummary:
        """This one."""
        return self

    @property
    def variance(self) -> None:
        """None: a protocol is compared by its predicted error."""

    @property
    def ratio(self) -> None:
        """None: `bounds` has one for each form."""

    @property
    def quality(self) -> str:
        """The error that was compared."""
        return f"predicted error {self.predicted_rmse:.4g} with {self.users:,} users"

    def forecast(self, users: int) -> str:
        """The error that was planned for."""
        return self.quality

    @property
    def answer_variance(self) -> None:
        """None: errors of a protocol do not scale with the number of users."""


AnySummary = LinearSummary | PairwiseSummary | StringsSummary
_ANY: TypeAdapter[AnySummary] = TypeAdapter(AnySummary)


def read_summary(text: str | bytes) -> AnySummary:
    """The summary that `text` holds; raises MalformedDocument for anything else."""
    try:
        return _ANY.validate_json(text)
    except ValidationError as error:
        raise MalformedDocument("not the summary of a plan") from error
