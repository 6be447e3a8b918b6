"""One look at an experiment: each arm against the first, by the one rule that was pinned before the first report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sordino_analysis.comparisons.difference import DIFFERENT_PEOPLE, Difference, Side, Verdict, difference, verdict_of
from sordino_analysis.comparisons.lifts import beside
from sordino_analysis.comparisons.matching import queries_by_label
from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.estimation.intervals import bonferroni_quantile
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.experiments.always import AlwaysValid, ArmSums, Contributions
from sordino_analysis.experiments.any_time import any_time_quantile
from sordino_analysis.experiments.looks import Looks
from sordino_analysis.experiments.planned_looks import boundaries
from sordino_analysis.experiments.power import comparison_level
from sordino_analysis.experiments.sample_ratio import sample_ratio
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.units import units_of
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Arm, DevicePart

OVERSTATED = "early results overstate the difference"


@dataclass(frozen=True, kw_only=True)
class ExperimentDesign:
    """What was pinned before the first report: the `primary` query, when one looks, and what was planned for.

    `users` are those of all arms at the end, `spread` the standard deviation of their values as a share of the scale,
    1/2 at most. `level` holds for all arms and all looks together. `expect` is what the answer to the primary query
    was expected to be, in its unit, for looks that hold always.
    """

    arms: tuple[Arm, ...]
    primary: str
    looks: Looks
    days: int
    users: int
    spread: float
    level: float
    expect: float | None = None

    @property
    def comparison_level(self) -> float:
        """The level of one arm against the first."""
        return comparison_level(self.level, len(self.arms))


@dataclass(frozen=True, kw_only=True)
class MadeLook:
    """What earlier looks leave for the next one: each arm's share of the planned information, and what was decided.

    `shares` (arms − 1,) are of the arms after the first. `decided` (arms − 1,) are their comparisons as they were
    stored where no look of the arm follows, else None. `alarm`: the sample ratio was off. `sums` (arms,) are those of
    looks that hold always, none where an arm had no reports.
    """

    alarm: bool
    shares: tuple[float, ...]
    decided: tuple[Mapping[str, Any] | None, ...]
    sums: tuple[ArmSums, ...] = ()


def look(
    design: ExperimentDesign,
    device: DevicePart,
    analyst: AnalystPart,
    aggregates: Sequence[Aggregate],
    before: Sequence[MadeLook],
    *,
    ended: bool,
    blanket: int = 0,
) -> dict[str, Any]:
    """What a look stores: counts, the primary metric of each arm, and each arm against the first.

    `aggregates` (arms,) are of all reports so far, of which `blanket` in each arm are random ones of a shuffler; counts
    are those of the others. `ended` at the pinned end, which spends what is left of the level. An arm without reports
    leaves every comparison undecided. Raises InvalidValue for a query that the plan lacks.
    """
    counts = [max(0, each.count - blanket) for each in aggregates]
    ratio = sample_ratio(counts, [arm.weight for arm in design.arms], ended=ended)
    # The level is that of an alarm at any look: it stays, though later reports may lower the factor again.
    alarm = ratio.alarm or any(each.alarm for each in before)
    found: dict[str, Any] = {
        "ended": ended,
        "unit": None,
        "sample_ratio": {"factor": ratio.factor, "chance": ratio.chance, "alarm": alarm},
        "arms": [{"arm": arm.name, "reports": count} for arm, count in zip(design.arms, counts, strict=True)],
        "comparisons": [],
    }
    if min(counts) == 0:
        return found
    estimator = LinearEstimator.of(device, analyst)
    sides = [Side.of_round(estimator.among(each, blanket), each, design.level) for each in aggregates]
    [found["unit"]] = units_of(estimator.workload, [query_of(design.primary, estimator.workload)])
    for shown, own in zip(found["arms"], _arms(design, estimator, sides, aggregates), strict=True):
        shown |= own
    rules = _Rules.of(design, estimator, [*before, made(found, design)], ended, blanket)
    for place, (arm, side) in enumerate(zip(design.arms[1:], sides[1:], strict=True)):
        kept = next((each for one in before if (each := one.decided[place]) is not None), None)
        if kept is not None:
            # Its level is spent: another boundary would contradict the one that it crossed.
            found["comparisons"].append({**kept} | ({"verdict": "withheld"} if alarm else {}))
            continue
        compared = _of_primary(design.primary, sides[0], side)
        share = compared.share_of(rules.planned[place])
        ends = rules.ends(compared, place, share)
        found["comparisons"].append(
            {"arm": arm.name, "compared_to": design.arms[0].name}
            | compared.document(ends, share, ended)
            | {"verdict": "withheld" if alarm else ends.verdict}
        )
    return found


def made(stored: Mapping[str, Any], design: ExperimentDesign) -> MadeLook:
    """What a stored look leaves for the next one."""
    found, ratio = stored["comparisons"], stored.get("sample_ratio")
    # A look that could not be made has no ratio.
    alarm = ratio is not None and ratio["alarm"]
    sums = [ArmSums(each["reports"], each["sum"], each["squares"]) for each in stored["arms"] if "squares" in each]
    if not found:
        nothing = len(design.arms) - 1
        return MadeLook(alarm=alarm, shares=(0.0,) * nothing, decided=(None,) * nothing, sums=tuple(sums))
    return MadeLook(
        alarm=alarm,
        shares=tuple(each["information_share"] for each in found),
        decided=tuple(each if _arm_is_decided(each, design) else None for each in found),
        sums=tuple(sums),
    )


def is_decided(stored: Mapping[str, Any], design: ExperimentDesign) -> bool:
    """Whether no look follows: each arm was found to differ, or has all the information that looks were planned for."""
    found = stored["comparisons"]
    return stored["ended"] or (bool(found) and all(_arm_is_decided(each, design) for each in found))


def _arm_is_decided(found: Mapping[str, Any], design: ExperimentDesign) -> bool:
    # Planned looks end with the planned information; what holds at any time goes on for all days.
    all_spent = design.looks is Looks.PLANNED and found["information_share"] >= 1
    return all_spent or found["verdict"] in ("higher", "lower")


def planned_information(design: ExperimentDesign, estimator: LinearEstimator, blanket: int = 0) -> list[float]:
    """1/Var(difference) of each arm against the first at the planned end, from the plan and the pinned terms alone.

    An arm of n users and m random reports, its `blanket`, has the variance (n v + m s)/n², with v of a user and s of a
    random report. Raises InvalidValue where the plan has no such query.
    """
    noise = planned_noise(design, estimator)
    whole = sum(arm.weight for arm in design.arms)
    users = [design.users * arm.weight / whole for arm in design.arms]
    random = planned_random(design, estimator, blanket)
    first, *others = [noise / each + random / each**2 for each in users]
    return [1 / (first + other) for other in others]


def planned_random(design: ExperimentDesign, estimator: LinearEstimator, blanket: int) -> float:
    """The variance that so many random reports together add to the sum of an arm's primary metric."""
    if not blanket:
        return 0.0
    return blanket * float(estimator.law.blanket().variance[query_of(design.primary, estimator.workload)])


def planned_noise(design: ExperimentDesign, estimator: LinearEstimator) -> float:
    """The variance of one user's contribution to the primary metric, of randomization and the planned spread."""
    workload = estimator.workload
    query = query_of(design.primary, workload)
    low, high = workload.operator.entry_range()
    return float(estimator.law.profile().variance[query]) + (design.spread * float((high - low)[query])) ** 2


@dataclass(frozen=True)
class _Ends:
    """What the rule leaves of a difference, `boundary` standard errors from it; inf where it says nothing."""

    low: float
    high: float
    boundary: float

    @property
    def verdict(self) -> Verdict:
        return verdict_of(self.low, self.high)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Rules:
    """The rule of a design at the last of the `looks`: `planned` (arms − 1,) is the information at the end.

    `contributions` are known for looks that hold always.
    """

    design: ExperimentDesign
    planned: Sequence[float]
    contributions: Contributions | None
    looks: Sequence[MadeLook]
    ended: bool

    @classmethod
    def of(
        cls, design: ExperimentDesign, estimator: LinearEstimator, looks: Sequence[MadeLook], ended: bool, blanket: int
    ) -> _Rules:
        return cls(
            design=design,
            planned=planned_information(design, estimator, blanket),
            contributions=_contributions(design, estimator),
            looks=looks,
            ended=ended,
        )

    def ends(self, compared: _Compared, place: int, share: float) -> _Ends:
        """Of the arm `place` + 1 against the first; `share` is that of the planned information now."""
        if self.contributions is None:
            shares = [*(one.shares[place] for one in self.looks[:-1]), share]
            return compared.within(_boundary(self.design, shares, self.ended))
        low, high = self._always(self.contributions, place)
        low, high = low - compared.found.bias_bound, high + compared.found.bias_bound
        return _Ends(low, high, (high - low) / 2 / compared.error)

    def _always(self, of: Contributions, place: int) -> tuple[float, float]:
        whole = sum(arm.weight for arm in self.design.arms)
        valid = AlwaysValid(
            weights=(self.design.arms[0].weight / whole, self.design.arms[place + 1].weight / whole),
            low=float(of.values.min()),
            high=float(of.values.max()),
            centre=of.centre,
            variance=self.design.users**2 / self.planned[place],
            level=self.design.comparison_level,
        )
        known = [each.sums for each in self.looks if each.sums]
        return valid.interval([(sum(arm.reports for arm in sums), sums[0], sums[place + 1]) for sums in known])


def _contributions(design: ExperimentDesign, estimator: LinearEstimator) -> Contributions | None:
    if design.looks is not Looks.ALWAYS:
        return None
    return Contributions.of(estimator, query_of(design.primary, estimator.workload), design.expect)


def _arms(
    design: ExperimentDesign, estimator: LinearEstimator, sides: Sequence[Side], aggregates: Sequence[Aggregate]
) -> Iterator[dict[str, float]]:
    """The primary metric of each arm; where looks hold always, its squares too."""
    of = _contributions(design, estimator)
    for side, aggregate in zip(sides, aggregates, strict=True):
        squares = {} if of is None else {"squares": of.sums_of(aggregate).squares}
        yield _primary_of(design.primary, side) | squares


def _boundary(design: ExperimentDesign, shares: Sequence[float], ended: bool) -> float:
    level = design.comparison_level
    if design.looks is Looks.ANY:
        return any_time_quantile(shares[-1], level)
    if design.looks is Looks.END:
        return float(bonferroni_quantile(design.level, len(design.arms) - 1)) if ended else math.inf
    return float(boundaries(shares, level, ended=ended)[-1])


@dataclass(frozen=True, eq=False)
class _Compared:
    """The primary metric of an arm against that of the first."""

    found: Difference

    @property
    def error(self) -> float:
        errors = self.found.population_standard_error
        assert errors is not None
        return float(errors[0])

    def share_of(self, planned: float) -> float:
        return 1 / (self.error**2 * planned)

    def within(self, boundary: float) -> _Ends:
        """So many standard errors on either side."""
        if not math.isfinite(boundary):
            return _Ends(-math.inf, math.inf, boundary)
        low, high = self.found.mean.population_interval(boundary)[0].tolist()
        return _Ends(low, high, boundary)

    def document(self, ends: _Ends, share: float, ended: bool) -> dict[str, Any]:
        shown = math.isfinite(ends.boundary)
        early = not ended and share < 1 and ends.verdict != "undecided"
        return {
            "value": float(self.found.value[0]),
            "standard_error": self.error,
            "information_share": share,
            "boundary": ends.boundary if shown else None,
            "lower": ends.low if shown else None,
            "upper": ends.high if shown else None,
            "lift": self._lift(ends) if shown else None,
            "note": OVERSTATED if early else None,
            "warnings": [each for each in self.found.warnings if each != DIFFERENT_PEOPLE],
        }

    def _lift(self, ends: _Ends) -> dict[str, Any]:
        """θ_B/θ_A − 1 and where it is, on one side of 0 where the difference is; a base that may be 0 leaves no end."""
        base, other = float(self.found.left[0]), float(self.found.right[0])
        [(low, high)] = beside(self.found.lifted(ends.boundary)[1], np.array([[ends.low, ends.high]])).tolist()
        bounded = math.isfinite(low) and math.isfinite(high)
        return {
            "value": other / base - 1 if base else None,
            "shape": "interval" if bounded else "anything",
            "lower": low if bounded else None,
            "upper": high if bounded else None,
        }


def query_of(primary: str, workload: Workload) -> int:
    """The number of the query of this label; raises InvalidValue where there is none."""
    queries = queries_by_label(workload)
    if primary not in queries:
        raise InvalidValue(f"the plan has no query {primary!r}: name one of its labels", primary)
    return queries[primary]


def _of_primary(primary: str, first: Side, other: Side) -> _Compared:
    return _Compared(difference(first, other, only=[primary], population=True))


def _primary_of(primary: str, side: Side) -> dict[str, float]:
    query = query_of(primary, side.workload)
    value = sum(weight * float(part.answers[query]) for weight, part in side.parts)
    variance = sum(weight**2 * float(part.noise[query] + part.drawn[query]) for weight, part in side.parts)
    return {"value": value, "sum": value * side.users, "standard_error": float(np.sqrt(variance))}
