"""Quadratic forms from decoded reports: U-statistics, their standard errors and intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.pairwise.decoded_reports import DecodedReports
from sordino_analysis.pairwise.quadratic_error import QuadraticError
from sordino_analysis.questions.pairwise import PairwiseStatistic
from sordino_shared.errors import InvalidValue

# 95 %, for the interval of a denominator too.
LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class PairwiseEstimate:
    """A statistic of pairs with its interval.

    `value` and the interval are about the users who reported, `population_…` about the population they are an
    independent sample of. `forms` has each quadratic form's name and value, `users` the reports counted in each round.
    `bias_bound` is what no bias at this n exceeds, None where the estimator is consistent and no more is known;
    `clipped` is what was clipped, in words, or None.
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
    bias_bound: float | None
    clipped: str | None
    warnings: tuple[str, ...]

    @property
    def unbiased(self) -> bool:
        """Whether the estimator is unbiased at this n."""
        return self.bias_bound == 0


class NoStatistic(InvalidValue):
    """The reports allow no value of the statistic; the message says why, with the interval where there is one."""


@dataclass(frozen=True, eq=False)
class LinearisedForm:
    """The statistic near the forms' values: `values` u (J,), g(u), and W_θ = Σ_j ∂g/∂u_j W_j.

    For target "histogram" u_j is hᵀW_jh = ((n − 1)·(mean over pairs) + diag(W_j)ᵀh)/n.
    """

    values: Floats
    value: float
    matrix: Floats


def linearised(
    statistic: PairwiseStatistic, reports: DecodedReports, target: str, level: float = LEVEL, users: int | None = None
) -> LinearisedForm:
    """g(u) and its linear form, from one round; raises NoStatistic for a denominator that may be zero.

    `users` is n, where the statistic is of more users than those of the round.
    """
    if reports.users < 2:
        raise NoStatistic(f"a statistic of pairs needs at least two reports, got {reports.users}", reports.users)
    users = users or reports.users
    values = np.array([form_value(form.matrix, reports, target, users) for form in statistic.forms])
    for index in statistic.denominators:
        _check_denominator(statistic, index, values[index], reports, level)
    return LinearisedForm(values, statistic.combine(values), linear_form(statistic, values))


def linear_form(statistic: PairwiseStatistic, values: Floats) -> Floats:
    """W_θ = Σ_j ∂g/∂u_j W_j (k, k): an error of the forms moves g as it moves this one form, to first order."""
    slopes = statistic.gradient(values)
    return np.asarray(sum(slope * form.matrix for slope, form in zip(slopes, statistic.forms, strict=True)))


def form_value(matrix: Floats, reports: DecodedReports, target: str, users: int) -> float:
    """The form's value for the target over n `users`, unbiased."""
    pairs = reports.form(matrix)
    return pairs if target == "pairs" else ((users - 1) * pairs + own_pairs(matrix, reports)) / users


def own_pairs(matrix: Floats, reports: DecodedReports) -> float:
    """diag(W)ᵀĥ, the mean of W over the pairs of a user and itself."""
    return float(np.diag(matrix) @ reports.histogram)


def slope_variance(matrix: Floats, reports: DecodedReports) -> float:
    """Var_h(q) for q = Wh: a quarter of what one user adds as a sample; the noise of q̂ is taken off."""
    slope, held = matrix @ reports.histogram, reports.plausible
    noise = float(held @ np.einsum("xy,xy->x", matrix @ reports.covariance, matrix)) / reports.users
    return max(float(held @ slope**2 - (held @ slope) ** 2) - noise, 0.0)


def own_error(matrix: Floats, reports: DecodedReports) -> QuadraticError:
    """The error about the users who reported: Σ is what the randomizer adds."""
    return _error(matrix, reports, reports.covariance, matrix @ reports.covariance)


def both_errors(matrix: Floats, reports: DecodedReports) -> tuple[QuadraticError, QuadraticError]:
    """The errors about the users who reported and about the population they are an independent sample of.

    For the second the users' own covariance diag(h) − hhᵀ is added to Σ.
    """
    noise, held = reports.covariance, reports.plausible
    product = matrix @ noise
    sampled = noise + np.diag(held) - np.outer(held, held)
    whole = product + matrix * held - np.outer(matrix @ held, held)
    return _error(matrix, reports, noise, product), _error(matrix, reports, sampled, whole)


def _error(matrix: Floats, reports: DecodedReports, covariance: Floats, product: Floats) -> QuadraticError:
    """4qᵀΣq/n and 2tr(ΣWΣW)/n² with q = Wĥ, whose own noise adds twice the second to the first: it is taken off."""
    slope, users = matrix @ reports.histogram, reports.users
    quadratic = max(2.0 * float((product * product.T).sum()) / users**2, 0.0)
    linear = 4.0 * float(slope @ covariance @ slope) / users
    return QuadraticError(linear - 2.0 * quadratic, quadratic, covariance, matrix, users)


def one_round_estimate(
    statistic: PairwiseStatistic,
    reports: DecodedReports,
    *,
    target: str,
    protocol: str,
    level: float = LEVEL,
    warnings: Sequence[str] = (),
) -> PairwiseEstimate:
    """The statistic from one round of full reports, with intervals; raises NoStatistic where there is none."""
    found = linearised(statistic, reports, target, level)
    return assembled(
        statistic,
        found,
        found.value,
        both_errors(found.matrix, reports),
        level,
        target=target,
        protocol=protocol,
        users=(reports.users,),
        warnings=tuple(warnings),
    )


def assembled(
    statistic: PairwiseStatistic,
    found: LinearisedForm,
    value: float,
    errors: tuple[QuadraticError, QuadraticError],
    level: float,
    **provenance: Any,
) -> PairwiseEstimate:
    """The estimate from the value and its errors about the users and about the population."""
    (low, high), (population_low, population_high) = (error.interval(value, level) for error in errors)
    names = (form.name for form in statistic.forms)
    return PairwiseEstimate(
        value=value,
        standard_error=errors[0].standard_error,
        lower=low,
        upper=high,
        population_standard_error=errors[1].standard_error,
        population_lower=population_low,
        population_upper=population_high,
        level=level,
        forms=tuple(zip(names, found.values.tolist(), strict=True)),
        bias_bound=0.0 if statistic.is_one_form else None,
        clipped=None,
        **provenance,
    )


def _check_denominator(
    statistic: PairwiseStatistic, index: int, value: float, reports: DecodedReports, level: float
) -> None:
    form = statistic.forms[index]
    low, high = own_error(form.matrix, reports).interval(value, level)
    if low <= 0.0 <= high:
        raise NoStatistic(
            f"{statistic.name} divides by {form.name}, which is between {low:.3g} and {high:.3g} at a "
            f"level of {level:.0%}: that may be zero. More reports, or a larger ε, narrow it",
            (low, high),
        )
