"""Chernoff's bound of the error of few reports, against exact binomial tails."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from sordino_analysis.estimation.band import furthest_error
from sordino_analysis.evaluation.contribution_law import ContributionLaw


def events(chance: float, classes: int = 1) -> ContributionLaw:
    """One event of this chance, of users who are all alike, whatever classes they are counted in."""
    chances = np.array([[1 - chance], [chance]]).repeat(classes, axis=1)
    return ContributionLaw(np.array([0.0, 1.0]), chances, np.full(classes, 1 / classes), np.full(classes, chance))


@pytest.mark.parametrize("chance", [0.5, 0.1, 0.01])
@pytest.mark.parametrize("users", [1, 2, 10, 100, 1000])
@pytest.mark.parametrize("tail", [0.025, 1e-5])
def test_no_tail_is_above_what_was_asked_for(chance: float, users: int, tail: float) -> None:
    reach = furthest_error(events(chance), users, tail)
    above = binom.sf(math.ceil(users * (chance + reach) + 1e-9) - 1, users, chance)
    below = binom.cdf(math.floor(users * (chance - reach) - 1e-9), users, chance)
    assert max(above, below) <= tail
    assert reach <= max(chance, 1 - chance)


def test_the_bound_is_within_a_quarter_of_the_quantile_of_many_events() -> None:
    users, chance, tail = 10_000, 0.3, 1e-5
    exact = (binom.isf(tail, users, chance) - users * chance) / users
    assert exact < furthest_error(events(chance), users, tail) < 1.25 * exact


def test_classes_of_one_law_are_one_class() -> None:
    assert furthest_error(events(0.1, 3), 20, 1e-3) == pytest.approx(furthest_error(events(0.1), 20, 1e-3), rel=1e-9)


def test_users_of_known_classes_vary_less_than_those_who_are_drawn() -> None:
    """Half of the users have an event of chance .1 and half one of .9: their mean varies as two binomials do."""
    law = ContributionLaw(
        np.array([0.0, 1.0]), np.array([[0.9, 0.1], [0.1, 0.9]]), np.array([0.5, 0.5]), np.array([0.1, 0.9])
    )
    assert furthest_error(law, 100, 1e-3) < 0.7 * furthest_error(events(0.5), 100, 1e-3)


def test_what_is_the_same_for_all_has_no_error() -> None:
    assert furthest_error(ContributionLaw(np.array([1.0]), np.ones((1, 1)), np.ones(1), np.ones(1)), 5, 1e-3) == 0.0
