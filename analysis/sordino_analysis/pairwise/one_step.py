"""One-step estimator T = g(u) + 2λ(A − U_W) from two rounds, and its variance.

The first round gives U, ĥ and so the query s = Wĥ. Every second answer is unbiased for it with variance V₂; their mean
A estimates h₂ᵀWĥ. One step of Newton's method would be λ = 1; the λ that is fixed with the plan weighs the errors

    Var = (1 − λ)²a + (1 − 2λ)²b + λ²c + (1 − f − λ)²e,   a = 4ζ/n₁, b = 2tr(ΣWΣW)/n₁², c = 4V₂/n₂

where e = 4Var_h(q)/(f(1 − f)n) is for users who are in one of the two rounds only, a share f in the first: the
statistic is that of all of them. So is what the split adds to b, where noise is small and few are in the first round:

    ((2 − 2f − (4 − 2f)λ)/(1 − f))²·(1 − f)tr(ΣWCW)/n₁² + ((1 − f − 2λ)/(1 − f))²·2(1 − f)²tr(CWCW)/n₁²

for the users' own covariance C = diag(h) − hhᵀ. If all are in both rounds, these are 0. With λ fixed before the first
round T is unbiased.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.pairwise.answers import Answers
from sordino_analysis.pairwise.decoded_reports import DecodedReports
from sordino_analysis.pairwise.drawn_campaigns import DrawnSteps
from sordino_analysis.pairwise.error_moments import ErrorMoments, IndependentError, ReportErrors
from sordino_analysis.pairwise.estimators import assembled, linearised, own_pairs
from sordino_analysis.pairwise.statistic_estimate import LEVEL, PairwiseEstimate, Provenance
from sordino_analysis.percentages import percent
from sordino_analysis.questions.pairwise import PairwiseStatistic
from sordino_shared.quantities import quantity

# Kinds whose kernel is any table. `python -m benchmarks.accuracy.own_tables --campaigns 3000`: at ε = 1 users of
# Zipf's law are covered in .910 ± .008 at 200 users, all populations in .943 to .945 at 1,000. The error is skewed:
# a small estimate comes with a small standard error. At ε = 4 all have .94 to .95 from 200 users on.
_OWN_TABLES = ("lipschitz", "matrix")
# Users from which on tables of one's own hold their level.
_ENOUGH_FOR_TABLES = 1000


@dataclass(frozen=True, kw_only=True)
class StepTerms:
    """a, b, c and e of the variance, of one population or added over several, and f, the share of the first round.

    `crossed` and `sampled` are what the split adds to b, of both noise and sampling and of sampling alone.
    """

    linear: float
    quadratic: float
    answers: float
    split: float
    first_share: float
    crossed: float = 0.0
    sampled: float = 0.0

    def variance(self, step: float) -> float:
        """Var for λ = `step`."""
        return (
            (1 - step) ** 2 * self.linear
            + (1 - 2 * step) ** 2 * self.quadratic
            + step**2 * self.answers
            + (1 - self.first_share - step) ** 2 * self.split
            + split_quadratic(self.first_share, step, self.crossed, self.sampled)
        )

    def best_step(self) -> float:
        """λ* of the least variance, which is a parabola in λ."""
        start, half, whole = self.variance(0.0), self.variance(0.5), self.variance(1.0)
        curvature = 2 * (start + whole - 2 * half)
        return (curvature - (whole - start)) / (2 * curvature)

    def __add__(self, other: StepTerms) -> StepTerms:
        return replace(
            self,
            linear=self.linear + other.linear,
            quadratic=self.quadratic + other.quadratic,
            answers=self.answers + other.answers,
            split=self.split + other.split,
            crossed=self.crossed + other.crossed,
            sampled=self.sampled + other.sampled,
        )


def split_quadratic(share: float, step: float, crossed: float, sampled: float) -> float:
    """What a split of the users adds to the quadratic part, for λ = `step`."""
    noise_and_split = (2 * (1 - share) - (4 - 2 * share) * step) / (1 - share)
    split_alone = (1 - share - 2 * step) / (1 - share)
    return noise_and_split**2 * crossed + split_alone**2 * sampled


def split_terms(noise: Floats, matrix: Floats, histogram: Floats, users: tuple[float, float]) -> tuple[float, float]:
    """(1 − f)tr(ΣWCW)/n₁² and 2(1 − f)²tr(CWCW)/n₁² for Σ = `noise` and n₁, n₂ = `users`.

    `noise` and `matrix` (k, k), `histogram` (k,).
    """
    first, second = users
    other = second / (first + second)
    centred_form = matrix * histogram - np.outer(matrix @ histogram, histogram)
    crossed = float(((matrix @ noise) * centred_form.T).sum())
    return other * max(crossed, 0.0) / first**2, 2 * other**2 * float((centred_form * centred_form.T).sum()) / first**2


def one_step_estimate(
    statistic: PairwiseStatistic,
    reports: DecodedReports,
    answers: Answers,
    step: float,
    *,
    target: str,
    protocol: str,
    level: float = LEVEL,
    draw: bool = True,
) -> PairwiseEstimate:
    """T and its intervals, for λ = `step`; raises NoStatistic, and has `draw`, as one round does."""
    users = reports.users if answers.same_users else reports.users + answers.users
    linear = linearised(statistic, reports, target, users)
    pairs = _of_pairs(linear.matrix, reports, answers) - reports.form(linear.matrix)
    counted = 1.0 if target == "pairs" else (users - 1) / users
    errors = StepErrors(linear.matrix, reports, answers, step)
    doubts = _of_own_tables(statistic, reports.users, level) if answers.same_users else ()
    provenance = Provenance(target=target, protocol=protocol, users=(reports.users, answers.users), doubts=doubts)
    drawn = DrawnSteps(linear.matrix, reports, answers, step) if draw else None
    return assembled(statistic, linear, 2 * step * counted * pairs, errors, level, provenance, drawn)


def _of_own_tables(statistic: PairwiseStatistic, users: int, level: float) -> tuple[str, ...]:
    """A sentence where few users answer both rounds about a table or a matrix that the analyst wrote."""
    if users >= _ENOUGH_FOR_TABLES or statistic.specification["statistic"]["kind"] not in _OWN_TABLES:
        return ()
    return (
        f"only {quantity(users, 'user')} answered both rounds: the interval of a table of your own may hold less often "
        f"than {percent(level)}; use two_round, or {_ENOUGH_FOR_TABLES} users",
    )


def _of_pairs(matrix: Floats, reports: DecodedReports, answers: Answers) -> float:
    """A over pairs of different users: where the same users answer, their own pairs are taken out."""
    if not answers.same_users:
        return answers.mean
    return (reports.users * answers.mean - own_pairs(matrix, reports)) / (reports.users - 1)


@dataclass(frozen=True, eq=False)
class StepErrors:
    """The errors of T about the users who reported and about the population, for the form W₀ = `matrix` that was asked.

    Shifted by −δD, the linear term has A = (1 − λ)W₀ − δD and the quadratic one B = (1 − 2λ)W₀ − δD: the second round
    asked about W₀ alone.
    """

    matrix: Floats
    reports: DecodedReports
    answers: Answers
    step: float

    def __call__(self, shift: Floats) -> tuple[ErrorMoments, ErrorMoments]:
        """For −δD = `shift` (k, k)."""
        (of_users, population), form = self._around, self.matrix + shift
        linear = (1 - self.step) * self.matrix + shift
        quadratic = (1 - 2 * self.step) * self.matrix + shift
        (split, sampled), histogram = self._split_and_sampled(shift), self.reports.histogram
        return (
            of_users.moments(form, histogram, linear, quadratic, self._answered(split, self._scarcity(shift))),
            population.moments(form, histogram, linear, quadratic, self._answered(sampled, 0.0)),
        )

    @cached_property
    def _around(self) -> tuple[ReportErrors, ReportErrors]:
        law, histogram, users = self.reports.law, self.reports.plausible, self.reports.users
        return ReportErrors.about_users(law, histogram, users), ReportErrors.about_population(law, histogram, users)

    def _answered(self, besides: float, scarce: float) -> IndependentError:
        """The second round's own noise, and `besides` it another variance."""
        histogram, answers, reach = self.reports.plausible, self.answers, 2 * self.step
        variance, third, fourth = (float(histogram @ cumulant) for cumulant in answers.cumulants)
        users = answers.users
        noise = reach**2 * variance / users
        return IndependentError(
            variance=noise + besides,
            third=reach**3 * third / users**2,
            fourth=reach**4 * fourth / users**3,
            scarce=scarce,
            answered=noise,
        )

    def _scarcity(self, shift: Floats) -> float:
        """The fourth moments of who was in which round, summed over the users of the smaller part."""
        first, second, step = self.reports.users, self.answers.users, self.step
        if self.answers.same_users:
            missing = max(1.0 / second - 1.0 / first, 0.0)
            return (2 * step) ** 4 * fourth_moment(self.matrix, self.reports) * missing**2 * (1 / first + missing)
        other = second / (first + second)
        apart = (other - step) / other * self.matrix + shift
        return 16 * fourth_moment(apart, self.reports) * other**2 / first**2 / min(first, second)

    def _split_and_sampled(self, shift: Floats) -> tuple[float, float]:
        """Variances by who was in which round: about the users, and about the population what Σ does not have."""
        first, second, step = self.reports.users, self.answers.users, self.step
        if self.answers.same_users:
            # Who skipped the second round is missing from h₂ by chance; the noise of ĥ is part of what he misses.
            varied = asked_variance(self.matrix, self.reports)
            missed = 4 * step**2 * varied * max(1.0 / second - 1.0 / first, 0.0)
            whole = slope_variance(self.matrix + shift, self.reports)
            partly = slope_variance((1 - step) * self.matrix + shift, self.reports)
            return missed, missed + 4 * (whole - partly) / first
        share = first / (first + second)
        other = 1 - share
        terms = split_terms(self.reports.covariance, self.matrix, self.reports.plausible, (first, second))
        apart = slope_variance((other - step) / other * self.matrix + shift, self.reports)
        split = 4 * apart * other / first + split_quadratic(share, step, *terms)
        # 4λ²tr((Σ + C)WCW)/(n₁n₂): users of the second round are a sample of their own.
        crossed, alone = terms[0] / other, terms[1] / other**2 / 2
        sampled = (
            4 * step**2 * (slope_variance(self.matrix, self.reports) / second + (crossed + alone) * first / second)
        )
        return split, sampled


def fourth_moment(matrix: Floats, reports: DecodedReports) -> float:
    """Σ_x h_x (q̂_x − q̂·h)⁴ for q̂ = Wĥ. `matrix` W (k, k)."""
    slope, shares = matrix @ reports.histogram, reports.plausible
    return float(shares @ (slope - shares @ slope) ** 4)


def asked_variance(matrix: Floats, reports: DecodedReports) -> float:
    """Var_h(q̂) of the second round's query q̂ = Wĥ, with the noise of ĥ. `matrix` W (k, k)."""
    slope, shares = matrix @ reports.histogram, reports.plausible
    return max(float(shares @ slope**2 - (shares @ slope) ** 2), 0.0)


def slope_variance(matrix: Floats, reports: DecodedReports) -> float:
    """Var_h(q) for q = Wh: a quarter of what one user adds as a sample; the noise of q̂ is taken off.

    `matrix` W (k, k).
    """
    shares, noise = reports.plausible, matrix @ reports.covariance @ matrix
    noisy = float(shares @ np.diag(noise) - shares @ noise @ shares) / reports.users
    return max(asked_variance(matrix, reports) - noisy, 0.0)
