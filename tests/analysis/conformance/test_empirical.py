"""The empirical audit finds samplers that pass the law of each report's favour, and accepts correct ones.

A correct sampler is called broken in at most 5 of 100 runs; seeds are fixed, and the margin of the cases is above 1.
"""

from __future__ import annotations

import numpy as np
import pytest

from sordino_analysis.conformance.empirical import empirical_bound, log_ratio, reference_sampler
from sordino_analysis.conformance.outcomes import outcomes
from sordino_analysis.vectorized.arrays import array_of
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import DenseRows, FiniteKernel, Pair, RandomizedResponse, SubsetSelection
from tests.analysis.conformance.samplers import (
    ONE,
    direction_part,
    drawn_again,
    label_chosen,
    label_part,
    part_of,
    table_part,
    transposed,
)


@pytest.mark.parametrize(
    ("part", "broken", "draws"),
    [(direction_part, drawn_again, 20_000), (table_part, transposed, 40_000), (label_part, label_chosen, 20_000)],
    ids=["seed drawn again", "transposed table", "label chosen"],
)
def test_a_broken_sampler_is_found_and_the_shipped_one_is_not(part, broken, draws) -> None:
    stated = part()
    found = empirical_bound(stated, broken(stated), draws)
    assert found.bound > found.claimed
    assert not found.holds
    true = empirical_bound(stated, reference_sampler(stated, 8), draws)
    assert true.holds
    assert 0.5 * true.claimed < true.bound <= true.claimed
    assert abs(true.bound - true.perfect) < 0.25


def test_a_bound_is_near_the_claim_where_events_are_frequent() -> None:
    """Between .85 ε and ε for events above 1 %: randomised response of four values."""
    part = part_of(RandomizedResponse.for_guarantee(4, ONE), 4)
    found = empirical_bound(part, reference_sampler(part, 9), 200_000)
    assert 0.85 <= found.bound <= 1
    assert found.finds_above == pytest.approx(2 - found.perfect)


def test_a_perfect_sampler_is_not_said_to_give_more_than_the_claim() -> None:
    """With these draws and this seed its own bound is above ε, as up to one run in twenty is."""
    part = direction_part()
    found = empirical_bound(part, reference_sampler(part, 8), 40_000)
    assert found.perfect <= found.claimed <= found.finds_above


def test_an_epsilon_that_is_half_again_too_large_is_found() -> None:
    part = part_of(RandomizedResponse.for_guarantee(4, ONE), 4)
    worse = RandomizedResponse.for_guarantee(4, PureEpsilon.of("1.5"))
    randomness = SeededRandomness(3)
    found = empirical_bound(part, lambda cell, n: randomize_many(worse, np.full(n, cell), randomness), 40_000)
    assert found.bound > 1.2


def test_a_subset_that_always_holds_the_value_is_found() -> None:
    part = part_of(SubsetSelection(8, 2, 60, int(2**60 * 0.47)), 8)
    certain = SubsetSelection(8, part.randomizer.subset_size, 60, 2**60 - 1)  # type: ignore[union-attr]
    randomness = SeededRandomness(3)
    found = empirical_bound(part, lambda cell, n: randomize_many(certain, np.full(n, cell), randomness), 20_000)
    assert found.bound > found.claimed + 1


@pytest.mark.slow  # 200 runs of a correct sampler
def test_false_alarms_are_at_most_five_in_a_hundred() -> None:
    part = part_of(RandomizedResponse.for_guarantee(2, ONE), 2)
    alarms = sum(not empirical_bound(part, reference_sampler(part, 100 + run), 4_000).holds for run in range(200))
    assert alarms <= 20


def test_the_interval_is_clopper_and_pearsons() -> None:
    """10 of 100: from .0490 to .1762 (Clopper and Pearson 1934); 0 of 100: up to .0362."""
    found = log_ratio(np.array([10, 100, 0]), np.array([10, 0, 5]), 100, 0.025)
    expected = [np.log(0.04900469 / 0.17622260), np.log(0.96378331 / 0.03621669), -np.inf]
    assert found == pytest.approx(expected, abs=1e-6)


def test_too_few_draws_are_refused() -> None:
    part = part_of(RandomizedResponse.for_guarantee(2, ONE), 2)
    with pytest.raises(InvalidValue, match="400 draws"):
        empirical_bound(part, reference_sampler(part, 1), 100)


def test_the_features_of_a_pair_are_the_same_for_all_reports() -> None:
    """A place in the list, chosen by some reports, is looked up in others, which may lack the rare outcomes."""
    table = np.full((80, 2), 2**60 // 80, dtype=np.uint64)
    kernel = FiniteKernel(60, DenseRows(array_of(table, "<u8")))
    pair = Pair(kernel, kernel)
    rare = np.zeros((5, pair.payload_bytes), dtype=np.uint8)
    rare[-1, 0] = 79
    names = [[each.name for each in outcomes(pair, [0, 1], reports)] for reports in (rare[:4], rare)]
    assert names[0] == names[1]
    # Both parts are looked at together, and each alone.
    assert len(names[0]) == 3 + 3 + 9
