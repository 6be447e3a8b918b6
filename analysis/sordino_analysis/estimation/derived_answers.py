"""What follows from several means of one round: spreads of numbers, and means among the users of a category."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.fieller import JointErrors, Range, RatioSet, enough_users, fieller_set
from sordino_analysis.estimation.intervals import independent_quantile, normal_quantile, smoothed
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.estimation.linear_estimate import EstimationError
from sordino_analysis.evaluation.accumulate import Aggregate

# Points of an ellipse whose least and largest value is looked for: their distance takes a millionth off an end.
_POINTS = 4096
# Numbers between 0 and 1 have no more variance.
_MOST_VARIANCE = 0.25


@dataclass(frozen=True, kw_only=True)
class DerivedAnswer:
    """An answer with its errors about the users who reported and about the population; None where there is none."""

    value: float | None
    uncut: float | None = None
    standard_error: float | None = None
    interval: Range | None = None
    band: Range | None = None
    population_standard_error: float | None = None
    population_interval: Range | None = None
    sentence: str | None = None
    enough_users: int | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class JointAnswers:
    """Unbiased answers (Q,) of a round with the covariances (Q, Q) of their noise, and of drawing the users.

    Intervals are at `level`, and bands hold `compared` answers at once: errors of all are sums of those of the answers,
    which are nearly normal, and of slabs of such sums Šidák's inequality holds (1967).
    """

    answers: Floats
    noise: Floats
    drawn: Floats
    users: int
    level: float
    compared: int

    @classmethod
    def of(cls, estimator: LinearEstimator, aggregate: Aggregate, level: float, compared: int) -> JointAnswers:
        """From the aggregate of a closed round; raises EstimationError where covariances are too many to hold."""
        answers, users = estimator.unbiased(aggregate), estimator.users(aggregate)
        plausible = smoothed(estimator.nearest(answers, users).histogram, users, normal_quantile(level))
        root, rows = estimator.law.covariance_root(plausible), estimator.workload.operator.dense()
        if root is None:
            raise EstimationError("so many answers have no covariances: ask for fewer")
        means = rows @ plausible
        drawn = (rows * plausible) @ rows.T - np.outer(means, means)
        noise, drawn = root @ root.T / users, drawn / users
        return cls(answers=answers, noise=noise, drawn=drawn, users=users, level=level, compared=compared)

    @property
    def quantile(self) -> float:
        """Standard errors that an interval reaches to either side."""
        return normal_quantile(self.level)

    @property
    def band_quantile(self) -> float:
        """Standard errors that a band reaches to either side."""
        return independent_quantile(self.level, self.compared)

    def combination(self, weights: Floats) -> DerivedAnswer:
        """Σ w_q · answer_q for `weights` (Q,), with even intervals."""
        value = float(weights @ self.answers)
        errors = [math.sqrt(max(float(weights @ each @ weights), 0.0)) for each in self._covariances]
        reaches = [self.quantile * error for error in errors] + [self.band_quantile * errors[0]]
        ends = [(value - reach, value + reach) for reach in reaches]
        return DerivedAnswer(
            value=value,
            uncut=value,
            standard_error=errors[0],
            interval=ends[0],
            band=ends[2],
            population_standard_error=errors[1],
            population_interval=ends[1],
        )

    def spread(self, rows: Sequence[int], origin: float, span: float, bias: float, *, root: bool) -> DerivedAnswer:
        """m₂ − m₁² of numbers in shares of their range, or its `root`, from the `rows` of mean and mean square.

        The mean is in units, from `origin` on, and `span` is the range. Rounding raises the mean square by 0 to `bias`,
        of which the middle is subtracted. The interval is the range over the ellipse of the pairs that are no more
        than the quantile from the estimate, since one number is asked (Scheffé 1953, for one degree of freedom).
        """
        scale = np.array([1 / span, 1.0])
        centre = (self.answers[list(rows)] - [origin, 0.0]) * scale
        looks = []
        for covariance, quantile in self._looks:
            errors = covariance[np.ix_(rows, rows)] * np.outer(scale, scale)
            looks.append(_Pair(found=centre, errors=errors, centre=centre, shape=errors, quantile=quantile))
        return _spread(looks, bias, root=root)

    def spread_among(self, rows: Sequence[int], span: float, bias: float, group: str, *, root: bool) -> DerivedAnswer:
        """The same among the users of a group, from the rows of numbers and squares within it, and of its share.

        The pairs are those of some shares in the ellipsoid of all three: an ellipse, Fieller's set for two ratios.
        """
        scale = np.array([1 / span, 1.0, 1.0])
        found = self.answers[list(rows)] * scale
        looks = []
        for covariance, quantile in self._looks:
            errors = covariance[np.ix_(rows, rows)] * np.outer(scale, scale)
            looks.append(_ratios(found, errors, quantile))
        if looks[0] is None or looks[1] is None or found[2] <= 0:
            return self._not_enough(rows[2], group)
        told = [each for each in looks if each is not None]
        answer = _spread(told if len(told) == len(looks) else [*told, told[0]], bias, root=root)
        most = math.sqrt(_MOST_VARIANCE) if root else _MOST_VARIANCE
        return answer if looks[2] is not None else replace(answer, band=(0.0, most))

    def ratio(self, numerator: int, denominator: int, limits: Range, group: str) -> DerivedAnswer:
        """N/D of two rows, between `limits`, by Fieller's sets; in words where D may be 0 (`group` names its users)."""
        above, below = float(self.answers[numerator]), float(self.answers[denominator])
        rows, sets, errors = [numerator, denominator], list[RatioSet](), list[float]()
        for covariance, quantile in self._looks:
            (first, both), (_, second) = covariance[np.ix_(rows, rows)].tolist()
            joint = JointErrors(numerator=first, covariance=both, denominator=second)
            sets.append(fieller_set(above, below, joint, quantile))
            errors.append(math.sqrt(joint.variance(above / below)) / abs(below) if below else math.inf)
        if any(each.shape != "interval" for each in sets[:2]) or below <= 0:
            return self._not_enough(denominator, group)
        value = above / below
        ends = [(each.low, each.high) for each in (one.within(limits) for one in sets)]
        # A band without ends is not shown, even if it rules out some ratios in the middle.
        band = ends[2] if sets[2].shape == "interval" else limits
        return DerivedAnswer(
            value=min(max(value, limits[0]), limits[1]),
            uncut=value,
            standard_error=errors[0],
            interval=ends[0],
            band=band,
            population_standard_error=errors[1],
            population_interval=ends[1],
        )

    @property
    def _looks(self) -> tuple[tuple[Floats, float], ...]:
        """A covariance (Q, Q) and a quantile each: of intervals about the users, about the population, of the band."""
        users, population = self._covariances
        return (users, self.quantile), (population, self.quantile), (users, self.band_quantile)

    @property
    def _covariances(self) -> tuple[Floats, Floats]:
        """(Q, Q) each: about the users who reported, about the population."""
        return self.noise, self.noise + self.drawn

    def _not_enough(self, share: int, group: str) -> DerivedAnswer:
        error = math.sqrt(self.noise[share, share] + self.drawn[share, share])
        seen = float(self.answers[share])
        # Of a share that seems to be 0 or less, the largest that it may be: so many users or more.
        users = enough_users(self.users, seen if seen > 0 else self.quantile * error, error, self.quantile)
        would = f"about {users:,} in all would be enough" if seen > 0 else f"it takes {users:,} users in all or more"
        return DerivedAnswer(value=None, sentence=f"not enough users in {group}: {would}", enough_users=users)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Pair:
    """An estimate (2,) of a mean and a mean square with its `errors` (2, 2), and the ellipse that is not ruled out.

    That is (m − centre)ᵀ shape⁻¹ (m − centre) ≤ quantile².
    """

    found: Floats
    errors: Floats
    centre: Floats
    shape: Floats
    quantile: float


def _ratios(found: Floats, errors: Floats, quantile: float) -> _Pair | None:
    """The pair (a/s, b/s) for an estimate of (a, b, s) with `errors` (3, 3); None where s may be 0.

    A line touches the ellipse of the pairs where the plane through it and 0 touches the ellipsoid: in coordinates of
    lines the ellipse is θθᵀ − z²Σ.
    """
    dual = np.outer(found, found) - quantile**2 * errors
    if dual[2, 2] <= 0 or found[2] <= 0:
        return None
    centre = dual[:2, 2] / dual[2, 2]
    shape = np.outer(centre, centre) - dual[:2, :2] / dual[2, 2]
    pair = found[:2] / found[2]
    slopes = np.column_stack([np.eye(2), -pair]) / found[2]
    return _Pair(found=pair, errors=slopes @ errors @ slopes.T, centre=centre, shape=shape, quantile=1.0)


def _spread(looks: Sequence[_Pair], bias: float, *, root: bool) -> DerivedAnswer:
    """The answer about the users, with its interval for the population and its band: one look each."""
    found = []
    for look in looks:
        first, second = look.found.tolist()
        # Of an unbiased mean the square is too large by its variance.
        added = look.errors[0, 0] - bias / 2
        slope = np.array([-2 * first, 1.0])
        ends = _ends_over_ellipse(look.centre, look.shape, look.quantile) + added
        least, most = max(0.0, ends[0] - bias / 2), max(ends[1] + bias / 2, bias / 2)
        error = math.sqrt(max(float(slope @ look.errors @ slope), 0.0))
        interval = (min(least, _MOST_VARIANCE), min(most, _MOST_VARIANCE))
        level = float(second - first**2 + added)
        found.append(_root(level, error, interval) if root else (level, error, interval))
    (value, error, interval), (_, of_population, population), (_, _, band) = found
    return DerivedAnswer(
        value=max(value, 0.0),
        uncut=value,
        standard_error=error,
        interval=interval,
        band=band,
        population_standard_error=of_population,
        population_interval=population,
    )


def _root(variance: float, error: float, interval: Range) -> tuple[float, float, Range]:
    """Of a variance the standard deviation; its own error is that of a small step, bounded where the variance is 0."""
    value = math.sqrt(max(variance, 0.0))
    own = error / (value + math.sqrt(value**2 + error)) if error else 0.0
    return value, own, (math.sqrt(interval[0]), math.sqrt(interval[1]))


def _ends_over_ellipse(centre: Floats, shape: Floats, quantile: float) -> Floats:
    """(2,) the least and the largest m₂ − m₁² over (m − m̂)ᵀ Σ⁻¹ (m − m̂) ≤ quantile²: they are on its edge."""
    turns = np.linspace(0.0, 2 * np.pi, _POINTS, endpoint=False)
    values, basis = np.linalg.eigh(shape)
    root = basis * np.sqrt(np.maximum(values, 0.0))
    steps = quantile * root @ np.stack([np.cos(turns), np.sin(turns)])
    reached = (centre[1] + steps[1]) - (centre[0] + steps[0]) ** 2
    return np.array([reached.min(), reached.max()])
