"""`python -m benchmarks.experiments.looks`: false alarms and power of the ways to look at an experiment."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.intervals import normal_quantile
from sordino_analysis.experiments.always import AlwaysValid
from sordino_analysis.experiments.any_time import any_time_quantile
from sordino_analysis.experiments.looks import Looks
from sordino_analysis.experiments.planned_looks import boundaries
from sordino_analysis.experiments.power import needed_drift
from sordino_analysis.experiments.sample_ratio import ALARM, FALSE_ALARMS, sample_ratio

LEVEL = 0.95
_HEAD = "| flow | rule | false alarms | found | mean day | found early | early over true |\n|" + 7 * "---|"


@dataclass(frozen=True, kw_only=True)
class Flow:
    """Experiments of two equal arms on one bit at ε: `daily` reports a day in both, `share` of the users hold the bit.

    `arriving` is the part of the planned reports that comes.
    """

    epsilon: float
    daily: int
    share: float = 0.1
    days: int = 30
    arriving: float = 1.0

    @property
    def variance(self) -> float:
        """Of one report's contribution: what the plan pins."""
        told = self.told(self.share)
        return told * (1 - told) / self.gain**2

    @property
    def gain(self) -> float:
        """How far the share of a report moves with that of the users."""
        return math.tanh(self.epsilon / 2)

    def told(self, share: float) -> float:
        """The share of reports that say 1 where this share of the users holds the bit."""
        return 0.5 + self.gain * (share - 0.5)

    @property
    def detectable(self) -> float:
        """The difference that one look on the last day finds with a power of .8."""
        return needed_drift(Looks.END, 1, LEVEL, 0.8) * math.sqrt(4 * self.variance / (self.daily * self.days))

    def draw(self, experiments: int, difference: float, seed: int) -> tuple[Floats, Floats, Floats]:
        """(experiments, days) differences, their standard errors, and shares of the planned information."""
        generator = np.random.default_rng(seed)
        reports = int(self.daily / 2 * self.arriving)
        held = np.arange(1, self.days + 1) * reports
        means = [
            generator.binomial(reports, self.told(self.share + added), (experiments, self.days)).cumsum(axis=1) / held
            for added in (0.0, difference)
        ]
        squares = sum(told * (1 - told) for told in means) / held / self.gain**2
        planned = 4 * self.variance / (self.daily * self.days)
        return (means[1] - means[0]) / self.gain, np.sqrt(squares), planned / squares


@dataclass(frozen=True)
class Outcome:
    """Of many experiments: the part that was found to differ, the mean day it stops, and what it then overstates.

    `early` is the part of those found that stop in the first half, `exaggeration` their mean difference over the true.
    """

    found: float
    day: float
    early: float
    exaggeration: float


def stopped(crossed: np.ndarray, differences: Floats, difference: float) -> Outcome:
    """`crossed` (experiments, days) are the looks beyond the boundary."""
    days = crossed.shape[1]
    found, first = crossed.any(axis=1), crossed.argmax(axis=1)
    value = np.abs(differences[np.arange(len(first)), first])
    soon = found & (first < days / 2)
    day = np.where(found, first + 1, days).mean()
    early = soon.sum() / max(1, found.sum())
    exaggeration = value[soon].mean() / difference if soon.any() and difference else math.nan
    return Outcome(float(found.mean()), float(day), float(early), float(exaggeration))


def naive(flow: Flow, differences: Floats, errors: Floats, shares: Floats) -> np.ndarray:
    """± 1.96 every day."""
    return np.abs(differences) >= normal_quantile(LEVEL) * errors


def one_look(flow: Flow, differences: Floats, errors: Floats, shares: Floats) -> np.ndarray:
    """± 1.96 on the last day."""
    return naive(flow, differences, errors, shares) & (np.arange(flow.days) == flow.days - 1)


def planned(flow: Flow, differences: Floats, errors: Floats, shares: Floats) -> np.ndarray:
    """Planned looks, the boundaries of each experiment from its own information."""
    bounds = np.array([boundaries(own.tolist(), LEVEL, ended=True) for own in shares])
    return np.abs(differences) >= bounds * errors


def planned_by_counts(flow: Flow, differences: Floats, errors: Floats, shares: Floats) -> np.ndarray:
    """Planned looks whose shares are those of the reports: the same boundaries for all experiments, so quick."""
    bounds = boundaries((np.arange(1, flow.days + 1) / flow.days * flow.arriving).tolist(), LEVEL, ended=True)
    return np.abs(differences) >= bounds * errors


def any_time(flow: Flow, differences: Floats, errors: Floats, shares: Floats) -> np.ndarray:
    """Any time, by the normal mixture."""
    bounds = np.array([[any_time_quantile(share, LEVEL) for share in own] for own in shares])
    return np.abs(differences) >= bounds * errors


def always(flow: Flow, difference: float, experiments: int, seed: int) -> Outcome:
    """Looks that hold for any number of reports, c₀ = 0; each report draws its arm, which such looks count on."""
    generator = np.random.default_rng(seed)
    low, high = (0.5 + side / 2 / flow.gain for side in (-1, 1))
    daily, days = int(flow.daily * flow.arriving), np.arange(1, flow.days + 1)
    second = generator.binomial(daily, 0.5, (experiments, flow.days))
    arms = [(daily - second, 0.0), (second, difference)]
    told = [generator.binomial(reports, flow.told(flow.share + added)) for reports, added in arms]
    sums, squares = np.zeros(second.shape), np.zeros(second.shape)
    for sign, (reports, _), ones in zip((-1, 1), arms, told, strict=True):
        sums += 2 * sign * (ones * high + (reports - ones) * low)
        squares += 4 * (ones * high**2 + (reports - ones) * low**2)
    total = sums.cumsum(axis=1)
    means = np.hstack([np.zeros((experiments, 1)), (total / (daily * days))[:, :-1]])
    variation = (squares - 2 * means * sums + means**2 * daily).cumsum(axis=1)
    rule = AlwaysValid(
        weights=(0.5, 0.5),
        low=low,
        high=high,
        centre=0.0,
        level=LEVEL,
        variance=4 * flow.variance * flow.daily * flow.days,
    )
    wealth = np.maximum(rule.log_wealth(total, variation), rule.log_wealth(-total, variation))
    return stopped(wealth >= math.log(2 / (1 - LEVEL)), total / (daily * days), difference)


RULES = {"± 1.96 every day": naive, "one look": one_look, "planned looks": planned, "any time": any_time}
FIRST_FLOW = Flow(epsilon=1, daily=2000)
FLOWS = {
    "ε = 1, 2,000 a day": FIRST_FLOW,
    "ε = 4, 400 a day": Flow(epsilon=4, daily=400),
    "half arrives": Flow(epsilon=1, daily=2000, arriving=0.5),
    "twice arrives": Flow(epsilon=1, daily=2000, arriving=2.0),
}


def ratio_alarms(split: float, experiments: int, daily: int = 2000, days: int = 30, seed: int = 3) -> tuple[float, ...]:
    """Parts of experiments that the running check, one at the end and one every day at .001 alarm in."""
    generator = np.random.default_rng(seed)
    first = generator.binomial(daily, split, (experiments, days)).cumsum(axis=1)
    total = daily * np.arange(1, days + 1)
    counts = [[(int(a), int(n - a)) for a, n in zip(own, total, strict=True)] for own in first]
    factors = np.array([[sample_ratio(each, (1, 1), ended=False).factor for each in own] for own in counts])
    scores = np.abs(first - total / 2) / np.sqrt(total / 4)
    limit = normal_quantile(1 - FALSE_ALARMS)
    alarms = (factors >= ALARM).any(axis=1), scores[:, -1] > limit, (scores > limit).any(axis=1)
    return tuple(float(alarm.mean()) for alarm in alarms)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print both tables as Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.experiments.looks", description=__doc__)
    parser.add_argument("--experiments", type=int, default=10_000)
    count = parser.parse_args(arguments).experiments
    print(_HEAD)
    for named, flow in FLOWS.items():
        nulls, true = flow.draw(count, 0.0, 1), flow.draw(count, flow.detectable, 2)
        for name, rule in RULES.items():
            false = stopped(rule(flow, *nulls), nulls[0], 0.0)
            found = stopped(rule(flow, *true), true[0], flow.detectable)
            told = f"{found.day:.1f} | {found.early:.2f} | {found.exaggeration:.2f}"
            print(f"| {named} | {name} | {false.found:.3f} | {found.found:.2f} | {told} |", flush=True)
        false, found = always(flow, 0.0, count, 1), always(flow, flow.detectable, count, 2)
        told = f"{found.day:.1f} | {found.early:.2f} | {found.exaggeration:.2f}"
        print(f"| {named} | always | {false.found:.3f} | {found.found:.2f} | {told} |", flush=True)
    print("\n| split | running | once at the end | every day at .001 |\n|---|---|---|---|")
    for split in (0.5, 0.51, 0.52):
        print(
            f"| {100 * split:.0f} : {100 - 100 * split:.0f} | "
            + " | ".join(f"{x:.4f}" for x in ratio_alarms(split, count))
            + " |"
        )


if __name__ == "__main__":
    main()
