"""Answers of a release whose number of people is secret (`add-remove`): counts, since there is nothing to divide by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from sordino_analysis.arrays import Floats
from sordino_analysis.curator.noise import Integers
from sordino_analysis.curator.plan import CuratorPlan
from sordino_analysis.estimation.intervals import normal_quantile, simultaneous_quantile


@dataclass(frozen=True, eq=False, kw_only=True)
class ReleasedCounts:
    """Answers W·counts, arrays (Q,), with intervals and a simultaneous band about the people counted.

    `consistent` are the answers of the nearest counts of at least 0. Errors are the same for every data set.
    """

    unbiased: Floats
    standard_error: Floats
    lower: Floats
    upper: Floats
    band_lower: Floats
    band_upper: Floats
    consistent: Floats


def released_counts(plan: CuratorPlan, measured: Integers, level: float = 0.95) -> ReleasedCounts:
    """The answers that follow from a measurement (r,) of an `add-remove` plan, without bias.

    `consistent` is argmin ‖R̂·people − measurement‖ over people of at least 0: of greatest likelihood.
    """
    strategy, noisy = plan.strategy, measured.astype(float)
    answers, errors = strategy.decoder @ noisy, np.sqrt(strategy.variances(plan.guarantee))
    reach, wide = normal_quantile(level) * errors, simultaneous_quantile(strategy.decoder, level) * errors
    scale = float(np.abs(strategy.rows).max())
    people, _ = nnls(strategy.rows / scale, noisy / scale)
    return ReleasedCounts(
        unbiased=answers,
        standard_error=errors,
        lower=answers - reach,
        upper=answers + reach,
        band_lower=answers - wide,
        band_upper=answers + wide,
        consistent=plan.workload.operator.matvec(people),
    )
