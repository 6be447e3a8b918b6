"""Normal intervals for one answer, and for all answers at once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.special import ndtri

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.contribution_law import Cumulants

# The seed and the number of draws are part of the method: the same estimate has the same band on every machine.
# 20,000 draws put the coverage of a 95 % band within .0031 of it, two standard errors.
BAND_DRAWS = 20_000
# Any seed: the same campaign has the same band on every machine.
_BAND_SEED = 20_261_120
# Products beyond this take more than a few seconds; Šidák's inequality needs none.
MOST_OPERATIONS = 4e10
# Draws that are held at once.
_BATCH = 1000
# Draws beyond a quantile that tell it: the chance of a tail is then known to a third.
_LEAST_BEYOND = 10
# Numbers of standard errors that are bent to find the largest: an expansion need not rise up to the last of them.
_BENT = 257
# Draws of all differences of up to 513 sums in a second: the .99 quantile is one of .99 ± .0032, two standard errors.
_DIFFERENCE_DRAWS, _DIFFERENCE_BATCH = 4000, 200
# A share of the largest variance that is rounding.
_EXACT = 1e-12


def normal_quantile(level: float) -> float:
    """z with P(|Z| ≤ z) = level for a standard normal Z."""
    return float(ndtri((1 + level) / 2))


def bonferroni_quantile(level: float, answers: int) -> float:
    """z with P(max |Z_q| > z) ≤ 1 − level for as many standard normal Z_q, in any number and however they depend.

    6.68 for the ranges of 65,536 bins at .95, and 4.94 for their prefixes.
    """
    return -float(ndtri((1 - level) / (2 * answers)))


def independent_quantile(level: float, queries: int) -> float:
    """z with P(max |Z_q| ≤ z) ≥ level for `queries` jointly normal Z_q, however correlated (Šidák 1967)."""
    # The tail, since 1 less so small a number may round to 1.
    return -float(ndtri(-math.expm1(math.log(level) / queries) / 2)) if queries else 0.0


def simultaneous_quantile(
    root: Floats, level: float, around: Sequence[Cumulants] | None = None, users: int = 1
) -> float:
    """z with P(max_q |Z_q| ≤ z) = level for answers of covariance root · rootᵀ scaled to unit variances.

    `root` is (Q, r); rows of zeros are answers without error. A quantile of seeded draws: of normal errors, where it is
    never above Šidák's, or of errors bent to the skewness and kurtosis of means of `users` users as `around` (Q,) says.
    At a level that too few of the draws are beyond it is Šidák's, bent likewise.
    """
    return simultaneous_quantiles(root, [level], around, users)[0]


def simultaneous_quantiles(
    root: Floats, levels: Sequence[float], around: Sequence[Cumulants] | None = None, users: int = 1
) -> list[float]:
    """`simultaneous_quantile` of `root` (Q, r) for several levels, from the same draws."""
    deviations = np.sqrt((root**2).sum(axis=1))
    varying = deviations > 0
    scaled = root[varying] / deviations[varying, None]
    ceilings = [independent_quantile(level, len(scaled)) for level in levels]
    if not len(scaled) or BAND_DRAWS * scaled.size > MOST_OPERATIONS:
        return ceilings
    if around is None:
        drawn = np.concatenate([np.abs(z).max(axis=0) for z in normal_draws(scaled)])
        pairs = zip(ceilings, levels, strict=True)
        return [min(top, quantile_of_draws(drawn, level)) if drawn_often(level) else top for top, level in pairs]
    skewness = np.array([one.skewness for one in around])[varying, None] / math.sqrt(users)
    excess = np.array([one.excess_kurtosis for one in around])[varying, None] / users
    found = np.concatenate([np.abs(bent(z, skewness, excess)).max(axis=0) for z in normal_draws(scaled)])
    return [
        quantile_of_draws(found, level)
        if drawn_often(level)
        else float(np.abs(bent(np.linspace(-top, top, _BENT), skewness, excess)).max())
        for top, level in zip(ceilings, levels, strict=True)
    ]


def drawn_often(level: float, draws: int = BAND_DRAWS) -> bool:
    """Whether enough of the draws are beyond a quantile of this level: of 20,000 up to a level of .9995."""
    return (1 - level) * draws >= _LEAST_BEYOND


def difference_quantiles(covariance: Floats, levels: Sequence[float]) -> list[float]:
    """z with P(max_{i<j} |X_i − X_j|/σ_ij ≤ z) = level for each of the levels, X normal with `covariance` (n, n).

    From seeded draws, and never above Šidák's. Differences without error count as nothing.
    """
    size = len(covariance)
    values, basis = np.linalg.eigh(covariance)
    root, own = basis * np.sqrt(np.maximum(values, 0.0)), covariance.diagonal()
    variances = np.maximum(own[:, None] + own - 2 * covariance, 0.0)
    varying = variances > _EXACT * max(float(own.max()), np.finfo(float).tiny)
    scales = np.where(varying, 1 / np.sqrt(np.where(varying, variances, 1.0)), 0.0)
    generator, largest = seeded_generator(), []
    for _ in range(_DIFFERENCE_DRAWS // _DIFFERENCE_BATCH):
        drawn = root @ generator.standard_normal((size, _DIFFERENCE_BATCH))
        most = np.zeros(_DIFFERENCE_BATCH)
        for place in range(size - 1):
            apart = np.abs(drawn[place + 1 :] - drawn[place]) * scales[place, place + 1 :, None]
            np.maximum(most, apart.max(axis=0), out=most)
        largest.append(most)
    found, count = np.concatenate(largest), int(varying.sum()) // 2
    return [
        min(quantile_of_draws(found, level), independent_quantile(level, count))
        if drawn_often(level, _DIFFERENCE_DRAWS)
        else independent_quantile(level, count)
        for level in levels
    ]


def bent(normal: Floats, skewness: Floats | float, excess: Floats | float) -> Floats:
    """Cornish and Fisher (1938): quantiles of a law with this skewness and kurtosis at those of a normal one.

    `normal` (…,), and skewness and excess kurtosis of any shape that goes with it.

    z + γ(z² − 1)/6 + κ(z³ − 3z)/24 − γ²(2z³ − 5z)/36, by Horner's rule.
    """
    square = skewness**2 / 36
    bent = normal * (excess / 24 - 2 * square)
    bent += skewness / 6
    bent *= normal
    bent += 1 - excess / 8 + 5 * square
    bent *= normal
    bent -= skewness / 6
    return np.asarray(bent)


def seeded_generator() -> np.random.Generator:
    """The draws of a band, the same for every estimate."""
    return np.random.Generator(np.random.PCG64(_BAND_SEED))


def normal_draws(root: Floats) -> Iterator[Floats]:
    """BAND_DRAWS seeded draws of covariance root · rootᵀ, (Q, some) at a time."""
    generator = seeded_generator()
    for _ in range(BAND_DRAWS // _BATCH):
        yield root @ generator.standard_normal((root.shape[1], _BATCH))


def quantile_of_draws(draws: Floats, level: float) -> float:
    """The value that another draw is at most with chance `level`. `draws` (n,)."""
    rank = math.ceil(level * (len(draws) + 1)) - 1
    return float(np.sort(draws)[min(rank, len(draws) - 1)])


def smoothed(histogram: Floats, users: int, z: float) -> Floats:
    """The histogram (k, …) of the users and z² more, spread evenly: a type that nobody seems to hold may be held.

    z² users are what moves the centre of Wilson's interval for a share, which Agresti and Coull (1998) add to it.
    """
    return np.asarray((users * histogram + z**2 / len(histogram)) / (users + z**2))
