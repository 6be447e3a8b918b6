"""Coverage and warnings agree on a seeded selection of the benchmark's cases."""

import pytest

from benchmarks.coverage import measure
from benchmarks.coverage.measure import Case, Coverage


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


@pytest.mark.parametrize(
    ("interval", "warned", "wrong"),
    [(0.95, 0.0, False), (0.95, 0.9, True), (0.88, 0.0, True), (0.88, 1.0, False), (0.937, 0.4, False)],
)
def test_false_alarms_and_misses_are_wrong(interval, warned, wrong):
    row = Coverage("histogram", "any", "1", 200, "zipf", 400, interval, interval, 0.95, 0.95, 0.95, warned)
    assert row.wrong == wrong
