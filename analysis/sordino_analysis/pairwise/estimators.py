"""Quadratic forms from decoded reports: U-statistics, their standard errors and intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.pairwise.decoded_reports import DecodedReports
from sordino_analysis.pairwise.drawn_campaigns import DrawnCampaigns, DrawnRounds
from sordino_analysis.pairwise.error_moments import ErrorMoments, ReportErrors
from sordino_analysis.pairwise.quadratic_error import FEW_EVENTS, HARDLY_ANY_EVENT, QuadraticError
from sordino_analysis.pairwise.ratios import Ratio, fieller_nodes, fieller_set, may_be_zero
from sordino_analysis.pairwise.statistic_estimate import LEVEL, PairwiseEstimate, Provenance, Spread, published
from sordino_analysis.questions.pairwise import PairwiseStatistic
from sordino_shared.errors import InvalidValue


class NoStatistic(InvalidValue):
    """The reports allow no value of the statistic; the message gives the reason, with the interval if there is one."""

    code = "no-statistic"
    advice = "ask more users, or a statistic without this ratio"


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearisedForm:
    """The statistic near the forms' values `values` u (J,), unbiased: its error is that of the form `matrix` W₀ (k, k).

    `form` is the value of W₀. Of a ratio W₀ = N − r₀D for r₀ = `at`, the ratio without its offset, and `scale` is u_D,
    by which the error is divided; where a denominator `may_be_zero`, r₀ is that of a plausible histogram. For target
    "histogram" u_j is hᵀW_jh = ((n − 1)·(mean over pairs) + diag(W_j)ᵀh)/n.
    """

    values: Floats
    matrix: Floats
    form: float
    ratio: Ratio | None = None
    at: float = 0.0
    scale: float = 1.0
    may_be_zero: bool = False

    def value(self, correction: float = 0.0) -> float:
        """The statistic, where later rounds add `correction` to the value of the form."""
        found = self.form + correction
        return found if self.ratio is None else self.ratio.offset + self.at + found / self.scale


# The errors about the users who reported and about the population, of the form W₀ − δD; `shift` (k, k) is −δD.
Errors = Callable[[Floats], tuple[ErrorMoments, ErrorMoments]]


def linearised(
    statistic: PairwiseStatistic, reports: DecodedReports, target: str, users: int | None = None
) -> LinearisedForm:
    """The statistic's linear form, from one round; raises NoStatistic where there is no pair.

    `users` is n, where the statistic is of more users than those of the round.
    """
    if reports.users < 2:
        raise NoStatistic(f"a pairwise statistic needs at least two reports, got {reports.users}", reports.users)
    users = users or reports.users
    values = np.array([form_value(form.matrix, reports, target, users) for form in statistic.forms])
    if statistic.is_one_form:
        return LinearisedForm(values=values, matrix=statistic.forms[0].matrix, form=float(values[0]))
    missing = bool((values[list(statistic.denominators)] <= 0).any()) or may_be_zero(statistic, reports)
    near = values
    if missing:
        near = np.array([form.of_histogram(reports.plausible) for form in statistic.forms])
    ratio = Ratio.of(statistic, near)
    at = ratio.cut(statistic.combine(near) - ratio.offset)
    scale = form_value(ratio.denominator, reports, target, users)
    return LinearisedForm(
        values=values,
        matrix=ratio.form(at),
        form=values[0] - at * scale,
        ratio=ratio,
        at=at,
        scale=scale,
        may_be_zero=missing,
    )


def linear_form(statistic: PairwiseStatistic, values: Floats) -> Floats:
    """W_θ = Σ_j ∂g/∂u_j W_j (k, k): an error of the forms moves g as it moves this one form, to first order."""
    slopes = statistic.gradient(values)
    return np.asarray(sum(slope * form.matrix for slope, form in zip(slopes, statistic.forms, strict=True)))


def form_value(matrix: Floats, reports: DecodedReports, target: str, users: int) -> float:
    """The form's value for the target over n `users`, unbiased. `matrix` W (k, k)."""
    pairs = reports.form(matrix)
    return pairs if target == "pairs" else ((users - 1) * pairs + own_pairs(matrix, reports)) / users


def own_pairs(matrix: Floats, reports: DecodedReports) -> float:
    """diag(W)ᵀĥ, the mean of W over the pairs of a user and itself. `matrix` W (k, k)."""
    return float(np.diag(matrix) @ reports.histogram)


def own_error(matrix: Floats, reports: DecodedReports) -> QuadraticError:
    """The error about the users who reported: Σ is what the randomizer adds. `matrix` W (k, k)."""
    errors = ReportErrors.about_users(reports.law, reports.plausible, reports.users)
    return QuadraticError(errors.moments(matrix, reports.histogram))


def one_round_errors(matrix: Floats, reports: DecodedReports) -> Errors:
    """Of one round of full reports: what the randomizer adds, and for the population who was drawn.

    `matrix` W (k, k).
    """
    about_users = ReportErrors.about_users(reports.law, reports.plausible, reports.users)
    both = about_users, about_users.and_of_drawing(reports.plausible)

    def errors(shift: Floats) -> tuple[ErrorMoments, ErrorMoments]:
        own, population = (each.moments(matrix + shift, reports.histogram) for each in both)
        return own, population

    return errors


def one_round_estimate(
    statistic: PairwiseStatistic,
    reports: DecodedReports,
    *,
    target: str,
    protocol: str,
    level: float = LEVEL,
    warnings: Sequence[str] = (),
    draw: bool = True,
) -> PairwiseEstimate:
    """The statistic from one round of full reports, with intervals; raises NoStatistic where there is no pair.

    Unless campaigns may be drawn (`draw`), the interval of few events is doubtful in any case.
    """
    found = linearised(statistic, reports, target)
    provenance = Provenance(target=target, protocol=protocol, users=(reports.users,), warnings=tuple(warnings))
    drawn = DrawnRounds(found.matrix, reports) if draw else None
    return assembled(statistic, found, 0.0, one_round_errors(found.matrix, reports), level, provenance, drawn)


def assembled(
    statistic: PairwiseStatistic,
    form: LinearisedForm,
    correction: float,
    errors: Errors,
    level: float,
    provenance: Provenance,
    drawn: DrawnCampaigns | None,
) -> PairwiseEstimate:
    """The estimate where later rounds add `correction` to the value of the linear form.

    Where its interval is doubtful, campaigns are `drawn` to see whether it holds.
    """
    names = (each.name for each in statistic.forms)
    forms = tuple(zip(names, form.values.tolist(), strict=True))
    if form.ratio is None:
        spreads = _of_form(form, correction, errors, level, drawn)
    else:
        spreads = _of_ratio(form, correction, errors, level, drawn)
    return published(statistic, spreads, forms, level, provenance)


def _of_form(
    form: LinearisedForm, correction: float, errors: Errors, level: float, drawn: DrawnCampaigns | None
) -> tuple[Spread, Spread]:
    value = form.value(correction)
    own, population = (QuadraticError(each, -correction) for each in errors(np.zeros_like(form.matrix)))
    return _seen(Spread.of(value, own, level), own, drawn, level), Spread.of(value, population, level)


def _seen(spread: Spread, error: QuadraticError, drawn: DrawnCampaigns | None, level: float) -> Spread:
    """With how often campaigns that are drawn hold, if that is in question."""
    if drawn is None or not FEW_EVENTS < spread.rarity <= HARDLY_ANY_EVENT:
        return spread
    return replace(spread, drawn=drawn.coverage(error, level))


def _of_ratio(
    form: LinearisedForm, correction: float, errors: Errors, level: float, drawn: DrawnCampaigns | None
) -> tuple[Spread, Spread]:
    ratio, left = form.ratio, form.form + correction
    assert ratio is not None
    value = ratio.offset + form.at if form.may_be_zero else form.value(correction)
    nodes = fieller_nodes(ratio, ratio.cut(value - ratio.offset, 1.0))
    known = [errors((form.at - node) * ratio.denominator) for node in nodes]

    def spread(moments: list[ErrorMoments]) -> Spread:
        places = fieller_set(ratio, nodes, moments, lambda r: left - (r - form.at) * form.scale, -correction, level)
        error, low, high = (
            QuadraticError(moments[2], -correction),
            ratio.offset + places.low,
            ratio.offset + places.high,
        )
        if form.may_be_zero or places.unbounded:
            return Spread(
                value=None, standard_error=None, low=low, high=high, rarity=error.rarity, unbounded=places.unbounded
            )
        return Spread(
            value=value, standard_error=error.standard_error / form.scale, low=low, high=high, rarity=error.rarity
        )

    own, population = (spread([both[which] for both in known]) for which in (0, 1))
    return _seen(own, QuadraticError(known[2][0], -correction), drawn, level), population
