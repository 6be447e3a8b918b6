"""Fieller's intervals of ratios, and denominators that may be zero."""

import numpy as np
import pytest

from sordino_analysis.pairwise.estimators import one_round_estimate
from sordino_analysis.pairwise.ratios import MADE_UP, may_be_zero
from sordino_analysis.questions.pairwise import parse_statistic
from tests.analysis.pairwise.test_estimators import response, rounds

AREA = parse_statistic(
    {
        "name": "area",
        "domain": [
            {"name": "score", "kind": "ordinal", "edges": {"low": 0, "high": 1, "bins": 2}},
            {"name": "label", "kind": "categorical", "labels": ["no", "yes"]},
        ],
        "statistic": {"kind": "auc", "score": "score", "label": "label", "positive": "yes"},
    }
).build()


def estimates(epsilon, counts, runs, seed=0):
    found = rounds(response(epsilon), np.array(counts), runs, seed)
    return [one_round_estimate(AREA, reports, target="pairs", protocol="p") for reports in found]


def test_a_ratio_of_a_far_denominator_has_the_interval_of_the_delta_method():
    (found,) = estimates(6.0, [2000, 1000, 1000, 2000], 1)
    middle, reach = (found.lower + found.upper) / 2, (found.upper - found.lower) / 2
    assert middle == pytest.approx(found.value, abs=0.1 * reach)
    assert reach == pytest.approx(1.96 * found.standard_error, rel=0.05)


@pytest.mark.parametrize(
    "epsilon", [pytest.param(1.0, marks=pytest.mark.slow), 4.0, pytest.param(8.0, marks=pytest.mark.slow)]
)
def test_with_one_label_no_value_is_published(epsilon):
    """The chance of two values in 200 is at most 2 in 10,000."""
    found = estimates(epsilon, [30, 0, 30, 0], 200)
    assert sum(each.value is not None for each in found) <= 1
    assert all("no value is published" in each.warnings[0] for each in found if each.value is None)


def test_the_bound_on_values_made_up_is_one():
    """Of 20,000 rounds with one label at most 2 are expected to be told from it: 12 are past four standard errors."""
    found = rounds(response(3.0), np.array([40, 0, 0, 0]), 20_000)
    distinct = {each.counts.tobytes(): each for each in found}
    told = {key for key, each in distinct.items() if not may_be_zero(AREA, each)}
    assert sum(each.counts.tobytes() in told for each in found) <= MADE_UP * 20_000 + 10
    both = rounds(response(3.0), np.array([10, 10, 10, 10]), 100)
    assert not any(may_be_zero(AREA, each) for each in both)


def test_an_interval_is_cut_to_what_the_area_can_be_and_says_so():
    cut = [each for each in estimates(4.0, [100, 0, 0, 100], 60) if each.upper == 1.0]
    assert cut
    assert all("beyond 0 to 1" in " ".join(each.warnings) for each in cut)
    assert all(0 <= each.lower < each.upper for each in cut)


@pytest.mark.slow
def test_fiellers_interval_covers_where_the_denominator_is_hardly_told_from_zero():
    """The standard error of 400 campaigns is 1.1 %; intervals that are cut may cover more."""
    counts = [60, 8, 50, 6]
    truth = AREA.of_pairs(np.array(counts, dtype=float))
    found = estimates(1.5, counts, 400)
    assert sum(each.value is None for each in found) > 40
    assert np.mean([each.lower <= truth <= each.upper for each in found]) > 0.915
