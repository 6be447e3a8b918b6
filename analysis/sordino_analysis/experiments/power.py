"""Power before launch: users for a difference, and the least difference that users find."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri

from sordino_analysis.arrays import NEARLY_ZERO
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.evaluation.manipulation import largest_moves
from sordino_analysis.evaluation.variance import answer_moments
from sordino_analysis.experiments.always import PlannedContributions
from sordino_analysis.experiments.any_time import any_time_quantile
from sordino_analysis.experiments.looks import Looks
from sordino_analysis.experiments.planned_looks import boundaries, crossing_chances
from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.questions.linear.building import build_workload
from sordino_shared.errors import InvalidValue

# More looks than this change the users by less than a thousandth.
_MOST_LOOKS = 60
# No drift needs more: one look finds ten standard errors with a power of 1 − 10⁻¹⁵.
_MOST_DRIFT = 40.0
# Drifts are found to this: users to one in a million.
_DRIFT_TOLERANCE = 1e-6


@dataclass(frozen=True, kw_only=True)
class PlannedNoise:
    """What a plan's `mechanism` adds: `variance` is that of one report in the worst answer, over its squared scale.

    A share f of fake reports moves an answer by at most `manipulation`·f scales. `query` is the worst answer's number.
    `blanket` random reports of a shuffler in each arm together add `random` to the sum of an answer at most.
    """

    mechanism: str
    variance: float
    manipulation: float
    plan: FinishedPlan
    query: int
    blanket: int = 0
    random: float = 0.0

    @classmethod
    def of_plan(cls, plan: FinishedPlan) -> PlannedNoise:
        """By the exact moments of linear queries; answers that are the same for all users do not count."""
        queries = build_workload(plan.device.domain, plan.analyst.queries, plan.analyst.workload)
        law = answer_moments(plan.device.randomizer, plan.analyst.decoder, queries)
        profile, (low, high) = law.profile(), law.workload.operator.entry_range()
        varying = high > low
        scales = (high - low)[varying]
        moves = largest_moves(
            plan.device.randomizer, plan.analyst.decoder, queries, plan.analyst.figures.bias_bound, law
        )
        variances = profile.variance[varying] / scales**2
        blanket = 0 if plan.analyst.blanket is None else plan.analyst.blanket.reports
        random = blanket * float((law.blanket().variance[varying] / scales**2).max()) if blanket else 0.0
        return cls(
            mechanism=plan.analyst.mechanism,
            variance=float(variances.max()),
            manipulation=float((moves[varying] / scales).max()),
            plan=plan,
            query=int(np.flatnonzero(varying)[variances.argmax()]),
            blanket=blanket,
            random=random,
        )

    def contributions(self, spread: float, expect: float | None = None) -> PlannedContributions:
        """Those to the worst answer as shares of its scale; raises InvalidValue where reports are not counted.

        `expect` is how far along the scale the answer is expected to be, 0 … 1.
        """
        estimator = LinearEstimator.of(self.plan.device, self.plan.analyst)
        low, high = (float(end[self.query]) for end in estimator.workload.operator.entry_range())
        found = PlannedContributions.of(
            estimator, self.query, spread, None if expect is None else low + expect * (high - low)
        )
        return found.over(high - low)


@dataclass(frozen=True, kw_only=True)
class PowerTerms:
    """What is to be found: each arm against the first, with chance `power`, at `level`.

    `noise` is the variance of one user's contribution, of randomization and sampling together, in squared units of
    `difference`; `random` that of all random reports of a shuffler in one arm together. `weights` (arms,) have any sum.
    The level of each comparison is Bonferroni's. `contributions` are for looks that hold always. Raises InvalidValue.
    """

    noise: float
    weights: tuple[int, ...]
    random: float = 0.0
    level: float = 0.95
    power: float = 0.8
    contributions: PlannedContributions | None = None

    def __post_init__(self) -> None:
        for name, value in (("level", self.level), ("power", self.power)):
            if not 0 < value < 1:
                raise InvalidValue(f"the {name} must lie between 0 and 1, such as .8, got {value}", value)
        if len(self.weights) < 2 or min(self.weights) < 1:
            raise InvalidValue("an experiment has two arms or more, each of a weight above 0", self.weights)
        if not (math.isfinite(self.noise) and self.noise >= 0):
            raise InvalidValue(f"the variance of a contribution is 0 or more, got {self.noise}", self.noise)

    @property
    def comparison_level(self) -> float:
        """The level of one comparison, so that all hold at once."""
        return comparison_level(self.level, len(self.weights))

    @property
    def _parts(self) -> tuple[float, float]:
        """a and b of Var(d) = a/n + b/n² in the comparison that needs most users, with n users in all arms.

        An arm of the share w has w·n users: a = noise·(1/w_first + 1/w_least), b = random·(1/w_first² + 1/w_least²).
        """
        shares = np.array(self.weights) / sum(self.weights)
        first, least = float(shares[0]), float(shares[1:].min())
        return self.noise * (1 / first + 1 / least), self.random * (first**-2 + least**-2)

    def users(self, difference: float, looks: Looks = Looks.END, planned: int = 1) -> int:
        """Users in all arms that find `difference` in `planned` looks or one; raises InvalidValue for 0.

        With one look and no random reports n = (z_{1−α/2} + z_power)²·noise·(1/w_first + 1/w_other)/difference².
        """
        if not (math.isfinite(difference) and difference > 0):
            raise InvalidValue(f"the difference must be a number above 0, such as .01, got {difference}", difference)
        if looks is Looks.ALWAYS:
            return self._always_users(difference)
        drift = needed_drift(looks, min(planned, _MOST_LOOKS), self.comparison_level, self.power)
        ratio, (each, random) = (drift / difference) ** 2, self._parts
        # The larger root of n² = ratio·(each·n + random).
        needed = (ratio * each + math.sqrt((ratio * each) ** 2 + 4 * ratio * random)) / 2
        return max(len(self.weights), math.ceil(needed * (1 - NEARLY_ZERO)))

    def difference(self, users: int, looks: Looks = Looks.END, planned: int = 1) -> float:
        """The least difference that so many users in all arms find."""
        if looks is Looks.ALWAYS:
            return self._always_difference(users)
        drift = needed_drift(looks, min(planned, _MOST_LOOKS), self.comparison_level, self.power)
        each, random = self._parts
        return drift * math.sqrt(each / users + random / users**2)

    def _always_users(self, difference: float) -> int:
        """The fewest for which one look at the planned end finds it."""

        def short(users: float) -> float:
            return self._always_difference(math.exp(users)) - difference

        fewest = self.users(difference)
        least = math.log(fewest)
        if short(least) <= 0:
            return fewest
        most = least + 1
        while short(most) > 0:
            most += 1
        return math.ceil(math.exp(brentq(short, least, most, xtol=_DRIFT_TOLERANCE)))

    def _always_difference(self, users: float) -> float:
        if self.contributions is None:
            raise InvalidValue("looks that hold always are sized by the contributions of a plan: give them", None)
        shares = [weight / sum(self.weights) for weight in self.weights]
        pair = shares[0], min(shares[1:])
        return self.contributions.found(users, self.noise, pair, self.comparison_level, self.power)


def error_of_an_arm(difference: float, weights: Sequence[int], level: float, power: float) -> float:
    """The standard error of the smaller arm with which one look finds `difference` with chance `power`.

    δ² = drift²·(e_first² + e_least²) for arms whose errors go with 1/weight; the sampling of users is part of e. In the
    unit of the difference; raises InvalidValue as `PowerTerms` does.
    """
    terms = PowerTerms(noise=0.0, weights=tuple(weights), level=level, power=power)
    parts = [1 / weights[0], 1 / min(weights[1:])]
    return difference / needed_drift(Looks.END, 1, terms.comparison_level, power) * math.sqrt(max(parts) / sum(parts))


def comparison_level(level: float, arms: int) -> float:
    """The level of one arm against the first, so that all comparisons hold at `level` (Bonferroni's inequality)."""
    return 1 - (1 - level) / (arms - 1)


@cache
def needed_drift(looks: Looks, planned: int, level: float, power: float) -> float:
    """The mean of d/se at the planned end that is found with chance `power` in so many looks, evenly spread.

    2.80 for one look at .95 and .8; 2.90 for thirty planned ones, so 7 % more users; 3.88 at any time, as one look at
    the planned end finds it: 1.9 times the users. Looks that hold always have none: they are not about d/se.
    """
    one = float(ndtri((1 + level) / 2))
    if looks is Looks.ANY:
        return any_time_quantile(1.0, level) + float(ndtri(power))
    if looks is Looks.END or planned == 1:
        return one + float(ndtri(power))
    shares = np.arange(1, planned + 1) / planned
    bounds = boundaries(shares.tolist(), level, ended=True)

    def short(drift: float) -> float:
        return power - float(crossing_chances(shares.tolist(), bounds.tolist(), drift)[1].sum())

    return float(brentq(short, 0.0, _MOST_DRIFT, xtol=_DRIFT_TOLERANCE)) if short(0.0) > 0 else 0.0
