"""Spreads and ratios that follow from several means: ends by brute force, and words where a group may be empty."""

from __future__ import annotations

import numpy as np
import pytest

from sordino_analysis.estimation.derived_answers import JointAnswers


def joint(answers: list[float], noise: list[list[float]], drawn: float = 0.0) -> JointAnswers:
    covariance, draws = np.array(noise), drawn * np.eye(len(answers))
    return JointAnswers(
        answers=np.array(answers),
        noise=covariance,
        drawn=draws,
        users=1000,
        level=0.95,
        compared=4,
    )


def test_the_interval_of_a_variance_is_the_range_over_the_ellipse() -> None:
    """Against 200,000 points inside of it: the ends are on its edge and nowhere further."""
    noise = np.array([[4e-4, 3e-4], [3e-4, 4e-4]])
    found = joint([0.4, 0.25], noise.tolist()).spread([0, 1], 0.0, 1.0, 0.0, root=False)
    rng = np.random.default_rng(1)
    points = rng.normal(size=(2, 200_000))
    points *= 1.959964 * np.sqrt(rng.random(200_000)) / np.linalg.norm(points, axis=0)
    first, second = np.array([[0.4], [0.25]]) + np.linalg.cholesky(noise) @ points
    values = second - first**2 + noise[0, 0]
    assert found.uncut == pytest.approx(0.25 - 0.16 + 4e-4)
    assert found.interval is not None
    assert found.interval[0] == pytest.approx(values.min(), abs=2e-4)
    assert found.interval[1] == pytest.approx(values.max(), abs=2e-4)
    assert found.interval[0] <= values.min()
    assert found.interval[1] >= values.max()


def test_a_variance_is_in_units_and_never_below_0_nor_above_a_quarter() -> None:
    noise = [[1e-2 * 400**2, 0.0], [0.0, 1e-2]]
    found = joint([300.0, 0.0], noise).spread([0, 1], 100.0, 400.0, 1e-3, root=False)
    # m₁ is .5, so that m₂ − m₁² is −.25.
    assert found.uncut == pytest.approx(-0.25 + 1e-2 - 5e-4)
    assert found.value == 0
    assert found.interval is not None
    assert 0 <= found.interval[0] <= found.interval[1] <= 0.25
    # The upper end is not below what rounding may do.
    sure = joint([300.0, 0.0], [[1e-12, 0.0], [0.0, 1e-12]]).spread([0, 1], 100.0, 400.0, 1e-3, root=False)
    assert sure.interval == (0.0, 5e-4)


def test_a_deviation_is_the_root_with_the_ends_of_the_variance() -> None:
    parts = joint([0.4, 0.25], [[4e-4, 3e-4], [3e-4, 4e-4]], drawn=1e-4)
    variance, deviation = (parts.spread([0, 1], 0.0, 1.0, 0.001, root=root) for root in (False, True))
    assert deviation.interval is not None
    assert variance.interval is not None
    assert variance.population_interval is not None
    assert deviation.interval == pytest.approx(np.sqrt(variance.interval))
    assert deviation.value == pytest.approx(np.sqrt(variance.value))
    assert variance.population_interval[0] < variance.interval[0] < variance.interval[1]
    assert variance.standard_error is not None
    assert deviation.value is not None
    assert deviation.standard_error == pytest.approx(variance.standard_error / (2 * deviation.value), rel=0.05)


def test_a_ratio_has_fiellers_ends() -> None:
    found = joint([0.1, 0.5], [[1e-4, 2e-5], [2e-5, 1e-4]]).ratio(0, 1, (-0.5, 0.5), "country: DE")
    assert found.value == pytest.approx(0.2)
    assert found.interval is not None
    for end in found.interval:
        error = np.sqrt(1e-4 - 2 * end * 2e-5 + end**2 * 1e-4)
        assert abs(0.1 - end * 0.5) == pytest.approx(1.959964 * error, rel=1e-6)


@pytest.mark.parametrize("share", [0.015, 0.0, -0.02])
def test_a_group_that_may_be_empty_has_no_numbers(share: float) -> None:
    found = joint([0.001, share], [[1e-4, 0.0], [0.0, 1e-4]]).ratio(0, 1, (-0.5, 0.5), "country: DE")
    assert (found.value, found.interval) == (None, None)
    assert found.enough_users is not None
    assert found.enough_users > 1000
    # 2.802 standard errors, rounded up to two figures; no share is known that is 0 or less.
    held = share if share > 0 else 1.959964 * 0.01
    needed = 1000 * (2.801585 * 0.01 / held) ** 2
    assert needed <= found.enough_users < needed + 100
    count = f"{found.enough_users:,}"
    would = f"about {count} in all would be enough" if share > 0 else f"it takes {count} users in all or more"
    assert found.sentence == f"not enough users in country: DE: {would}"


def test_a_sum_of_answers_has_the_variance_of_the_sum() -> None:
    found = joint([1.0, 2.0], [[4.0, 1.0], [1.0, 9.0]]).combination(np.array([2.0, 1.0]))
    assert (found.value, found.standard_error) == (4.0, pytest.approx(np.sqrt(4 * 4 + 9 + 4)))


def test_bands_hold_four_answers_at_once() -> None:
    """Šidák's quantile for four is 2.49 standard errors; a band of a ratio may be all that a ratio can be."""
    parts = joint([0.1, 0.23], [[1e-2, 0.0], [0.0, 1e-2]])
    combined = parts.combination(np.array([1.0, 0.0])).band
    assert combined == pytest.approx((0.1 - 0.2491, 0.1 + 0.2491), abs=2e-4)
    ratio = parts.ratio(0, 1, (-0.5, 0.5), "country: DE")
    assert ratio.value is not None
    assert ratio.band == (-0.5, 0.5)
