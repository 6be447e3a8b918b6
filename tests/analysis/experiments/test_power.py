"""Users before launch: the closed form, and what simulated experiments find with them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sordino_analysis.experiments.looks import Looks
from sordino_analysis.experiments.planned_looks import boundaries, crossing_chances
from sordino_analysis.experiments.power import PowerTerms, error_of_an_arm, needed_drift
from sordino_shared.errors import InvalidValue


def one_bit(epsilon, **terms):
    odds = math.exp(epsilon)
    return PowerTerms(noise=odds / (odds - 1) ** 2 + 0.25, weights=(1, 1), **terms)


@pytest.mark.parametrize(("epsilon", "users"), [(1, 367_540), (2, 135_320), (4, 84_456)])
def test_users_of_one_look_are_the_textbook_formula(epsilon, users):
    assert one_bit(epsilon).users(0.01) == users
    assert one_bit(epsilon).difference(users) == pytest.approx(0.01, rel=1e-5)


def test_planned_looks_cost_seven_per_cent_and_any_time_ninety():
    terms = one_bit(1)
    one = terms.users(0.01)
    assert terms.users(0.01, Looks.PLANNED, 30) / one == pytest.approx(1.067, abs=0.002)
    assert terms.users(0.01, Looks.ANY) / one == pytest.approx(1.915, abs=0.005)
    assert terms.users(0.01, Looks.PLANNED, 1) == one


def test_simulated_paths_have_the_power_of_the_drift():
    """20,000 Brownian paths at ten looks: a standard error of .0028."""
    shares = np.arange(1, 11) / 10
    bounds, drift = boundaries(shares.tolist(), 0.95, ended=True), needed_drift(Looks.PLANNED, 10, 0.95, 0.8)
    steps = np.random.default_rng(4).normal(drift / 10, math.sqrt(0.1), (20_000, 10))
    found = (steps.cumsum(axis=1) >= bounds * np.sqrt(shares)).any(axis=1).mean()
    assert found == pytest.approx(0.8, abs=0.009)
    below, above = crossing_chances(shares.tolist(), bounds.tolist(), drift)
    assert above.sum() == pytest.approx(0.8, abs=1e-5)
    assert below.sum() < 1e-4


def test_more_arms_and_unequal_arms_take_more():
    equal = one_bit(1)
    lopsided = PowerTerms(noise=equal.noise, weights=(4, 1))
    three = PowerTerms(noise=equal.noise, weights=(1, 1, 1))
    assert lopsided.users(0.01) == pytest.approx(equal.users(0.01) * (1.25 + 5) / 4, rel=1e-5)
    assert three.comparison_level == pytest.approx(0.975)
    assert three.users(0.01) > 1.5 * equal.users(0.01)


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({"power": 1.0}, "power"),
        ({"level": 0.0}, "level"),
        ({"weights": (1,)}, "two arms"),
        ({"weights": (1, 0)}, "above 0"),
        ({"noise": math.nan}, "variance"),
    ],
)
def test_what_nobody_can_ask_is_refused(terms, said):
    with pytest.raises(InvalidValue, match=said):
        PowerTerms(**{"noise": 1.0, "weights": (1, 1)} | terms)
    with pytest.raises(InvalidValue, match="difference"):
        one_bit(1).users(0.0)


@pytest.mark.parametrize("weights", [(1, 1), (3, 1), (1, 1, 2)])
def test_the_error_of_the_smaller_arm_is_that_of_the_users_for_the_difference(weights):
    """By the users that one look takes: √(noise/n) of the arm with the least weight."""
    terms = PowerTerms(noise=1.3, weights=weights)
    users = terms.users(0.02)
    least = users * min(weights[0], *weights[1:]) / sum(weights)
    assert error_of_an_arm(0.02, weights, 0.95, 0.8) == pytest.approx(math.sqrt(1.3 / least), rel=1e-3)
