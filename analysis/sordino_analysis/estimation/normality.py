"""Whether the error of an answer is normal enough: how often its intervals hold, and how many reports would do.

A plausible histogram stands for the users. Answers of few reports are worked out exactly from the law of one report,
those of many, and those whose law is not listed, from its first four moments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from sordino_analysis.answers.columns import Cell
from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.intervals import normal_quantile
from sordino_analysis.estimation.inversion import population_coverage, reporters_coverage
from sordino_analysis.evaluation.contribution_law import ContributionLaw, Cumulants, Moments

# What coverage may fall short of its level without a warning. A level of 95 % is doubted below 93.75 %, half way
# between the 94 % that are as good as promised and the 93.5 % that are not.
ALLOWED_SHORTFALL = 0.0125
# Equal events of chance p have reach²/variance = 1/p, so that so many times this see as many of them. Steps of 1/√60
# standard errors move a coverage by .0075 at most, φ(1.96)/√60, and moments, that know of no steps, will do.
MANY_EVENTS = 60
# From so many events on no step takes as much as is allowed; below, numbers of reports a factor apart are tried.
_STEADY_EVENTS = 12
# Numbers of reports a factor apart are tried: the last one is no more above the least.
_FACTOR = 1.1
# Values times classes of the laws of all queries that are worked out exactly, in some seconds; of more, moments.
_MOST_LISTED = 20_000_000


@dataclass(frozen=True)
class Normality:
    """How often the intervals of an answer hold the reporters' and the population's answer, as far as can be predicted.

    `enough_reports` is None where neither falls short of the level by more than ALLOWED_SHORTFALL, and otherwise the
    number of reports from which on neither would.
    """

    coverage: float
    population_coverage: float
    enough_reports: int | None

    @classmethod
    def of_coverages(cls, coverage: float, population_coverage: float, users: int, level: float) -> Normality:
        """As far as terms of order 1/n say: what is short of the level falls as 1/n."""
        shortfall = level - min(coverage, population_coverage)
        enough = None if shortfall <= ALLOWED_SHORTFALL else int(np.ceil(enough_reports(users, shortfall)))
        return cls(coverage, population_coverage, enough)


@dataclass(frozen=True)
class Judgement:
    """What is known of an answer's error: `of_reporters`, how few equal `events` make it up, its `law` if listed."""

    normality: Normality
    of_reporters: Cumulants
    events: float
    law: ContributionLaw | None = None


@dataclass(frozen=True)
class Reach:
    """How far an interval reaches for the truth: `errors` standard errors, give or take a share `scatter` of them.

    That for the population also reaches for what is `drawn` away, with these users and not with more.
    """

    errors: float
    scatter: float = 0.0
    drawn: float = 0.0


def judgements(
    laws: Iterable[ContributionLaw | Moments], work: int, users: int, level: float, reaches: Iterable[Reach]
) -> list[Judgement]:
    """Of every answer from its law, whose values are gone over `work` times in all."""
    found = []
    for law, reach in zip(laws, reaches, strict=False):
        listed = law if isinstance(law, ContributionLaw) else None
        events = np.inf if listed is None else listed.events(users)
        moments = law if isinstance(law, Moments) else law.moments
        exact = listed is not None and work * len(listed.values) <= _MOST_LISTED
        found.append(
            Judgement(normality(law if exact else moments, users, level, reach), moments.of_reporters, events, listed)
        )
    return found


def normality(law: ContributionLaw | Moments, users: int, level: float, reach: Reach) -> Normality:
    """Of one answer from `users` reports."""
    moments = law.moments if isinstance(law, ContributionLaw) else law
    listed = law if isinstance(law, ContributionLaw) else None
    errors = (
        _Error(moments.of_reporters, listed, reporters_coverage, reach.scatter),
        _Error(moments.of_population, listed, population_coverage, reach.scatter),
    )
    drawn = max(reach.errors, errors[1].relative(reach.drawn, users))
    found = [errors[0].coverage(users, reach.errors), errors[1].coverage(users, drawn)]
    needed = [
        error.enough(users, normal_quantile(level), level, level - coverage)
        for error, coverage in zip(errors, found, strict=True)
        if level - coverage > ALLOWED_SHORTFALL
    ]
    return Normality(found[0], found[1], max(needed) if needed else None)


@dataclass(frozen=True, eq=False)
class _Error:
    """The error of one answer, about the reporters or the population; `law` where it is listed and can be `exact`."""

    cumulants: Cumulants
    law: ContributionLaw | None
    exact: Callable[[ContributionLaw, int, float, float, float], float]
    scatter: float

    def relative(self, width: float, users: int) -> float:
        """A half-width in standard errors."""
        return width * float(np.sqrt(users / self.cumulants.variance)) if self.cumulants.variance > 0 else 0.0

    def coverage(self, users: int, z: float) -> float:
        """How often ± z standard errors hold the truth; always where there is no error."""
        if self.cumulants.variance <= 0:
            return 1.0
        if self.law is not None and users < self._many:
            deviation = float(np.sqrt(self.cumulants.variance / users))
            return self.exact(self.law, users, z * deviation, deviation, self.scatter)
        return float(
            predicted_coverage(z, self.cumulants.skewness / np.sqrt(users), self.cumulants.excess_kurtosis / users)
        )

    def enough(self, users: int, z: float, level: float, shortfall: float) -> int:
        """Of falling numbers of reports the last before one that falls short."""
        if self.law is None:
            return int(np.ceil(enough_reports(users, shortfall)))
        enough = self._many * _STEADY_EVENTS / MANY_EVENTS
        while enough / _FACTOR > users:
            if self.coverage(int(enough / _FACTOR), z) < level - ALLOWED_SHORTFALL:
                break
            enough /= _FACTOR
        return int(np.ceil(max(enough, users * _FACTOR)))

    @property
    def _many(self) -> float:
        """From so many reports on moments will do."""
        assert self.law is not None
        return MANY_EVENTS * self.law.reach**2 / self.cumulants.variance


def columns_of_laws(laws: Sequence[Normality | None]) -> dict[str, Sequence[Cell]]:
    """How often intervals hold, as columns of a table; none where nothing is known of any."""
    if not any(laws):
        return {}
    # The fourth digit is below what the estimated histogram leaves open.
    return {
        "coverage": [None if law is None else round(law.coverage, 4) for law in laws],
        "population_coverage": [None if law is None else round(law.population_coverage, 4) for law in laws],
        "enough_reports": [None if law is None else law.enough_reports for law in laws],
    }


def predicted_coverage(
    z: float,
    skewness: Floats | float,
    excess_kurtosis: Floats | float,
    *,
    variance_slope: Floats | float = 0.0,
    variance_spread: Floats | float = 0.0,
) -> Floats:
    """P(|T| ≤ z) for T = S/√(1+D), up to the terms of order 1/n, by the Edgeworth expansion (Hall 1992, section 2.3).

    S is the standardised error of an estimate, with its `skewness` and `excess_kurtosis`: of a mean of n users, one
    user's over √n and over n. D is the relative error of the variance that the interval takes: it has mean 0,
    `variance_slope` is Cov(S, D), and `variance_spread` Var(D). Both are 0 where the variance is known. Continuous
    errors are assumed: equal steps of size s standard errors add up to ± φ(z)·s, which no moment bounds. Any shapes
    that go together; values lie between 0 and 1.
    """
    third, fourth, slope, spread = (
        np.asarray(given, dtype=float) for given in (skewness, excess_kurtosis, variance_slope, variance_spread)
    )
    # Cumulants of T ≈ S(1 − D/2 + 3D²/8).
    shift, widened = -slope / 2, spread + 7 / 4 * slope**2
    skewed = third - 3 * slope
    heavy = fourth - 6 * slope * third + 3 * spread + 18 * slope**2
    bend = (
        (widened + shift**2) / 2
        + (heavy + 4 * shift * skewed) * (z**2 - 3) / 24
        + skewed**2 * (z**4 - 10 * z**2 + 15) / 72
    )
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return np.asarray(np.clip(2 * ndtr(z) - 1 - 2 * density * z * bend, 0.0, 1.0))


def enough_reports(reports: float, shortfall: Floats | float, *, allowed: float = ALLOWED_SHORTFALL) -> Floats:
    """How many reports bring a `shortfall` (level − coverage) of so many `reports` down to `allowed`.

    What an expansion's terms of order 1/n take from the coverage falls as 1/n.
    `shortfall` (Q,) or a scalar; the result has its shape.
    """
    return np.asarray(reports * np.maximum(shortfall, 0.0) / allowed)
