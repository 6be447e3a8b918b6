"""Releases: unbiased with the stated errors, intervals that hold, projected answers that are true ones."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from sordino_analysis.curator.noise import CuratorNoise
from sordino_analysis.curator.plan import CuratorPlan, plan_release
from sordino_analysis.curator.release import MAX_PEOPLE, measure, release, released_estimate
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_analysis.questions.linear.specification import builtin_specification
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.errors import InvalidValue

RHO = Zcdp.of("0.024356")
RELEASES = 250


@cache
def planned(kind: str = "prefix") -> CuratorPlan:
    return plan_release(builtin_specification(kind, 16).build(), RHO, "mean")


def seeded(seed: int) -> CuratorNoise:
    return CuratorNoise(SeededRandomness(seed), seeded_for_tests=True)


def people(users: int, size: int = 16) -> np.ndarray:
    shares = 1 / np.arange(1, size + 1) ** 1.2
    return np.random.default_rng(5).multinomial(users, shares / shares.sum())


def test_intervals_and_bands_hold_as_often_as_they_say() -> None:
    """250 releases: the mean of z² and the coverages are within 5 standard errors of what is stated."""
    plan, counts, noise = planned(), people(500), seeded(1)
    truth = plan.workload.operator.matvec(counts / 500)
    found = [release(plan, counts, noise) for _ in range(RELEASES)]
    errors = np.array([(each.unbiased - truth) / each.standard_error for each in found])
    squares = (errors**2).mean(axis=1)
    assert abs(squares.mean() - 1) < 5 * squares.std() / RELEASES**0.5 < 0.2
    inside = np.array([(each.lower <= truth) & (truth <= each.upper) for each in found]).mean(axis=1)
    assert abs(inside.mean() - 0.95) < 5 * inside.std() / RELEASES**0.5
    banded = [bool(((each.band_lower <= truth) & (truth <= each.band_upper)).all()) for each in found]
    assert abs(np.mean(banded) - 0.95) < 5 * (0.05 * 0.95 / RELEASES) ** 0.5


def test_standard_errors_are_those_of_the_integers_whatever_the_rows() -> None:
    plan = planned()
    stated = np.sqrt(plan.strategy.variances(RHO)) / 500
    for counts in (people(500), np.eye(16, dtype=np.int64)[3] * 500):
        found = release(plan, counts, seeded(2))
        assert found.standard_error == pytest.approx(stated)
        for end, side in ((found.lower, -1), (found.upper, 1)):
            assert end == pytest.approx(np.clip(found.unbiased + side * 1.959964 * stated, 0, 1), rel=1e-6)
        own = np.array([found.lower, -found.upper])
        assert (np.array([found.population_lower, -found.population_upper]) <= own).all()
        assert (np.array([found.band_lower, -found.band_upper]) <= own).all()


def test_consistent_answers_are_those_of_a_histogram_and_closer_where_people_are_few() -> None:
    """60 releases of 40 people: the projected answers' mean squared error is far below the unbiased ones'."""
    plan, counts, noise = planned(), people(40), seeded(3)
    truth = plan.workload.operator.matvec(counts / 40)
    found = [release(plan, counts, noise) for _ in range(60)]
    for each in found:
        assert (np.diff(each.best) >= -1e-12).all()
        assert -1e-12 <= each.best.min() <= each.best.max() <= 1 + 1e-12
        assert not each.warnings
    unbiased, consistent = (
        np.mean([((getattr(each, name) - truth) ** 2).mean() for each in found]) for name in ("unbiased", "best")
    )
    assert consistent < 0.6 * unbiased


def test_a_measurement_is_the_integers_and_noise_alone() -> None:
    plan, counts = planned("histogram"), people(1000)
    noise = seeded(4).gaussian(plan.strategy.gaussian(RHO).variance, len(plan.strategy.rows))
    measured = measure(plan, counts, seeded(4))
    assert measured.dtype == np.int64
    assert (measured - noise == plan.strategy.rows @ counts).all()
    assert (released_estimate(plan, measured, 1000).unbiased == release(plan, counts, seeded(4)).unbiased).all()


@pytest.mark.parametrize(
    "counts",
    [
        np.ones(15, dtype=np.int64),
        np.ones(16),
        np.array([-123_457] + [1] * 15),
        np.array([MAX_PEOPLE] + [1] * 15),
        np.full(16, 2**63, dtype=np.uint64),
    ],
)
def test_what_are_no_counts_is_refused_without_a_count_in_the_error(counts: np.ndarray) -> None:
    with pytest.raises(InvalidValue) as refused:
        release(planned(), counts, seeded(1))
    assert "123457" not in str(refused.value).replace(",", "")
    assert not isinstance(refused.value.value, np.ndarray)


def test_nobody_a_level_and_a_foreign_measurement_are_refused() -> None:
    plan = planned()
    with pytest.raises(InvalidValue, match="at least one row"):
        release(plan, np.zeros(16, dtype=np.int64), seeded(1))
    with pytest.raises(InvalidValue, match="level"):
        release(plan, people(5), seeded(1), level=1.0)
    with pytest.raises(InvalidValue, match="measures 15 numbers"):
        released_estimate(plan, np.zeros(3, dtype=np.int64), 5)
