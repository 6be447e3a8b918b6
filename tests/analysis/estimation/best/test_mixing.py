"""Empirical Bayes on the six kinds of users of many cells, against the projection."""

from __future__ import annotations

import numpy as np
import pytest

from sordino_analysis.estimation.best.mixing import mixed, mixed_of_alike, posterior_means
from sordino_analysis.estimation.consistency import project_onto_simplex

CELLS = np.arange(1000)
USERS = {
    "zipf": 1 / (CELLS + 1.0),
    "zipf of 100": np.where(CELLS < 100, 1 / (CELLS + 1.0), 0),
    "20 equal": np.where(CELLS < 20, 1.0, 0.0),
    "geometric": 0.97**CELLS,
    "half": np.where(CELLS < 500, 1.0, 0.0),
    "one": np.where(CELLS == 3, 1.0, 0.0),
}


def _losses(kind: str, error: float, draws: int = 5) -> tuple[float, float]:
    """Squared errors of the guess and of the projection."""
    shares, random = USERS[kind] / USERS[kind].sum(), np.random.default_rng(2)
    found = np.zeros(2)
    for _ in range(draws):
        values = shares + error * random.standard_normal(len(shares))
        guess = mixed(values, np.full(len(shares), error**2))
        assert guess.histogram.min() >= 0
        assert guess.histogram.sum() == pytest.approx(1.0, abs=1e-9)
        found += [((one - shares) ** 2).sum() for one in (guess.histogram, project_onto_simplex(values))]
    return float(found[0]), float(found[1])


# ε = 1 with 200,000 users, and ε = 4 with two million.
@pytest.mark.parametrize("error", [2.3e-3, 1.1e-4])
@pytest.mark.parametrize("kind", list(USERS))
def test_guesses_of_many_cells_are_no_worse_than_the_projection(kind: str, error: float) -> None:
    guess, nearest = _losses(kind, error)
    assert guess <= nearest * (1 + 1e-9)
    if kind == "zipf" and error > 1e-3:
        assert guess <= 0.6 * nearest


@pytest.mark.parametrize("kind", ["zipf", "one"])
def test_values_that_many_cells_have_are_guessed_once(kind: str) -> None:
    shares, random = USERS[kind] / USERS[kind].sum(), np.random.default_rng(4)
    values = np.round(shares + 2e-3 * random.standard_normal(len(shares)), 3)
    distinct, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    whole = mixed(values, np.full(len(values), 4e-6))
    alike = mixed_of_alike(distinct, np.full(len(distinct), 4e-6), counts.astype(float))
    np.testing.assert_allclose(alike.shares[places], whole.histogram, atol=1e-9)
    np.testing.assert_allclose(alike.risks, [each.risk for each in whole.candidates], atol=1e-12)


def test_the_estimated_risk_of_the_projection_is_right_on_average() -> None:
    """60 draws of normal values; three standard errors, one in 370 is refused, and the seed is fixed."""
    shares, random, error = USERS["geometric"] / USERS["geometric"].sum(), np.random.default_rng(6), 2e-3
    apart = []
    for _ in range(60):
        values = shares + error * random.standard_normal(len(shares))
        guess = mixed(values, np.full(len(shares), error**2))
        nearest = project_onto_simplex(values)
        apart.append(guess.candidates[1].risk - ((nearest - shares) ** 2).sum())
    assert abs(np.mean(apart)) <= 3 * np.std(apart) / np.sqrt(len(apart))


def test_classes_of_values_stand_for_very_many_cells() -> None:
    random = np.random.default_rng(0)
    shares = np.where(np.arange(4096) < 300, 1 / 300, 0.0)
    values, errors = shares + 1e-3 * random.standard_normal(4096), np.full(4096, 1e-3)
    whole, classes = posterior_means(values, errors), posterior_means(np.append(values, 0.0), np.append(errors, 1e-3))
    np.testing.assert_allclose(classes.means[:-1], whole.means, atol=5e-5)


def test_cells_without_noise_keep_their_values() -> None:
    assert mixed(np.array([0.3, 0.7]), np.zeros(2)).histogram.tolist() == [0.3, 0.7]
