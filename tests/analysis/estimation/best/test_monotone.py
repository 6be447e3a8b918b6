"""The closed form of the nearest histogram against quadratic programs, and its derivative against differences."""

from __future__ import annotations

import numpy as np
import pytest

from sordino_analysis.estimation.best.monotone import MonotoneProjection
from sordino_analysis.estimation.consistency import nearest_histogram
from sordino_analysis.evaluation.grids.families import IntervalFamily, PrefixFamily, RangeFamily
from sordino_analysis.questions.linear.operators import Prefix, Ranges

FAMILIES = [RangeFamily(30, 30), RangeFamily(30, 31), PrefixFamily(30, 30), PrefixFamily(30, 32)]


def _unbiased(family: IntervalFamily, seed: int, noise: float) -> np.ndarray:
    random = np.random.default_rng(seed)
    shares = random.dirichlet(np.full(family.size, 0.3)) + noise * random.standard_normal(family.size)
    return np.asarray(shares + (1 - shares.sum()) / family.size)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("noise", [0.01, 0.1, 1.0])
def test_it_is_the_nearest_by_all_queries(family: IntervalFamily, noise: float) -> None:
    for seed in range(5):
        unbiased = _unbiased(family, seed, noise)
        found = MonotoneProjection.of(family, unbiased).histogram
        operator = (Ranges if isinstance(family, RangeFamily) else Prefix)(family.bins, family.size)
        other = nearest_histogram(operator, operator.matvec(unbiased), 1e-10).histogram
        lost = [float((one - unbiased) @ family.gram(one - unbiased)) for one in (found, other)]
        assert found.min() >= 0
        assert found.sum() == pytest.approx(1.0, abs=1e-12)
        assert lost[0] <= lost[1] + 1e-9


@pytest.mark.parametrize("family", FAMILIES)
def test_its_derivative_is_that_of_differences(family: IntervalFamily) -> None:
    # Users and noise for which some of F is cut at 0 or 1.
    drawn = (_unbiased(family, seed, 0.5) for seed in range(50))
    unbiased = next(each for each in drawn if not MonotoneProjection.of(family, each).free.all())
    edges = family.bins - (family.bins == family.size)
    found, step = MonotoneProjection.of(family, unbiased), 1e-7
    for edge in range(edges):
        moved = np.zeros(family.size)
        moved[edge] += step
        moved[edge + 1 if edge + 1 < family.size else -1] -= step
        ends = [np.cumsum(MonotoneProjection.of(family, unbiased + sign * moved).histogram)[:edges] for sign in (1, -1)]
        expected = (ends[0] - ends[1]) / (2 * step)
        np.testing.assert_allclose(found.derivative(np.eye(edges)[edge]), expected, atol=1e-6)
