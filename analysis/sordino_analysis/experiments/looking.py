"""One look at an experiment: each arm against the first, by the one rule that was pinned before the first report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sordino_analysis.comparisons.difference import DIFFERENT_PEOPLE, Difference, Side, Verdict, difference, verdict_of
from sordino_analysis.comparisons.matching import queries_by_label
from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.estimation.fieller import JointErrors, fieller_set
from sordino_analysis.estimation.intervals import bonferroni_quantile
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.evaluation.accumulate import Aggregate
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
    1/2 at most. `level` holds for all arms and all looks together.
    """

    arms: tuple[Arm, ...]
    primary: str
    looks: Looks
    days: int
    users: int
    spread: float
    level: float

    @property
    def comparison_level(self) -> float:
        """The level of one arm against the first."""
        return comparison_level(self.level, len(self.arms))


@dataclass(frozen=True, kw_only=True)
class MadeLook:
    """What earlier looks leave for the next one: each arm's share of the planned information, and what was decided.

    `shares` (arms − 1,) are of the arms after the first. `decided` (arms − 1,) are their comparisons as they were
    stored where no look of the arm follows, else None. `alarm`: the sample ratio was off.
    """

    alarm: bool
    shares: tuple[float, ...]
    decided: tuple[Mapping[str, Any] | None, ...]


def look(
    design: ExperimentDesign,
    device: DevicePart,
    analyst: AnalystPart,
    aggregates: Sequence[Aggregate],
    before: Sequence[MadeLook],
    *,
    ended: bool,
) -> dict[str, Any]:
    """What a look stores: counts, the primary metric of each arm, and each arm against the first.

    `aggregates` (arms,) are of all reports so far; `ended` at the pinned end, which spends what is left of the level.
    An arm without reports leaves every comparison undecided. Raises InvalidValue for a query that the plan lacks.
    """
    counts = [each.count for each in aggregates]
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
    sides = [Side.of_round(estimator, each, design.level) for each in aggregates]
    planned = planned_information(design, estimator)
    [found["unit"]] = units_of(estimator.workload, [_query_of(design.primary, estimator.workload)])
    for place, (arm, side) in enumerate(zip(design.arms[1:], sides[1:], strict=True)):
        kept = next((each for one in before if (each := one.decided[place]) is not None), None)
        if kept is not None:
            # Its level is spent: another boundary would contradict the one that it crossed.
            found["comparisons"].append({**kept} | ({"verdict": "withheld"} if alarm else {}))
            continue
        compared = _of_primary(design.primary, sides[0], side)
        share = compared.share_of(planned[place])
        shares = [*(one.shares[place] for one in before), share]
        boundary = _boundary(design, shares, ended)
        found["comparisons"].append(
            {"arm": arm.name, "compared_to": design.arms[0].name}
            | compared.document(boundary, share, ended)
            | {"verdict": "withheld" if alarm else compared.verdict(boundary)}
        )
    for shown, side in zip(found["arms"], sides, strict=True):
        shown |= _primary_of(design.primary, side)
    return found


def made(stored: Mapping[str, Any], design: ExperimentDesign) -> MadeLook:
    """What a stored look leaves for the next one."""
    found, ratio = stored["comparisons"], stored.get("sample_ratio")
    # A look that could not be made has no ratio.
    alarm = ratio is not None and ratio["alarm"]
    if not found:
        nothing = len(design.arms) - 1
        return MadeLook(alarm=alarm, shares=(0.0,) * nothing, decided=(None,) * nothing)
    return MadeLook(
        alarm=alarm,
        shares=tuple(each["information_share"] for each in found),
        decided=tuple(each if _arm_is_decided(each, design) else None for each in found),
    )


def is_decided(stored: Mapping[str, Any], design: ExperimentDesign) -> bool:
    """Whether no look follows: each arm was found to differ, or has all the information that looks were planned for."""
    found = stored["comparisons"]
    return stored["ended"] or (bool(found) and all(_arm_is_decided(each, design) for each in found))


def _arm_is_decided(found: Mapping[str, Any], design: ExperimentDesign) -> bool:
    # Planned looks end with the planned information; what holds at any time goes on for all days.
    all_spent = design.looks is Looks.PLANNED and found["information_share"] >= 1
    return all_spent or found["verdict"] in ("higher", "lower")


def planned_information(design: ExperimentDesign, estimator: LinearEstimator) -> list[float]:
    """1/Var(difference) of each arm against the first at the planned end, from the plan and the pinned terms alone.

    Raises InvalidValue where the plan has no such query.
    """
    workload = estimator.workload
    query = _query_of(design.primary, workload)
    low, high = workload.operator.entry_range()
    noise = float(estimator.law.profile().variance[query])
    noise += (design.spread * float((high - low)[query])) ** 2
    shares = [arm.weight / sum(each.weight for each in design.arms) for arm in design.arms]
    return [design.users / (noise * (1 / shares[0] + 1 / share)) for share in shares[1:]]


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

    def ends(self, boundary: float) -> tuple[float, float]:
        if not math.isfinite(boundary):
            return -math.inf, math.inf
        low, high = self.found.mean.population_interval(boundary)[0].tolist()
        return low, high

    def verdict(self, boundary: float) -> Verdict:
        return verdict_of(*self.ends(boundary))

    def document(self, boundary: float, share: float, ended: bool) -> dict[str, Any]:
        low, high = self.ends(boundary)
        shown = math.isfinite(boundary)
        early = not ended and share < 1 and self.verdict(boundary) != "undecided"
        return {
            "value": float(self.found.value[0]),
            "standard_error": self.error,
            "information_share": share,
            "boundary": boundary if shown else None,
            "lower": low if shown else None,
            "upper": high if shown else None,
            "lift": self._lift(boundary) if shown else None,
            "note": OVERSTATED if early else None,
            "warnings": [each for each in self.found.warnings if each != DIFFERENT_PEOPLE],
        }

    def _lift(self, boundary: float) -> dict[str, Any]:
        """θ_B/θ_A − 1 and where it is, by Fieller; a base that may be 0 leaves no interval."""
        base, other = float(self.found.left[0]), float(self.found.right[0])
        variances = [weight**2 * float(part.noise[0] + part.drawn[0]) for weight, part in self.found.mean.parts]
        errors = JointErrors(numerator=variances[-1], covariance=0.0, denominator=variances[0])
        held = fieller_set(other, base, errors, boundary)
        bounded = held.shape == "interval"
        return {
            "value": other / base - 1 if base else None,
            "shape": held.shape,
            "lower": held.low - 1 if bounded else None,
            "upper": held.high - 1 if bounded else None,
        }


def _query_of(primary: str, workload: Workload) -> int:
    queries = queries_by_label(workload)
    if primary not in queries:
        raise InvalidValue(f"the plan has no query {primary!r}: name one of its labels", primary)
    return queries[primary]


def _of_primary(primary: str, first: Side, other: Side) -> _Compared:
    return _Compared(difference(first, other, only=[primary], population=True))


def _primary_of(primary: str, side: Side) -> dict[str, float]:
    query = _query_of(primary, side.workload)
    value = sum(weight * float(part.answers[query]) for weight, part in side.parts)
    variance = sum(weight**2 * float(part.noise[query] + part.drawn[query]) for weight, part in side.parts)
    return {"value": value, "sum": value * side.users, "standard_error": float(np.sqrt(variance))}
