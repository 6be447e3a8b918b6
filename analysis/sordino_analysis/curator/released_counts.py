"""The release where the number of people is secret (`add-remove`): counts, and shares of a number that is noisy too."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.curator.noise import Integers
from sordino_analysis.curator.plan import CuratorPlan
from sordino_shared.errors import InvalidValue


@dataclass(frozen=True, eq=False, kw_only=True)
class ReleasedCounts:
    """Answers W·counts, arrays (Q,), with intervals and a simultaneous band about the people counted.

    `best` are the answers of the nearest counts of at least 0. Errors are the same for every data set. `people`
    is the number of them, without bias; `share_lower` to `share_upper` holds the answer as a share of it.
    """

    unbiased: Floats
    standard_error: Floats
    lower: Floats
    upper: Floats
    band_lower: Floats
    band_upper: Floats
    best: Floats
    share_lower: Floats
    share_upper: Floats
    people: float
    people_standard_error: float

    @property
    def value(self) -> Floats:
        """(Q,) the answers, by the name of their column: no count is cut."""
        return self.unbiased

    @property
    def uncut(self) -> Floats:
        """(Q,) the same."""
        return self.unbiased


def released_counts(plan: CuratorPlan, measured: Integers, level: float = 0.95) -> ReleasedCounts:
    """The answers that follow from a measurement (r,) of an `add-remove` plan, without bias.

    `best` is argmin ‖R̂·people − measurement‖ over people of at least 0: of greatest likelihood. The band is of
    the answers and of the number of people. Raises InvalidValue for a plan with `replace` neighbours, a measurement of
    another plan, or a level outside (0, 1).
    """
    _check(plan, measured, level)
    strategy, noisy = plan.strategy, measured.astype(float)
    noise = plan.law.variances()
    answers, errors = strategy.decode(noisy), np.sqrt(strategy.variances_under(noise))
    quantiles, wide = strategy.quantiles(plan.law, level)
    total, covariances = Measured(answers[-1], errors[-1]), strategy.total_covariances(noise)
    # A ratio is about a further sum of the noise, whose tail is no longer than the longest of these.
    z, longest = quantiles[:-1], float(quantiles.max())
    answers, errors = answers[:-1], errors[:-1]
    low, high = plan.workload.operator.entry_range()
    shares = ratio_interval(Measured(answers, errors), total, covariances, longest)
    return ReleasedCounts(
        unbiased=answers,
        standard_error=errors,
        lower=answers - z * errors,
        upper=answers + z * errors,
        band_lower=answers - wide * errors,
        band_upper=answers + wide * errors,
        best=strategy.nearest_counts(plan.workload, noisy, np.sqrt(noise)),
        share_lower=np.clip(shares[0], low, high),
        share_upper=np.clip(shares[1], low, high),
        people=float(total.value),
        people_standard_error=float(total.error),
    )


@dataclass(frozen=True, eq=False)
class Measured:
    """Unbiased normal numbers and their standard errors, of one shape."""

    value: Floats
    error: Floats


def ratio_interval(answers: Measured, total: Measured, covariances: Floats, z: float) -> tuple[Floats, Floats]:
    """The least and the largest q with |answer − q·total| ≤ z of its standard errors, (Q,) each (Fieller 1954).

    `answers` (Q,), `total` of one number, `covariances` (Q,) of the two. Where the total is within z errors of 0, or
    below, the set is no interval, and the ends are infinite.
    """
    # (total² − z²V_t) q² − 2 (answer·total − z²C) q + answer² − z²V_a ≤ 0.
    lead = total.value**2 - z**2 * total.error**2
    if total.value <= 0 or lead <= 0:
        return np.full_like(answers.value, -np.inf), np.full_like(answers.value, np.inf)
    middle = answers.value * total.value - z**2 * covariances
    root = np.sqrt(np.maximum(middle**2 - lead * (answers.value**2 - z**2 * answers.error**2), 0.0))
    return (middle - root) / lead, (middle + root) / lead


def _check(plan: CuratorPlan, measured: Integers, level: float) -> None:
    if plan.neighbours != "add-remove":
        raise InvalidValue("this plan is for a known number of people: its release states shares of them")
    if not 0 < level < 1:
        raise InvalidValue(f"the level of an interval lies between 0 and 1, got {level}", level)
    if measured.shape != (plan.strategy.measured,):
        raise InvalidValue(f"this plan measures {plan.strategy.measured} numbers, not {measured.shape}", measured.shape)
