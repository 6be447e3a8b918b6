"""Rounds that too few took part in are warned of; chance alone is not."""

from __future__ import annotations

import numpy as np
import pytest

from sordino_analysis.kinds.participation import participation_warnings, source_warnings


@pytest.mark.parametrize("users", [(1000,), (1000, 1000), (1000, 991), (1000, 1200, 1190)])
def test_rounds_of_the_same_users(users: tuple[int, ...]) -> None:
    assert participation_warnings(None, users) == []


@pytest.mark.parametrize(("users", "told"), [((1000, 900), "round 1 has 100"), ((10, 10, 9), "round 2 has 1")])
def test_users_who_left_between_rounds(users: tuple[int, ...], told: str) -> None:
    (warning,) = participation_warnings(None, users)
    assert told in warning


def test_the_drawn_split_is_within_chance_and_a_shifted_one_is_not() -> None:
    """400 splits of 10,000 users: 4 standard errors are left once in 40 such runs; the seed is fixed."""
    generator = np.random.default_rng(3)
    drawn = generator.binomial(10_000, 0.4, size=400)
    assert not any(participation_warnings(0.4, (int(n), 10_000 - int(n))) for n in drawn)
    # One device in ten misses round 1: the share of round 0 becomes .4/(.4 + .54), six standard errors off.
    (warning,) = participation_warnings(0.4, (4000, 5400))
    assert "4000 of 9400 reports are of round 0, about 3760 were to be" in warning
    assert participation_warnings(0.4, (4000,)) == []


def test_a_source_that_sent_less_than_the_round_before_is_told() -> None:
    assert source_warnings("eu", None, {0: 1000, 1: 995}) == []
    (told,) = source_warnings("eu", None, {0: 1000, 1: 900})
    assert told.startswith("source eu: round 1 has 100 reports fewer than round 0")
    (told,) = source_warnings("eu", None, {0: 1000, 1: None})
    assert told.startswith("source eu sent no sums of round 1")
    assert source_warnings("eu", 0.5, {0: 5000, 1: 5100}) == []
    assert len(source_warnings("eu", 0.5, {0: 5000, 1: 8000})) == 1
