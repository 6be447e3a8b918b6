"""Empirical Bayes on the six kinds of users of many cells, against the projection."""

from __future__ import annotations

import numpy as np
import pytest

from sordino_analysis.estimation.best.mixing import mixed, posterior_means
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
        assert guess.histogram.sum() <= 1 + 1e-9
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


def test_classes_of_values_stand_for_very_many_cells() -> None:
    random = np.random.default_rng(0)
    shares = np.where(np.arange(4096) < 300, 1 / 300, 0.0)
    values, errors = shares + 1e-3 * random.standard_normal(4096), np.full(4096, 1e-3)
    whole, classes = posterior_means(values, errors), posterior_means(np.append(values, 0.0), np.append(errors, 1e-3))
    np.testing.assert_allclose(classes.means[:-1], whole.means, atol=5e-5)


def test_cells_without_noise_keep_their_values() -> None:
    assert mixed(np.array([0.3, 0.7]), np.zeros(2)).histogram.tolist() == [0.3, 0.7]
