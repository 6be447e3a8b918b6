"""95 % intervals of pairwise statistics hold in 95 ± 1.5 % of campaigns, or say that they may not.

A cell is refused where its coverage is more than four standard errors outside 93.5 to 96.5 %: by chance once in 30,000
cells.
"""

import math

import numpy as np
import pytest

from benchmarks.accuracy.coverage_cases import OWN_TABLE, POPULATIONS, Cell, all_cells
from benchmarks.accuracy.coverage_runs import LEVEL, Designs, pooled, tried
from benchmarks.accuracy.coverage_tables import TOLERANCE, warns
from benchmarks.accuracy.coverage_vectors import played_directions
from sordino_analysis.evaluation.accumulate import mean_accumulator
from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_analysis.pairwise import quadratic_error

STANDARD_ERRORS = 4.0


@pytest.fixture(scope="module")
def designs() -> Designs:
    return Designs()


def held(row):
    """Whether the coverage is as stated, as far as so many campaigns tell."""
    return row.coverage is None or abs(row.coverage - LEVEL) <= TOLERANCE + STANDARD_ERRORS * row.standard_error


@pytest.mark.parametrize(
    ("width", "verdict"), [(1.0, True), (0.7, False), pytest.param(1.6, False, marks=pytest.mark.slow)]
)
def test_the_law_of_the_error_is_accepted_and_one_that_is_off_is_refused(designs, monkeypatch, width, verdict):
    """With quantiles .7 as far from zero 83 % are covered, and 99.8 % with 1.6 as far."""
    quantile = quadratic_error.standard_quantile
    monkeypatch.setattr(quadratic_error, "standard_quantile", lambda *parts: width * quantile(*parts))
    row = tried(designs, Cell("gini_diversity", "one_round", 1.0, 2000, "zipf"), 1500 if width > 1 else 600, 1, 11)
    assert held(row) is verdict
    assert not warns(row)


def test_directions_are_drawn_with_the_moments_of_the_shipped_randomizer(designs):
    """Means of 20,000 reports of each type are within five standard errors: beyond by chance once in 30,000 runs."""
    _, design = designs.of(Cell("gini_diversity", "one_round_split", 6.0, 200, "zipf"))
    pair, users = design.first.device.randomizer, 20_000
    moments, generator = for_randomizer(pair).moments, np.random.default_rng(4)
    rows = np.eye(pair.accumulator_size)
    for cell in range(pair.size):
        aggregate = played_directions(pair, users * np.eye(pair.size, dtype=np.int64)[cell], generator)
        errors = mean_accumulator(pair, aggregate) - moments.means(rows)[:, cell]
        assert np.all(np.abs(errors) <= 5 * np.sqrt(moments.variances(rows)[:, cell] / users))


def test_campaigns_of_two_streams_are_pooled(designs):
    cell = Cell("auc", "one_round", 6.0, 50, "one_type")
    few, more = (tried(designs, cell, campaigns, 1, campaigns) for campaigns in (10, 30))
    both = pooled(few, more)
    assert (both.campaigns, both.coverage) == (40, None)
    assert both.doubted == pytest.approx((10 * few.doubted + 30 * more.doubted) / 40)


@pytest.mark.slow
def test_the_variance_of_users_of_one_type_is_covered(designs):
    """With the histogram nearest to the mean decoded report, which is no histogram here, all of 100 were covered."""
    row = tried(designs, Cell("variance", "one_round", 6.0, 2000, "one_type"), 400, 1, 6)
    assert held(row)
    assert row.coverage < 0.99
    assert not warns(row)


@pytest.mark.slow
def test_a_quadratic_term_that_leans_away_from_the_slope_is_covered(designs):
    """With the slope taken to lean as the quadratic term does, 83 % were covered."""
    row = tried(designs, Cell("variance", "one_round", 1.0, 50, "half_and_half"), 800, 1, 2)
    assert held(row)
    assert not warns(row)


def test_the_product_of_two_vectors_is_covered_where_users_are_few(designs):
    """With normal intervals 89 % were covered."""
    row = tried(designs, Cell("gini_diversity", "one_round_split", 8.0, 50, "one_type"), 800, 1, 7)
    assert held(row)
    assert not warns(row)


def test_few_lies_carry_a_warning(designs):
    row = tried(designs, Cell("kendall_a", "one_round", 8.0, 200, "one_type"), 200, 1, 3)
    assert row.doubted == 1.0


def test_few_lies_carry_no_warning_where_the_interval_holds_all_the_same(designs):
    """About one lie in both: of many sizes 94.7 % of 1,300 campaigns are covered, of one size 98 %."""
    many_sizes = tried(designs, Cell("gini_mean_difference", "one_round", 8.0, 2000, "zipf"), 300, 1, 8)
    assert held(many_sizes)
    assert not warns(many_sizes)
    one_size = tried(designs, Cell("gini_diversity", "one_round", 8.0, 2000, "half_and_half"), 100, 1, 9)
    assert warns(one_size)


def test_an_area_that_does_not_exist_is_no_number_and_no_campaign_is_refused(designs):
    """With one label only every campaign has an interval and none a value; with both, all have an interval."""
    alone = tried(designs, Cell("auc", "one_round", 6.0, 50, "one_type"), 300, 1, 4)
    assert (alone.valueless, alone.made_up, alone.refused) == (1.0, 0.0, 0.0)
    both = tried(designs, Cell("auc", "one_round", 1.0, 200, "zipf"), 300, 1, 5)
    assert both.refused == 0.0
    assert both.valueless > 0
    assert both.coverage >= LEVEL - TOLERANCE - STANDARD_ERRORS * math.sqrt(LEVEL * (1 - LEVEL) / 300)


def test_few_lies_of_a_ratio_and_of_two_rounds_carry_no_warning_where_the_interval_holds(designs):
    """Less than two lies each; before campaigns were drawn for them, every one carried a warning."""
    ratio = tried(designs, Cell("auc", "one_round", 6.0, 200, "zipf"), 60, 1, 12)
    both = tried(designs, Cell("kendall_b", "two_round_shared", 8.0, 50, "zipf"), 60, 2, 12)
    for row in (ratio, both):
        assert held(row)
        assert not warns(row)


@pytest.mark.parametrize(("users", "doubted"), [(50, 1.0), (999, 1.0), (1000, 0.0)])
def test_a_table_of_few_users_who_answer_both_rounds_carries_a_warning(designs, users, doubted):
    """How often they are covered: python -m benchmarks.accuracy.own_tables."""
    row = tried(designs, Cell(OWN_TABLE, "two_round_shared", 1.0, users, "one_type"), 10, 1, 6)
    assert row.doubted == doubted


@pytest.mark.slow
def test_a_second_round_that_asks_about_a_noisy_slope_is_covered(designs):
    """Of 3,000 campaigns 90.3 % were covered while the second round's noise moved with the first one's error."""
    cells = [Cell("kendall_a", "two_round_shared", 1.0, 200, population) for population in POPULATIONS]
    coverages = [tried(designs, cell, 1000, 1, 6).coverage for cell in cells]
    error = math.sqrt(LEVEL * (1 - LEVEL) / 3000)
    assert abs(np.mean(coverages) - LEVEL) <= TOLERANCE + STANDARD_ERRORS * error


# Every eleventh cell: by and by all statistics, protocols, ε, numbers of users and populations.
@pytest.mark.slow
@pytest.mark.parametrize(
    "cell",
    list(all_cells())[::11],
    ids=lambda cell: f"{cell.statistic}-{cell.protocol}-{cell.epsilon:g}-{cell.users}-{cell.population}",
)
def test_cells_hold_or_warn(designs, cell):
    row = tried(designs, cell, 300, 2, 6)
    assert row.refused == 0.0
    assert row.made_up == 0.0
    assert held(row) or warns(row)
