"""An experiment in a notebook: its design, its power, its looks, and simulations on users whose values are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sordino_analysis.analyst.arguments import MAPPING, NUMBER, TEXT, WHOLE, takes
from sordino_analysis.analyst.comparisons import EstimateComparison, asked_side_of
from sordino_analysis.analyst.estimates import PLAN, estimate
from sordino_analysis.analyst.plans import Plan
from sordino_analysis.analyst.simulated_experiments import ExperimentUsers, SimulatedExperiments
from sordino_analysis.analyst.users import Values, codes_of
from sordino_analysis.comparisons.measures import compared_arms
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.experiments.always import Contributions, PlannedContributions
from sordino_analysis.experiments.findings import finding_of
from sordino_analysis.experiments.looking import ExperimentDesign, look, made, planned_noise, planned_random, query_of
from sordino_analysis.experiments.looks import Looks
from sordino_analysis.experiments.power import PowerTerms
from sordino_analysis.experiments.sample_ratio import sample_ratio
from sordino_analysis.request_terms import MOST_LEVEL
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Arm

# Weights of arms on the wire, which a design needs no more exactly than that.
_WHOLE = 1 << 16
# What the commands take, too: one true difference of five is missed, and a month has all days of the week.
_USUAL_POWER, _USUAL_DAYS = 0.8, 30
# The chance of an alarm of .05 is then known to ± .007.
_USUAL_RUNS = 1000
# As a server pins at most: a year.
_MOST_DAYS = 366


@dataclass(frozen=True)
class Looked:
    """The looks at an experiment by day, each as a server stores it, and the one sentence that they allow."""

    looks: tuple[Mapping[str, Any], ...]
    finding: str

    def __str__(self) -> str:
        return self.finding


@dataclass(frozen=True, eq=False)
class Experiment:
    """How the arms of a plan's campaign are compared: `design` is pinned before the first report."""

    plan: Plan
    design: ExperimentDesign

    def users(self, difference: float, power: float = _USUAL_POWER) -> int:
        """Users in all arms that find a `difference`, in units of the primary metric, with chance `power`."""
        return self._power(power).users(_number(difference, "difference"), self.design.looks, self.design.days)

    def difference(self, days: int, power: float = _USUAL_POWER) -> float:
        """The least difference that an experiment of so many days finds with chance `power`, in its units.

        Raises InvalidValue for fewer days than 1 and more than are planned.
        """
        if not 1 <= _number(days, "days") <= self.design.days:
            raise InvalidValue(f"days lie between 1 and {self.design.days}, not {days}", days)
        users = self.design.users * int(days) // self.design.days
        return self._power(power).difference(users, self.design.looks, int(days))

    def look(self, aggregates: Sequence[Sequence[Aggregate]]) -> Looked:
        """The looks after each day: `aggregates` (days, arms) are of all reports up to the end of the day.

        The last of `days` looks is at the pinned end. An arm that was decided keeps its comparison in later looks; a
        server makes none once all are. Raises InvalidValue for another number of arms, and more days than were planned.
        """
        days = list(aggregates) if isinstance(aggregates, Sequence) else []
        if not (0 < len(days) <= self.design.days and all(self._are_sums(each) for each in days)):
            raise InvalidValue(
                f"give 1 to {self.design.days} days, each with the sums of {len(self.design.arms)} arms", aggregates
            )
        found: list[dict[str, Any]] = []
        for day, sums in enumerate(days, 1):
            before = [made(each, self.design) for each in found]
            ended = day == self.design.days
            found.append(
                {"day": day}
                | look(
                    self.design,
                    self.plan.device,
                    self.plan.analyst,
                    sums,
                    before,
                    ended=ended,
                    blanket=self._blanket,
                )
            )
        return Looked(tuple(found), finding_of(found, self.design.looks, self.design.days))

    def compare(
        self,
        aggregates: Sequence[Aggregate],
        right: str,
        left: str | None = None,
        *,
        only: Sequence[str] | None = None,
        distribution: str | None = None,
    ) -> EstimateComparison:
        """All answers of the arm `right` less those of `left`, the first arm, at the experiment's level.

        `aggregates` (arms,) are of all reports of each arm at the end; the band holds all arms less the left one at
        once. What is compared is as in `compare`. It is no look: the primary query is decided by `look`. Verdicts are
        withheld where the counts of the arms contradict their weights, which true ones do once in 1,000. Raises
        InvalidValue for an arm that there is not, and for aggregates that are not one for each arm.
        """
        names = [arm.name for arm in self.design.arms]
        base = names[0] if left is None else left
        for name in (right, base):
            if name not in names:
                raise InvalidValue(f"there is no arm {name!r}: the arms are {', '.join(names)}", name)
        if base == right:
            raise InvalidValue(f"{right} is the left arm too: compare two arms", right)
        if not self._are_sums(aggregates):
            raise InvalidValue(f"give the sums of {len(names)} arms", aggregates)
        held = {name: each for name, each in zip(names, aggregates, strict=True) if each.count > self._blanket}
        others = [name for name in names if name != base and (name in held or name == right)]
        sides = [
            asked_side_of(
                estimate(self.plan, aggregates[names.index(name)], self.design.level, blanket=self._blanket),
                self.design.level,
                distribution,
            )
            for name in (base, *others)
        ]
        compared = compared_arms(sides[0], sides[1:], only=only)
        counts = [max(0, each.count - self._blanket) for each in aggregates]
        ratio = sample_ratio(counts, [arm.weight for arm in self.design.arms], ended=True)
        return EstimateComparison(compared[others.index(right)], base, right, withheld=ratio.alarm)

    def simulate(
        self, values: Values, *, seed: int, effect: float = 0.0, runs: int = _USUAL_RUNS
    ) -> SimulatedExperiments:
        """So many experiments on users drawn from `values`, as `simulate` takes them: an A/A test without `effect`.

        `effect` is what the metric is higher in all arms but the first, as a share of its scale.
        """
        codes = codes_of(self.plan.domain, values, strict=False)
        users = ExperimentUsers(
            device=self.plan.device,
            analyst=self.plan.analyst,
            codes=codes,
            design=self.design,
            effect=_number(effect, "effect"),
            blanket=self._blanket,
        )
        return users.run(int(_number(runs, "runs")), int(_number(seed, "seed")))

    def _are_sums(self, of_day: object) -> bool:
        sums = list(of_day) if isinstance(of_day, (list, tuple)) else []
        return len(sums) == len(self.design.arms) and all(isinstance(each, Aggregate) for each in sums)

    @property
    def _blanket(self) -> int:
        """Random reports of a shuffler in each arm."""
        return 0 if self.plan.blanket is None else self.plan.blanket.reports

    @cached_property
    def _estimator(self) -> LinearEstimator:
        return LinearEstimator.of(self.plan.device, self.plan.analyst)

    @cached_property
    def _contributions(self) -> PlannedContributions | None:
        design = self.design
        if design.looks is not Looks.ALWAYS:
            return None
        query = query_of(design.primary, self._estimator.workload)
        return PlannedContributions.of(self._estimator, query, design.spread, design.expect)

    @cached_property
    def _noise(self) -> tuple[float, float]:
        """The variance of a user's contribution, and of all random reports of an arm together."""
        estimator = self._estimator
        return planned_noise(self.design, estimator), planned_random(self.design, estimator, self._blanket)

    def _power(self, power: float) -> PowerTerms:
        noise, random = self._noise
        return PowerTerms(
            noise=noise,
            random=random,
            contributions=self._contributions,
            weights=tuple(arm.weight for arm in self.design.arms),
            level=self.design.level,
            power=_number(power, "power"),
        )


@takes(
    plan=PLAN,
    primary=TEXT,
    daily=WHOLE,
    days=WHOLE,
    arms=MAPPING,
    looks=TEXT,
    spread=NUMBER,
    level=NUMBER,
    expect=NUMBER,
)
def experiment(
    plan: Plan,
    primary: str,
    *,
    daily: int,
    days: int = _USUAL_DAYS,
    arms: Mapping[str, float] | None = None,
    looks: str = "planned",
    spread: float = 0.5,
    level: float = 0.95,
    expect: float | None = None,
) -> Experiment:
    """Design an experiment: the query labelled `primary` decides, with `daily` users in all arms for so many `days`.

    `arms` have names and weights, two equal ones where none are named; the first is the base. `looks` is `planned`,
    `end`, `any` or `always`; of a plan behind a shuffler `end`. `spread` is the standard deviation of the users' values
    as a share of the scale. `expect` is for looks `always`: what the answer is expected to be, in its unit; the nearer
    it is to the truth, the fewer users they need, and they hold whatever it is. Raises InvalidValue for what no server
    pins.

    >>> design = experiment(three, "value: ≤ 1", daily=2000)
    >>> design.users(.05)
    28018
    """
    named = {"A": 1.0, "B": 1.0} if arms is None else dict(arms)
    rule = next((each for each in Looks if each.value == looks), None)
    if rule is None:
        raise InvalidValue(f"looks is one of {', '.join(each.value for each in Looks)}, not {looks!r}", looks)
    if plan.blanket is not None and rule is not Looks.END:
        raise InvalidValue("behind a shuffler no report is opened before the end: give looks='end'", looks)
    if daily < 1 or not 1 <= days <= _MOST_DAYS:
        raise InvalidValue("an experiment has 1 to 366 days and a user a day or more", (days, daily))
    if not (0 < spread <= 0.5 and 0 < level <= MOST_LEVEL):
        raise InvalidValue("spread lies between 0 and .5, the level between 0 and 1 − 10⁻⁹", (spread, level))
    design = ExperimentDesign(
        arms=_arms(named),
        primary=primary,
        looks=rule,
        days=int(days),
        users=int(daily) * int(days),
        spread=float(spread),
        level=float(level),
        expect=None if expect is None else float(expect),
    )
    query_of(primary, plan.workload)
    if expect is not None:
        if rule is not Looks.ALWAYS:
            raise InvalidValue("expect goes with looks='always': other looks do not use it", expect)
        Contributions.of(LinearEstimator.of(plan.device, plan.analyst), query_of(primary, plan.workload), float(expect))
    return Experiment(plan, design)


def _arms(named: Mapping[str, float]) -> tuple[Arm, ...]:
    """The arms by their weights, of which devices draw with 16 bits."""
    weights = {name: _number(weight, f"weight of arm {name!r}") for name, weight in named.items()}
    if len(weights) < 2 or len(weights) > 16 or min(weights.values()) <= 0:
        raise InvalidValue("an experiment has 2 to 16 arms, each with a weight above 0", named)
    whole = sum(weights.values())
    return tuple(Arm(name, max(1, min(_WHOLE, round(weight / whole * _WHOLE)))) for name, weight in weights.items())


def _number(value: float, name: str) -> float:
    if not NUMBER.accepts(value):
        raise InvalidValue(f"{name} must be a number, not {value!r}", value)
    return float(value)
