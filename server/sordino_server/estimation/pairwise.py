"""Quadratic forms from decoded reports: U-statistics, their standard errors and intervals."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class StatisticEstimate:
    """A statistic of pairs with its interval.

    `value` and the interval are about the users who reported, `population_…` about the population they are an
    independent sample of. `forms` has each quadratic form's name and value, `users` the reports counted in each round.
    `unbiased` tells whether the estimator is unbiased at this n (else it is consistent), `clipped` what was clipped, in
    words, or None.
    """

    value: float
    standard_error: float
    lower: float
    upper: float
    population_standard_error: float
    population_lower: float
    population_upper: float
    level: float
    target: str
    protocol: str
    users: tuple[int, ...]
    forms: tuple[tuple[str, float], ...]
    unbiased: bool
    clipped: str | None
    warnings: tuple[str, ...]
