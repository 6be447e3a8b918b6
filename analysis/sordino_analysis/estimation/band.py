"""The simultaneous band of all answers: how many standard errors the largest of all errors stays within.

Where a few reports make up an error, campaigns are drawn from the law of the reports; where many do, normal errors of
the same covariance are, bent to the skewness and kurtosis of each answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.intervals import (
    bent,
    bonferroni_quantile,
    drawn_often,
    independent_quantile,
    normal_quantile,
    quantile_of_draws,
    seeded_generator,
    simultaneous_quantiles,
)
from sordino_analysis.evaluation.contribution_law import ContributionLaw, Cumulants, OutputCounts
from sordino_analysis.evaluation.whole_users import whole_users
from sordino_analysis.questions.linear.operators import Indices

# Halvings of the exponent's logarithm, from e^-12 to e^12 standard errors: the bound is off by less than its hundredth.
_HALVINGS = 24
# The band is searched for between so many standard errors, beyond which a double cannot tell a level from 1.
_WIDEST = 12.0
# Draws that are held at once.
_BATCH = 1000


def furthest_error(law: ContributionLaw, users: int, tail: float) -> float:
    """t with P(error of the mean of `users` contributions ≥ t) ≤ tail, and ≤ −t likewise (Chernoff 1952).

    The law's shares of the users are of each class: P ≤ exp(−n·(s·t − K(s))) for every s > 0, K(s) = Σ_g share_g·log
    E[exp(s(c − E c)) | g]. No more than the furthest value that a report can add.
    """
    present = np.flatnonzero(law.shares > 0)
    chances, shares = law.chances[:, present], law.shares[present]
    means = law.values @ chances
    return max(_right(sign * law.values, chances, sign * means, shares, users, tail) for sign in (1, -1))


def _right(values: Floats, chances: Floats, means: Floats, shares: Floats, users: int, tail: float) -> float:
    """min over s of (K(s) + log(1/tail)/n)/s, which falls up to its minimum and then rises.

    `values` (m,), `chances` (m, g), `means` and `shares` (g,).
    """
    furthest = float(values[(chances > 0).any(axis=1)].max() - means @ shares)
    variance = float(shares @ (values**2 @ chances - means**2))
    if furthest <= 0 or variance <= 0:
        return 0.0
    with np.errstate(divide="ignore"):
        logarithms = np.log(chances)
    odds, scale = math.log(1 / tail) / users, 1 / math.sqrt(variance)

    def excess(s: float) -> tuple[float, float]:
        """K(s) and s·K′(s) − K(s), which rises with s to where the bound is least, at `odds`."""
        exponents = s * values[:, None] + logarithms
        tops = exponents.max(axis=0)
        weights = np.exp(exponents - tops)
        totals = weights.sum(axis=0)
        cumulant = float(shares @ (np.log(totals) + tops - s * means))
        slope = float(shares @ (values @ weights / totals - means))
        return cumulant, s * slope - cumulant

    low, high = -_WIDEST, _WIDEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(scale * math.exp(middle))[1] < odds else (low, middle)
    s = scale * math.exp(high)
    return min(furthest, (excess(s)[0] + odds) / s)


# Beyond this skewness an expansion bends quantiles back on themselves: fewer than one rare event.
MOST_SKEWNESS = 1.2
# Campaigns that are drawn, in a fraction of a second: their .95 quantile is one of .95 ± .0031. There are no more than
# so many counts, one of an output and a type that is held each.
_CAMPAIGNS = 5000
# Counts that are drawn at most: a second of them.
_MOST_COUNTS = 10_000_000
# Errors of a few events have steps, and a step that is just within reach at the estimated histogram can be just beyond
# at the true one, where its standard error is other by some hundredths. Errors are drawn larger by up to so much.
_ROOM = 0.05
# A step that is beyond reach for even users can be within it for users of one type: 50 of them on 16 types at ε = 1
# see 3.1 or 2.8 reports of noise a type. The quantile for the first held .91 of the second, so it is tried on both,
# and is kept where it holds the second with the level less this.
_SHORT = 0.01
# Laws whose tails are bounded, in some milliseconds each.
_MOST_TAILS = 16


# The share of an interval's error that goes to a band of all ranges, which may cut it: .01 of .05.
OUTER_SHARE = 0.2


@dataclass(frozen=True)
class BandQuantile:
    """All errors stay within `quantile` standard errors with chance `level`, as far as that can be worked out.

    They stay within `outer` with chance 1 − (1 − level)·OUTER_SHARE; None where errors are not known to be normal.
    """

    quantile: float
    holds: bool
    outer: float | None = None


def band_quantile(
    around: Sequence[Cumulants],
    outputs: OutputCounts | None,
    root: Floats | None,
    histograms: tuple[Floats, Floats],
    users: int,
    level: float,
    *,
    few: bool = False,
) -> BandQuantile:
    """Of answers that vary, whose cumulants `around` and `root` (Q, r) are in the order of the steps of `outputs`.

    `outputs` are given where few reports make up the error of an answer and they can be listed; the quantile then is
    that of the first of the `histograms` (k,), or of the second where errors stay within that too seldom. `root` ·
    rootᵀ is the covariance of what one user adds; without it the answers count as independent, which no band of normal
    errors is wider for (Šidák 1967). With `few` reports that make up an error it is not taken as normal.
    """
    found = None if outputs is None else _of_campaigns(outputs, histograms, users, level)
    if found is not None:
        # Where most campaigns have no event at all, the quantile is next to nothing: no band is within the intervals.
        return BandQuantile(max(found, normal_quantile(level)), holds=True)
    skewed = any(abs(one.skewness) > MOST_SKEWNESS * math.sqrt(users) for one in around)
    levels = [level, 1 - (1 - level) * OUTER_SHARE]
    if root is None:
        quantiles = [independent_quantile(each, len(around)) for each in levels]
    else:
        quantiles = simultaneous_quantiles(root, levels, None if skewed else around, users)
    normal = not skewed and not few
    return BandQuantile(quantiles[0], holds=not skewed, outer=quantiles[1] if normal else None)


def band_of_many(
    around: Sequence[Cumulants], laws: Sequence[ContributionLaw], compared: int, users: int, level: float
) -> BandQuantile:
    """Of `compared` answers at once, by Bonferroni's inequality; some of them have the cumulants `around`.

    The `laws` are those of answers whose error few reports make up: their tails are bounded from the law of a report.
    """
    quantile, outer = (bonferroni_quantile(each, compared) for each in (level, 1 - (1 - level) * OUTER_SHARE))
    if laws:
        tail = (1 - level) / (2 * compared)
        quantile = max(quantile, *(_in_errors(law, users, tail) for law in _some(laws)))
        return BandQuantile(quantile, holds=True)
    skewed = any(abs(one.skewness) > MOST_SKEWNESS * math.sqrt(users) for one in around)
    return BandQuantile(quantile, holds=not skewed, outer=None if skewed else bent_reach(outer, around, users))


def bent_reach(quantile: float, around: Iterable[Cumulants], users: int) -> float:
    """The furthest that ± `quantile` standard errors are once they are bent to one of these cumulants."""
    shapes = {(one.skewness / math.sqrt(users), one.excess_kurtosis / users) for one in around}
    ends = np.array([-quantile, quantile])
    return float(max([quantile, *(np.abs(bent(ends, *shape)).max() for shape in shapes)]))


def _in_errors(law: ContributionLaw, users: int, tail: float) -> float:
    """How many standard errors an error goes on either side but for the chance `tail`."""
    variance = law.moments.of_reporters.variance
    return furthest_error(law, users, tail) * math.sqrt(users / variance) if variance > 0 else 0.0


def _some(laws: Sequence[ContributionLaw]) -> list[ContributionLaw]:
    """A few of them from the rarest events to the most usual: the tails of many would take seconds."""
    rarest = sorted(laws, key=lambda law: law.events(1))
    places = np.unique(np.linspace(0, len(laws) - 1, _MOST_TAILS).astype(int))
    return [rarest[place] for place in places]


def campaigns_tell(level: float) -> bool:
    """Whether a band of this level can be drawn: up to .998."""
    return drawn_often(level, _CAMPAIGNS)


def _of_campaigns(outputs: OutputCounts, histograms: tuple[Floats, Floats], users: int, level: float) -> float | None:
    """From seeded campaigns under two histograms that users may have; None where they would take long."""
    usual, other = (_largest_errors(outputs, histogram, users) for histogram in histograms)
    if usual is None:
        return None
    quantile = quantile_of_draws(usual, level)
    if other is None or (other <= quantile).mean() >= level - _SHORT:
        return quantile
    return quantile_of_draws(other, level)


def _largest_errors(outputs: OutputCounts, histogram: Floats, users: int) -> Floats | None:
    """(_CAMPAIGNS,) the largest error, in its standard errors, of users who hold whole numbers of the types."""
    held = whole_users(histogram, users)
    present = np.flatnonzero(held)
    if _CAMPAIGNS * len(outputs.kernel) * len(present) > _MOST_COUNTS:
        return None
    chances = outputs.kernel[:, present] / outputs.kernel[:, present].sum(axis=0)
    means = outputs.steps @ chances
    variances = np.maximum(outputs.steps**2 @ chances - means**2, 0.0) @ held[present]
    deviations, centre = np.sqrt(variances), means @ held[present]
    largest = [
        (np.abs(outputs.steps @ counts - centre[:, None]) / deviations[:, None]).max(axis=0)
        for counts in _drawn_counts(chances, held[present])
    ]
    return np.concatenate(largest) * (1 + _ROOM * seeded_generator().random(_CAMPAIGNS))


def _drawn_counts(chances: Floats, users_of: Indices, batch: int = _BATCH) -> Iterator[Floats]:
    """(m, some) how often each output is reported."""
    generator = seeded_generator()
    for _ in range(_CAMPAIGNS // batch):
        counts = np.zeros((batch, len(chances)), dtype=np.int64)
        for users, chance in zip(users_of, chances.T, strict=True):
            counts += generator.multinomial(users, chance, size=batch)
        yield counts.T.astype(float)
