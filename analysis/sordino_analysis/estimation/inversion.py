"""Exact coverage of an interval from the law of one report: the characteristic function of a sum, turned back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.contribution_law import ContributionLaw
from sordino_analysis.evaluation.whole_users import whole_users
from sordino_analysis.optimisation.symmetry.row_spectrum import Complex
from sordino_analysis.questions.linear.operators import Indices

# The sum is blurred by a normal variable of this many standard errors: an interval whose end falls on a value that has
# a chance of its own is neither inside nor outside, as the histogram that its ends come from is itself uncertain.
_BLUR = 0.1
# Frequencies to where the blur leaves e^-8, as far apart as sums within ± 15 standard errors allow.
_STEP = 0.2
_FREQUENCIES = _STEP * np.arange(1, int(4.0 / (_BLUR * _STEP)) + 1)


def reporters_coverage(
    law: ContributionLaw, users: int, half_width: float, deviation: float, scatter: float = 0.0
) -> float:
    """P(|mean error of `users` reports| ≤ half-width) about these users' own answer, for a normal half-width.

    It has mean `half_width` and relative standard deviation `scatter`. `deviation` is the standard error, that sets
    the scale only. Users hold whole numbers of the classes.
    """
    return _within(_of_reporters(law, users, users * deviation), half_width / deviation, scatter)


def population_coverage(
    law: ContributionLaw, users: int, half_width: float, deviation: float, scatter: float = 0.0
) -> float:
    """The same about the population's answer, whom the users are drawn from independently."""
    return _within(_of_population(law, users, users * deviation), half_width / deviation, scatter)


def coverage_of_sum(
    parts: Sequence[tuple[float, int, ContributionLaw]],
    ends: Floats,
    *,
    sampled: bool,
    drawn: Sequence[tuple[float, int, ContributionLaw]] = (),
    scatter: float = 0.0,
) -> float:
    """P(ends[0] ≤ E ≤ ends[1]) for E = Σ w_b·(mean error of n_b reports), the `parts` (w_b, n_b, law of a report).

    `ends` (2,). Errors are about the users of each part, or where these are `sampled` about what they are drawn from,
    as those of the `drawn` parts always are. The half-width has a relative standard deviation `scatter`. 1 where there
    is no error.
    """
    every = [*((part, sampled) for part in parts), *((part, True) for part in drawn)]
    cumulants = [law.moments.of_population if from_all else law.moments.of_reporters for (_, _, law), from_all in every]
    variances = [
        weight**2 * one.variance / users for ((weight, users, _), _), one in zip(every, cumulants, strict=True)
    ]
    deviation = float(np.sqrt(sum(variances)))
    if deviation <= 0:
        return 1.0
    half, middle = (ends[1] - ends[0]) / (2 * deviation), (ends[0] + ends[1]) / (2 * deviation)
    transform = np.exp(-1j * middle * _FREQUENCIES)
    for (weight, users, law), from_all in every:
        of_part = _of_population if from_all else _of_reporters
        transform = transform * of_part(law, users, users * deviation / weight)
    return _within(transform, float(half), scatter)


def _of_reporters(law: ContributionLaw, users: int, scale: float) -> Complex:
    held = whole_users(law.shares, users)
    present = np.flatnonzero(held)
    return np.asarray(np.prod(_transforms(law, present, np.zeros(len(present)), scale) ** held[present], axis=1))


def _of_population(law: ContributionLaw, users: int, scale: float) -> Complex:
    present = np.flatnonzero(law.shares > 0)
    shares = law.shares[present] / law.shares.sum()
    centre = law.truth[present] - law.truth[present] @ shares
    return np.asarray((_transforms(law, present, centre, scale) @ shares) ** users)


def _transforms(law: ContributionLaw, classes: Indices, moved: Floats, scale: float) -> Complex:
    """(T, g) E exp(i t (c − E c + moved)/scale) of some classes."""
    chances = law.chances[:, classes] / law.chances[:, classes].sum(axis=0)
    # Frequencies are multiples of one: powers cost less than as many exponentials.
    turns = np.exp(1j * _STEP * law.values / scale)
    at_values = np.multiply.accumulate(np.broadcast_to(turns, (len(_FREQUENCIES), len(turns))), axis=0)
    # A product of complex and real numbers, which are made complex first, takes many times as long.
    weighed = at_values.real @ chances + 1j * (at_values.imag @ chances)
    return np.asarray(weighed * np.exp(1j * np.outer(_FREQUENCIES, moved - law.values @ chances) / scale))


def _within(transform: Complex, width: float, scatter: float) -> float:
    """P(|E + blur| ≤ (1 + scatter·Z)·width·√(1 + blur²)) from E's transform at the frequencies, Z normal."""
    end = width * float(np.sqrt(1 + _BLUR**2))
    blurred = transform.real * np.exp(-(_BLUR**2 + (scatter * end) ** 2) * _FREQUENCIES**2 / 2)
    waves = np.sin(end * _FREQUENCIES) / (np.pi * _FREQUENCIES)
    return float(np.clip(_STEP * (end / np.pi + 2 * waves @ blurred), 0.0, 1.0))
