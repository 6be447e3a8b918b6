"""The published estimate of a pairwise statistic: value, intervals and warnings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sordino_analysis.pairwise.quadratic_error import FEW_EVENTS, HARDLY_ANY_EVENT, QuadraticError
from sordino_analysis.percentages import percent
from sordino_analysis.questions.pairwise import PairwiseStatistic
from sordino_shared.quantities import quantity

# 95 %, for the interval of a denominator too.
LEVEL = 0.95
# Where one of two rounds had fewer, 92 % of campaigns were covered at ε = 1, and with 50 in one round 95 %.
FEW_REPORTS = 30
# An interval of few events is doubtful where drawn campaigns hold more or less often than its level by this.
_OFF = 0.0125


@dataclass(frozen=True, eq=False, kw_only=True)
class PairwiseEstimate:
    """A pairwise statistic with its interval.

    `value` and the interval are about the users who reported, `population_…` about the population they are an
    independent sample of. `forms` has each quadratic form's name and value, `users` the reports counted in each round.
    `bias_bound` is what no bias at this n exceeds, None where the estimator is consistent and no more is known;
    `clipped` is what was clipped, in words, or None. `value` and its standard errors are None where a denominator may
    be zero; the interval is then all that is known. `doubts` say in words why intervals may not hold their level.
    """

    value: float | None
    standard_error: float | None
    lower: float
    upper: float
    population_standard_error: float | None
    population_lower: float
    population_upper: float
    level: float
    target: str
    protocol: str
    users: tuple[int, ...]
    forms: tuple[tuple[str, float], ...]
    bias_bound: float | None
    clipped: str | None
    warnings: tuple[str, ...]
    doubts: tuple[str, ...] = ()

    @property
    def unbiased(self) -> bool:
        """Whether the estimator is unbiased at this n."""
        return self.bias_bound == 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Spread:
    """A value, its standard error, and the interval from `low` to `high`, not yet cut to what the statistic can be.

    `rarity` is one over the number of rare events that the error is made of. Of a ratio the interval is `unbounded`
    where the denominator may be zero. `drawn` is how often it held in campaigns drawn to see, None where none were.
    """

    value: float | None
    standard_error: float | None
    low: float
    high: float
    rarity: float
    unbounded: bool = False
    drawn: float | None = None

    @classmethod
    def of(cls, value: float, error: QuadraticError, level: float, bias: float = 0.0) -> Spread:
        """Of a value with this error, and a bias of unknown sign that is no greater than `bias`."""
        low, high = error.interval(value, level)
        return cls(
            value=value, standard_error=error.standard_error, low=low - bias, high=high + bias, rarity=error.rarity
        )


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Which protocol estimated which target, from how many users in each round, and what it has to say.

    `doubts` are further reasons why an interval may not hold. `bias_bound` and `clipped` are those of the estimate of
    one form.
    """

    target: str
    protocol: str
    users: tuple[int, ...]
    warnings: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    bias_bound: float | None = 0.0
    clipped: str | None = None


def published(
    statistic: PairwiseStatistic,
    spreads: tuple[Spread, Spread],
    forms: tuple[tuple[str, float], ...],
    level: float,
    provenance: Provenance,
) -> PairwiseEstimate:
    """The estimate from what is known about the users and about the population; intervals are cut to what can be."""
    own, population = spreads
    (low, high), (population_low, population_high) = (_cut(each, statistic.limits) for each in spreads)
    return PairwiseEstimate(
        value=own.value,
        standard_error=own.standard_error,
        lower=low,
        upper=high,
        population_standard_error=None if own.value is None else population.standard_error,
        population_lower=population_low,
        population_upper=population_high,
        level=level,
        target=provenance.target,
        protocol=provenance.protocol,
        users=provenance.users,
        forms=forms,
        bias_bound=provenance.bias_bound if statistic.is_one_form else None,
        clipped=provenance.clipped,
        warnings=(*provenance.warnings, *_of_range(statistic, own, level)),
        doubts=(*few_events(own, level), *few_reports(provenance.users, level), *provenance.doubts),
    )


def few_events(own: Spread, level: float) -> tuple[str, ...]:
    """A sentence where the error is made of few reports that differ from the others."""
    rarity, drawn = own.rarity, own.drawn
    if rarity <= FEW_EVENTS:
        return ()
    if drawn is not None and rarity <= HARDLY_ANY_EVENT and abs(drawn - level) <= _OFF:
        return ()
    return (
        f"few reports carry noise here (about {1 / rarity:.2g} make up the error, {1 / FEW_EVENTS:.0f} would do): the "
        f"{percent(level)} interval may hold more or less often than that. More reports, or a smaller ε, mend it",
    )


def few_reports(users: tuple[int, ...], level: float) -> tuple[str, ...]:
    """A sentence where a round has so few reports that its mean is far from normal."""
    if min(users) >= FEW_REPORTS:
        return ()
    return (
        f"a round has {quantity(min(users), 'report')} only, and intervals are those of the law for many, "
        f"{FEW_REPORTS} or more: the {percent(level)} interval may hold less often than that",
    )


def _cut(spread: Spread, limits: tuple[float, float]) -> tuple[float, float]:
    """The part that can be; all of it where no part can, so that no interval is a point."""
    if spread.high < limits[0] or spread.low > limits[1]:
        return spread.low, spread.high
    return max(spread.low, limits[0]), min(spread.high, limits[1])


def _of_range(statistic: PairwiseStatistic, own: Spread, level: float) -> Iterator[str]:
    low, high = statistic.limits
    names = " and ".join(statistic.forms[index].name for index in statistic.denominators)
    if own.value is None:
        yield (
            f"{statistic.name} divides by {names}, which may be zero: no value is published, and there may be none. "
            f"The interval holds it if there is one; without the limits {low:g} to {high:g} it "
            f"{'is unbounded' if own.unbounded else 'has two ends'}. Values are published only where the "
            "denominator is told from zero, so those of many campaigns are a selection; intervals are not. More "
            "reports, or a larger ε, narrow it"
        )
    elif own.low < low or own.high > high or not low <= own.value <= high:
        yield (
            f"noise takes the estimate or its {percent(level)} interval beyond {low:g} to {high:g}, which is all that "
            f"{statistic.name} can be: the interval was cut to that, unless all of it is beyond"
        )
