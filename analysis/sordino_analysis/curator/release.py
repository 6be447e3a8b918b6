"""The release of a plan: noisy measurements of the counts, decoded into answers with their errors.

Only `measure` reads the counts. Everything after it is computed from what it returns, so it costs no privacy.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.curator.laws import NoiseLaw
from sordino_analysis.curator.noise import CuratorNoise, Integers
from sordino_analysis.curator.plan import CuratorPlan
from sordino_analysis.curator.strategy import MAX_PEOPLE, Nearest
from sordino_analysis.estimation.band import BandQuantile
from sordino_analysis.estimation.intervals import normal_quantile
from sordino_analysis.estimation.linear_estimate import AnswerErrors, LinearEstimate, Reliability
from sordino_analysis.estimation.sampling import SampledAnswers
from sordino_analysis.estimation.score_interval import VarianceCurve
from sordino_analysis.questions.linear import Workload
from sordino_shared.errors import InvalidValue


class MeasuredPlan(Protocol):
    """A plan that says what is measured, with which noise."""

    @property
    def workload(self) -> Workload:
        """What is asked."""

    @property
    def law(self) -> NoiseLaw:
        """The noise on what is measured."""

    def exact(self, counts: Integers) -> Integers:
        """(k,) → (r,) what is measured of these counts, before noise."""


def release(plan: CuratorPlan, counts: Integers, noise: CuratorNoise, level: float = 0.95) -> LinearEstimate:
    """Answers about the people counted, in shares of them: `measure`, then `released_estimate`.

    `counts` (k,) has the people of each type, in the order of the domain's cells. Raises InvalidValue as those do.
    """
    measured = measure(plan, counts, noise)
    return released_estimate(plan, measured, int(counts.sum()), level)


def measure(plan: MeasuredPlan, counts: Integers, noise: CuratorNoise) -> Integers:
    """R̂·counts and noise of the plan's law, which keeps the plan's guarantee between its neighbours; (k,) → (r,).

    Raises InvalidValue for counts of another shape, that are not whole numbers of at least 0, or that pass 2³² people.
    Errors hold no count.
    """
    _check_counts(plan.workload, counts)
    return np.asarray(plan.exact(counts) + plan.law.drawn(noise))


def released_estimate(plan: CuratorPlan, measured: Integers, users: int, level: float = 0.95) -> LinearEstimate:
    """Unbiased answers of a measurement (r,) with their exact standard errors, the nearest true ones, and intervals.

    Raises InvalidValue for fewer than one user, a measurement of another plan, or a level outside (0, 1).
    """
    strategy, workload = plan.strategy, plan.workload
    if plan.neighbours != "replace":
        raise InvalidValue("this plan keeps the number of people secret: its release states counts, not shares")
    if users < 1:
        raise InvalidValue("the answers of nobody are not defined: release a data set of at least one row")
    if not 0 < level < 1:
        raise InvalidValue(f"the level of an interval lies between 0 and 1, got {level}", level)
    if measured.shape != (strategy.measured,):
        raise InvalidValue(f"this plan measures {strategy.measured} numbers, not {measured.shape}", measured.shape)
    noisy, noise = measured.astype(float), plan.law.variances()
    answers, variances = _with_known(workload), np.zeros(workload.queries)
    answers[workload.varying_rows] = strategy.decode(noisy) / users + strategy.known_part()
    variances[workload.varying_rows] = strategy.variances_under(noise) / users
    nearest = strategy.nearest(workload, noisy, np.sqrt(noise), users)
    varying, at_once = strategy.quantiles(plan.law, level)
    quantiles = np.full(workload.queries, normal_quantile(level))
    quantiles[workload.varying_rows] = varying
    return _errors(workload, variances, nearest, users, level, quantiles).estimate(
        answers,
        nearest.answers,
        Reliability((None,) * workload.queries, BandQuantile(at_once, holds=True)),
        nearest.warnings,
        counts_as_unbiased=True,
    )


def _errors(
    workload: Workload, variances: Floats, nearest: Nearest, users: int, level: float, quantiles: Floats
) -> AnswerErrors:
    """The variance of the noise is the same for every data set, so its curve is level."""
    low, high = workload.operator.entry_range()
    return AnswerErrors(
        variances=variances,
        curve=VarianceCurve(low, high, variances, variances),
        sampled=SampledAnswers(nearest.answers, nearest.squares, low, high),
        zero_one=workload.operator.zero_one,
        shares=workload.operator.shares(),
        bias=0.0,
        users=users,
        level=level,
        quantiles=quantiles,
    )


def _with_known(workload: Workload) -> Floats:
    """(Q,) the answers of constant queries, 0 elsewhere."""
    answers = np.zeros(workload.queries)
    known = np.setdiff1d(np.arange(workload.queries), workload.varying_rows)
    if len(known):
        answers[known] = workload.operator.take(known)[:, 0]
    return answers


def _check_counts(workload: Workload, counts: Integers) -> None:
    if counts.shape != (workload.size,) or counts.dtype.kind not in "iu":
        raise InvalidValue(f"count the people of each of the {workload.size} types, in whole numbers")
    if (counts < 0).any() or sum(map(int, counts)) > MAX_PEOPLE:
        raise InvalidValue("counts are of at least 0 people of a type, and of up to 2^32 together")
