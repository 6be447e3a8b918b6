"""Looks at any time that hold for any number of reports: no normal law, only that contributions are bounded.

Contributions ψ = ±(y − c₀)/w of the reports of two arms, + in the second, 0 in other arms, have the mean
μ = θ_second − θ_first, w being the weight of the report's arm and c₀ fixed beforehand. They lie in a range of length C,
so that exp(λ(Σψ − tμ) − ψ_E(λ)·V̂) with ψ_E(λ) = (−log(1 − Cλ) − Cλ)/C² and V̂ = Σ(ψ − ψ̄)² is a supermartingale for
0 ≤ λ < 1/C, where ψ̄ is known before the report (Fan, Grama and Liu 2015; Howard and others 2021). So is a mean of
several of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp, ndtri

from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_shared.errors import InvalidValue

# The λ's are best where V̂ is so much of what is planned: looks are early and late.
_PLANNED_PARTS = (1.0, 0.5, 0.25, 0.1, 0.05)
# λ's end here, in units of 1/C, where ψ_E is 1.4: it has no bound at 1.
_FURTHEST = 0.9
# Ends are found to this part of the range.
_TOLERANCE = 1e-12


@dataclass(frozen=True)
class ArmSums:
    """Of one arm, from the first report on: how many, the sum of their contributions y, and of the squares."""

    reports: int
    total: float
    squares: float


@dataclass(frozen=True, eq=False)
class Contributions:
    """What each output of a report adds to one answer, `values` (outputs,), and where c₀ is.

    c₀ is the answer that was expected, if one was pinned; else 0 for a share, and the middle of the range for numbers.
    Looks hold for any c₀ that is fixed beforehand, and need fewest reports for the one that is nearest to the truth.
    """

    values: Floats
    centre: float

    @classmethod
    def of(cls, estimator: LinearEstimator, query: int, expect: float | None = None) -> Contributions:
        """Of the query's row, where `expect` is what its answer is expected to be, in its unit.

        Raises InvalidValue for an answer that no users have, and for reports that are no single outputs, whose squares
        sums do not tell.
        """
        outputs = estimator.device.randomizer.accumulator_size
        if for_randomizer(estimator.device.randomizer).counted_outputs != outputs:
            raise InvalidValue(
                "looks that hold always need reports that are counted one by one, and those of "
                f"{estimator.analyst.mechanism} are not: take looks `any`, or plan with randomized_response"
            )
        values = [float(estimator.law.decode(output)[query]) for output in np.eye(outputs)]
        low, high = (float(end[query]) for end in estimator.workload.operator.entry_range())
        if expect is None:
            return cls(np.array(values), 0.0 if (low, high) == (0.0, 1.0) else (low + high) / 2)
        if not low <= expect <= high:
            raise InvalidValue(f"the expected answer lies between {low:g} and {high:g}, not {expect:g}", expect)
        return cls(np.array(values), expect)

    def sums_of(self, aggregate: Aggregate) -> ArmSums:
        """Of the reports of one arm."""
        counts = aggregate.sums.astype(float)
        return ArmSums(aggregate.count, float(counts @ self.values), float(counts @ self.values**2))


@dataclass(frozen=True, kw_only=True)
class PlannedContributions:
    """Contributions before launch: they lie in `low` … `high`, and their mean at most `far` from c₀ = `centre`."""

    low: float
    high: float
    centre: float
    far: float

    @classmethod
    def of(
        cls, estimator: LinearEstimator, query: int, spread: float, expect: float | None = None
    ) -> PlannedContributions:
        """Of users whose values have the standard deviation `spread`, as a share of the scale, and the mean `expect`.

        Values on a scale of length 1 with that deviation have a mean within √(1/4 − spread²) of its middle; that is
        what is planned for where no mean is expected. Raises InvalidValue as `Contributions.of` does.
        """
        own = Contributions.of(estimator, query, expect)
        least, most = (float(end[query]) for end in estimator.workload.operator.entry_range())
        off = (most - least) * math.sqrt(max(0.25 - spread**2, 0.0))
        return cls(
            low=float(own.values.min()),
            high=float(own.values.max()),
            centre=own.centre,
            far=abs((least + most) / 2 - own.centre) + off if expect is None else 0.0,
        )

    def over(self, scale: float) -> PlannedContributions:
        """As shares of a scale of this length."""
        return PlannedContributions(
            low=self.low / scale, high=self.high / scale, centre=self.centre / scale, far=self.far / scale
        )

    def found(self, users: float, noise: float, weights: tuple[float, float], level: float, power: float) -> float:
        """The least difference that one look at so many users finds with chance `power`.

        `noise` is the variance of a contribution to which its mean adds at most far² in E(y − c₀)²; `weights` (2,) are
        those of the two arms as shares of all devices. ψ̄ is normal, as in every prediction of power.
        """
        both = sum(1 / weight for weight in weights)
        rule = AlwaysValid(
            weights=weights,
            low=self.low,
            high=self.high,
            centre=self.centre,
            variance=users * noise * both,
            level=level,
        )
        squares = (noise + self.far**2) * both
        return rule.reach(users * squares, users) + float(ndtri(power)) * math.sqrt(squares / users)


@dataclass(frozen=True, kw_only=True)
class AlwaysValid:
    """Two arms with the `weights` (2,) as shares of all devices, whose contributions y lie in `low` … `high`.

    `centre` is c₀, `variance` the planned one of Σψ at the end. Raises InvalidValue for a level that is none.
    """

    weights: tuple[float, float]
    low: float
    high: float
    centre: float
    variance: float
    level: float

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise InvalidValue(f"the level must lie between 0 and 1, such as .95, got {self.level}", self.level)

    @property
    def length(self) -> float:
        """C: the length of the range of ψ."""
        first, second = self.weights
        below, above = self.low - self.centre, self.high - self.centre
        return max(above / second, -below / first, 0.0) - min(below / second, -above / first, 0.0)

    @property
    def rates(self) -> Floats:
        """(5,) the λ's."""
        best = np.sqrt(2 * math.log(2 / (1 - self.level)) / (self.variance * np.array(_PLANNED_PARTS)))
        return np.asarray(np.minimum(best, _FURTHEST / self.length))

    def log_wealth(self, excess: Floats | float, variation: Floats | float) -> Floats:
        """(…,) log of the mean over λ's, for `excess` Σψ − tμ (…,) and V̂ (…,) of any one shape, also floats.

        μ is refused from log(2/α) on.
        """
        scaled = self.length * self.rates
        costs = (-np.log1p(-scaled) - scaled) / self.length**2
        exponents = np.multiply.outer(self.rates, excess) - np.multiply.outer(costs, variation)
        return np.asarray(logsumexp(exponents, axis=0) - math.log(len(scaled)))

    def sum_of(self, first: ArmSums, second: ArmSums) -> float:
        """Σψ."""
        return sum(
            sign * (arm.total - self.centre * arm.reports) / weight
            for sign, arm, weight in zip((-1, 1), (first, second), self.weights, strict=True)
        )

    def squares_of(self, first: ArmSums, second: ArmSums) -> float:
        """Σψ²."""
        return sum(
            (arm.squares - 2 * self.centre * arm.total + self.centre**2 * arm.reports) / weight**2
            for arm, weight in zip((first, second), self.weights, strict=True)
        )

    def interval(self, looks: Sequence[tuple[int, ArmSums, ArmSums]]) -> tuple[float, float]:
        """Which differences no look up to the last one refuses by what it knows: the ends at the last look.

        `looks` have the reports of all arms so far, and the sums of both: ψ̄ of a report is the mean at the look
        before it, since the reports between two looks have no order; at the first look it is 0.
        """
        if not looks or not looks[-1][0]:
            return -math.inf, math.inf
        reports, first, second = looks[-1]
        mean, reach = self.sum_of(first, second) / reports, self.reach(self.variation(looks), reports)
        return mean - reach, mean + reach

    def variation(self, looks: Sequence[tuple[int, ArmSums, ArmSums]]) -> float:
        """V̂ at the last look."""
        gone, total, squares, variation = 0, 0.0, 0.0, 0.0
        for reports, first, second in looks:
            mean = total / gone if gone else 0.0
            added, own = self.sum_of(first, second) - total, self.squares_of(first, second) - squares
            variation += own - 2 * mean * added + mean**2 * (reports - gone)
            gone, total, squares = reports, total + added, squares + own
        return variation

    def reach(self, variation: float, reports: float) -> float:
        """How far from ψ̄ the first refused μ is, with this V̂: the same on both sides."""
        limit = math.log(2 / (1 - self.level))

        def short(distance: float) -> float:
            return float(self.log_wealth(reports * distance, variation)) - limit

        far = self.length
        while short(far) < 0:
            far *= 2
        return float(brentq(short, 0.0, far, xtol=_TOLERANCE * self.length))
