"""Simulated experiments on users whose values are known: how often a rule finds a difference that is or is not there.

With an effect of 0 all arms are alike (an A/A test): what is found is a false alarm.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.estimation.intervals import normal_quantile
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.experiments.looking import ExperimentDesign, MadeLook, is_decided, look, made, query_of
from sordino_analysis.figures import chosen, figure
from sordino_analysis.kinds.true_measures import measures_of, true_measures
from sordino_analysis.progress import Progress, ProgressCallback, ignore_progress
from sordino_analysis.questions.linear.numbers.places import NumberPlace
from sordino_analysis.vectorized.randomizers import draw_blanket, randomize_part
from sordino_analysis.vectorized.randomness import SeededRandomness, uniform_below, uniform_bits
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import DevicePart
from sordino_shared.quantities import quantity

# What people look at on every day, and no rule allows.
_NAIVE = normal_quantile(0.95)


@dataclass(frozen=True, kw_only=True)
class SimulatedExperiments:
    """Of so many `runs` on how many the rule found a difference, and how many ± 1.96 on every day does.

    `days` (found,) are those on which the rule stopped, `alarms` how many the sample ratio stopped, although it is
    right in all. `effect` is the true difference as a share of the scale.
    """

    runs: int
    effect: float
    days: tuple[int, ...]
    naive: int
    alarms: int

    @property
    def found(self) -> int:
        """In how many runs the rule found a difference: false alarms where there is none."""
        return len(self.days)

    def __str__(self) -> str:
        what = "false alarms" if self.effect == 0 else "differences found"
        lines = [
            f"{quantity(self.runs, 'experiment')}: {self.found:,} {what} by the rule, {self.naive:,} by ± 1.96 a day",
            f"the sample ratio stopped {self.alarms:,}",
        ]
        if self.days:
            lines.append(f"the rule stopped on day {figure(float(np.mean(self.days)), 3)} on average of those")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False, kw_only=True)
class ExperimentUsers:
    """Rows of users as (n, attributes) `codes`; each day some are drawn with replacement, each with an arm of its own.

    `effect` is what the metric of all arms but the first is higher, as a share of its scale: so many of their users
    hold the value for which it is largest, or least. Behind a shuffler each arm has `blanket` random reports, and all
    are opened on the last day.
    """

    device: DevicePart
    analyst: AnalystPart
    codes: NDArray[np.uint64]
    design: ExperimentDesign
    effect: float = 0.0
    blanket: int = 0

    def run(self, runs: int, seed: int, progress: ProgressCallback = ignore_progress) -> SimulatedExperiments:
        """So many experiments from launch to verdict; raises InvalidValue for an effect that the values cannot have."""
        daily = self.design.users // self.design.days
        if runs < 1 or daily < 1:
            raise InvalidValue("simulate one experiment or more, with a user a day or more", runs)
        moved = self._moved_share()
        outcomes = []
        for number, each in enumerate(np.random.SeedSequence(seed).spawn(runs)):
            randomness = SeededRandomness(int(each.generate_state(1, np.uint64)[0]))
            outcomes.append(self._one(randomness, daily, moved))
            progress(Progress((number + 1) / runs, f"experiment {number + 1} of {runs}"))
        return SimulatedExperiments(
            runs=runs,
            effect=self.effect,
            days=tuple(each.day for each in outcomes if each.day is not None),
            naive=sum(each.naive for each in outcomes),
            alarms=sum(each.alarm for each in outcomes),
        )

    def _one(self, randomness: SeededRandomness, daily: int, moved: float) -> _Outcome:
        design, naive = self.design, False
        before: list[MadeLook] = []
        sums = [self._random(randomness) for _ in design.arms]
        weights = [arm.weight for arm in design.arms]
        ends = np.cumsum(np.array(weights, dtype=np.uint64) * np.uint64((1 << 32) // sum(weights)))
        for day in range(1, design.days + 1):
            rows = self.codes[uniform_below(randomness, len(self.codes), daily)]
            arms = np.searchsorted(ends[:-1], uniform_bits(randomness, 32, daily), side="right")
            for place in range(len(sums)):
                own = rows[arms == place]
                if place:
                    own = self._moved(own, moved, randomness)
                sums[place] += self._reported(own, randomness)
            if self.blanket and day < design.days:
                continue
            found = look(
                design, self.device, self.analyst, sums, before, ended=day == design.days, blanket=self.blanket
            )
            before.append(made(found, design))
            compared = found["comparisons"]
            naive = naive or any(abs(each["value"]) >= _NAIVE * each["standard_error"] for each in compared)
            if any(each["verdict"] in ("higher", "lower") for each in compared):
                return _Outcome(day, naive, False)
            if is_decided(found, design):
                break
        return _Outcome(None, naive, before[-1].alarm)

    def _random(self, randomness: SeededRandomness) -> Aggregate:
        if not self.blanket:
            return Aggregate.empty(self.device.randomizer)
        payloads = draw_blanket(self.device.randomizer, self.blanket, randomness)
        return Aggregate(self.blanket, accumulate(self.device.randomizer, payloads))

    def _reported(self, codes: NDArray[np.uint64], randomness: SeededRandomness) -> Aggregate:
        if not len(codes):
            return Aggregate.empty(self.device.randomizer)
        payloads = randomize_part(self.device, codes, randomness)
        return Aggregate(len(codes), accumulate(self.device.randomizer, payloads))

    def _moved_share(self) -> float:
        """The share of the other arms' users who hold another value."""
        if self.effect == 0:
            return 0.0
        own, (least, most) = self._metric, self._ends
        room = (most - own) if self.effect > 0 else (own - least)
        share = abs(self.effect) * (most - least) / room if room > 0 else np.inf
        if not share <= 1:
            raise InvalidValue(
                f"the metric of these users cannot be {chosen(self.effect)} of the scale higher in an arm: it is "
                f"{figure((own - least) / (most - least), 3)} of it already",
                self.effect,
            )
        return float(share)

    def _moved(self, codes: NDArray[np.uint64], share: float, randomness: SeededRandomness) -> NDArray[np.uint64]:
        if not share:
            return codes
        chosen = uniform_bits(randomness, 32, len(codes)) < share * 2**32
        return np.where(chosen[:, None], self._extreme(codes), codes)

    def _extreme(self, codes: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The rows with the value for which the metric is largest, or least."""
        if self._number is not None:
            moved = codes.copy()
            moved[:, self._number.place] = self._number.numbers.last if self.effect > 0 else 0
            return moved
        cell = self._row.argmax() if self.effect > 0 else self._row.argmin()
        return np.array(np.unravel_index(cell, self._estimator.workload.domain.shape), dtype=np.uint64)[None, :]

    @cached_property
    def _estimator(self) -> LinearEstimator:
        return LinearEstimator.of(self.device, self.analyst)

    @cached_property
    def _number(self) -> NumberPlace | None:
        """The attribute whose numbers the metric is about, where members are not types themselves."""
        workload = self._estimator.workload
        if not workload.has_units or workload.dithering is None:
            return None
        return next(each.number for each in measures_of(workload).shown if each.label == self.design.primary)

    @cached_property
    def _row(self) -> Floats:
        """(k,) the metric of each type of user."""
        workload = self._estimator.workload
        return np.asarray(workload.operator.take(np.array([query_of(self.design.primary, workload)]))[0])

    @property
    def _ends(self) -> tuple[float, float]:
        return float(self._row.min()), float(self._row.max())

    @property
    def _metric(self) -> float:
        """That of the rows themselves."""
        workload = self._estimator.workload
        if workload.has_units:
            labels = [each.label for each in measures_of(workload).shown]
            return float(true_measures(measures_of(workload), self.codes)[labels.index(self.design.primary)])
        return float(workload.truth_of_codes(self.codes)[query_of(self.design.primary, workload)])


@dataclass(frozen=True)
class _Outcome:
    """The day on which the rule found a difference, if it did; whether ± 1.96 did; whether the sample ratio alarmed."""

    day: int | None
    naive: bool
    alarm: bool
