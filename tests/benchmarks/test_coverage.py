"""Coverage and warnings agree on a seeded selection of the benchmark's cases."""

import numpy as np
import pytest

from benchmarks.coverage import measure
from benchmarks.coverage.measure import Case, Coverage
from sordino_analysis.estimation.band import BandQuantile
from sordino_analysis.estimation.linear import Reliability
from sordino_analysis.estimation.normality import Normality


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "epsilon", "users"),
    [
        (Case("histogram", 16, "randomized_response"), "1", 200),
        (Case("histogram", 16, "randomized_response"), "8", 200),
        (Case("histogram", 8, None), "2", 200),
        (Case("prefix", 8, None), "1", 200),
        (Case("prefix", 16, "factorization"), "1", 200),
    ],
)
def test_estimates_warn_where_intervals_fail_and_nowhere_else(case, epsilon, users):
    """A mean coverage is over 100 campaigns and all queries: `wrong` leaves it three standard errors of one query."""
    for row in measure.coverages(case, epsilon, [users], 100):
        assert not row.wrong, row
        # Over queries and campaigns, what is expected is what happens; the histogram it is taken at is estimated.
        assert row.interval == pytest.approx(row.expected, abs=0.04)


def coverage(**found):
    silent = {"interval": 0.95, "expected": 0.95, "population": 0.95, "population_expected": 0.95, "least": 0.95}
    silent |= {"warned": 0.0, "false_alarms": 0, "misses": 0, "band": 0.95, "band_warned": 0.0}
    return Coverage("histogram", "any", "1", 200, "zipf", 400, **(silent | found))


@pytest.mark.parametrize(
    ("found", "wrong"),
    [
        ({}, False),
        ({"false_alarms": 1}, True),
        ({"misses": 1}, True),
        ({"band": 0.89}, True),
        ({"band": 0.89, "band_warned": 1.0}, False),
    ],
)
def test_false_alarms_and_misses_are_wrong(found, wrong):
    assert coverage(**found).wrong == wrong


@pytest.mark.parametrize(
    ("held", "doubted", "false_alarms", "misses"),
    [(0.95, False, 0, 0), (0.99, True, 1, 0), (0.85, False, 0, 1), (0.85, True, 0, 0), (0.937, False, 0, 0)],
)
def test_a_doubt_is_judged_query_by_query(held, doubted, false_alarms, misses):
    one = Normality(held, held, 1000 if doubted else None)
    reliability = Reliability((one, Normality(0.95, 0.95, None)), BandQuantile(2.0, holds=True))
    found = measure.summary(np.array([[held, 0.95], [held, 0.95]]), [reliability], np.arange(2), 400)
    assert (found["false_alarms"], found["misses"]) == (false_alarms, misses)
    assert found["least"] == min(held, 0.95)
