"""Parts of a range, quantiles, most frequent members, several numbers, members without a number, and stacks."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sordino_analysis.documents.number_queries import NumberQueries
from sordino_analysis.estimation import linear_on_demand
from sordino_analysis.kinds.true_measures import measures_of, true_measures
from sordino_analysis.questions.linear import Workload, WorkloadError, parse_specification
from sordino_analysis.questions.linear.building import build_workload
from sordino_analysis.questions.linear.operators import Dense
from sordino_analysis.questions.linear.units import units_of
from sordino_analysis.vectorized.domains import codes_many
from sordino_shared.domains import Ordinal

LOAD = {"name": "load_ms", "kind": "number", "low": 0, "high": 60000, "unit": "ms"}
COUNTRY = {"name": "country", "kind": "categorical", "labels": ["DE", "FR"], "other": True}
COUNT = {"name": "count", "kind": "integers", "low": 0, "high": 99}


def built(queries: Any, *domain: dict[str, Any]) -> Workload:
    return parse_specification({"name": "asked", "domain": list(domain or [LOAD]), "queries": queries}).build()


def expected_values(workload: Workload, row: int, members: int) -> list[Fraction]:
    """What a row is on average for each member, by the knots alone and in rationals."""
    assert workload.dithering is not None
    [knots] = workload.dithering.knots
    values = [Fraction(value) for value in workload.operator.dense()[row].tolist()]
    found = []
    for member in range(members):
        below = max(place for place, knot in enumerate(knots) if knot <= member)
        above = min(below + 1, len(knots) - 1)
        share = Fraction(member - knots[below], max(knots[above] - knots[below], 1))
        found.append(values[below] + share * (values[above] - values[below]))
    return found


def test_a_mean_of_a_part_is_exact_on_both_sides_of_both_ends() -> None:
    workload = built({"count": {"mean_within": [10, 40]}}, COUNT)
    inside = [10 <= member <= 40 for member in range(100)]
    centred = expected_values(workload, 0, 100)
    wanted = [member - 25 if held else 0 for member, held in enumerate(inside)]
    np.testing.assert_allclose([float(value) for value in centred], wanted, atol=1e-12)
    assert expected_values(workload, 1, 100) == [Fraction(held) for held in inside]
    assert [workload.label(row) for row in (0, 1)] == ["count from 10 to 40, less 25", "count from 10 to 40"]
    assert workload.scope(0).unit == ""


@pytest.mark.parametrize(("low", "high"), [(0, 5000), (5000, 60000), (100.5, 5000)])
def test_a_part_may_begin_or_end_with_the_range(low: float, high: float) -> None:
    workload = built({"load_ms": ["mean", {"mean_within": [low, high]}]})
    values = [0, low, (low + high) / 2, high, high * 1.1, 60000]
    truth = true_measures(measures_of(workload), codes_many(workload.held_domain, values))
    held = [value for value in np.clip(values, 0, 60000) if low <= value <= high]
    assert truth[1] == pytest.approx(np.mean(held), abs=1e-3)


def test_quantiles_alone_are_prefix_sums_of_1024_bins() -> None:
    workload = built({"load_ms": {"quantile": [0.5, 0.95]}})
    [attribute] = workload.held_domain.attributes
    assert isinstance(attribute, Ordinal)
    assert (attribute.bins, attribute.unit, attribute.edges[-1]) == (1024, "ms", 60000 - 60000 / 1024)
    assert (workload.queries, workload.dithering) == (1023, None)
    assert workload.operator.intervals is not None
    assert set(units_of(workload, range(5))) == {"share"}
    assert [shown.label for shown in measures_of(workload).shown] == [
        "0.5 quantile of load_ms",
        "0.95 quantile of load_ms",
    ]
    assert built({"load_ms": {"quantile": 0.5, "bins": 50}}).size == 50
    assert built({"count": {"quantile": 0.5}}, COUNT).size == 100


def test_quantiles_beside_a_mean_are_told_between_jumps() -> None:
    workload = built({"count": ["mean", {"quantile": 0.5, "bins": 4}]}, COUNT)
    means = [float(value) for value in expected_values(workload, 0, 100)]
    np.testing.assert_allclose(means, range(100), atol=1e-12)
    for row, edge in ((1, 24), (2, 49), (3, 74)):
        assert workload.label(row) == f"count ≤ {edge}"
        assert expected_values(workload, row, 100) == [Fraction(member <= edge) for member in range(100)]
    by_country = built({"load_ms": ["mean", {"quantile": [0.5, 0.9]}]}, COUNTRY, LOAD)
    assert by_country.dithering is not None
    # Three countries, and two types for each of 16 bins.
    assert len(by_country.dithering.knots[1]) >= 32


def test_the_most_frequent_members_are_a_histogram() -> None:
    page = {"name": "page", "kind": "categorical", "labels": ["/", "/a"], "other": True}
    workload = built({"page": "top"}, page)
    np.testing.assert_array_equal(workload.operator.dense(), np.eye(3))
    assert units_of(workload, range(3)) == ["share"] * 3
    split = measures_of(built({"page": "top"}, page, COUNTRY))
    assert [shown.label for shown in split.shown][:4] == ["page: /", "page: /a", "page: other", "page: /, country: DE"]
    values = [{"page": "/", "country": "DE"}, {"page": "/a", "country": "DE"}, {"page": "/", "country": "FR"}]
    truth = dict(
        zip((shown.label for shown in split.shown), true_measures(split, codes_many(split.domain, values)), strict=True)
    )
    assert truth["page: /"] == pytest.approx(2 / 3)
    assert truth["page: /, country: DE"] == 0.5
    stars = {"name": "stars", "kind": "integers", "low": 1, "high": 5}
    both = built({"stars": ["mean", "top"]}, stars)
    np.testing.assert_array_equal(both.operator.dense(), [[1, 2, 3, 4, 5], *np.eye(5)])


def test_several_numbers_are_rounded_each() -> None:
    workload = built({"load_ms": "mean", "count": ["sum", {"share_above": 9}]}, LOAD, COUNT)
    assert workload.dithering is not None
    assert all(workload.dithering.knots)
    assert workload.size == len(workload.dithering.knots[0]) * len(workload.dithering.knots[1])
    assert [workload.label(row) for row in range(3)] == ["mean of load_ms", "mean of count", "count > 9"]
    values = [{"load_ms": 100.0, "count": 5}, {"load_ms": 300.0, "count": 15}]
    truth = true_measures(measures_of(workload), codes_many(workload.held_domain, values))
    np.testing.assert_allclose(truth, [200, 20, 0.5], rtol=1e-6)
    np.testing.assert_allclose(
        workload.truth_of_codes(codes_many(workload.held_domain, values)), [200, 10, 0.5], rtol=1e-6
    )


def test_means_are_over_those_who_have_a_number_and_the_others_are_told() -> None:
    workload = built({"load_ms": ["mean", "sum", {"share_above": 100}]}, LOAD | {"missing": True})
    measures = measures_of(workload)
    values = [50.0, 150.0, None, None]
    truth = true_measures(measures, codes_many(workload.held_domain, values))
    assert [shown.label for shown in measures.shown][-1] == "load_ms: missing"
    np.testing.assert_allclose(truth, [100, 200, 0.5, 0.5], rtol=1e-6)
    rows = workload.operator.dense()
    assert rows[:, -1].tolist() == [0, 0, 0, 1]
    labels = [workload.label(row) for row in range(4)]
    assert labels == ["load_ms less 30,000 ms", "load_ms > 100 ms", "load_ms has a number", "load_ms: missing"]


def test_a_stack_of_measures_weighs_them() -> None:
    parts = [{"queries": {"load_ms": "mean"}, "weight": 4}, {"queries": {"load_ms": {"share_above": 5000}}}]
    workload = built({"stack": parts})
    assert isinstance(workload.published, NumberQueries)
    assert [measure.weight for measure in workload.published.asked[0].measures] == [4, 1]
    low, high = workload.operator.entry_range()
    relative = workload.query_weights * (high - low) ** 2
    assert relative[0] == pytest.approx(4 * relative[1])
    assert workload.query_weights.mean() == pytest.approx(1)


@pytest.mark.parametrize(
    ("queries", "domain", "message"),
    [
        ({"load_ms": "top"}, [LOAD], "no value is frequent"),
        ({"load_ms": {"mean_within": [5, 5]}}, [LOAD], "lower number first"),
        ({"load_ms": {"mean_within": [9, 5]}}, [LOAD], "lower number first"),
        ({"load_ms": {"mean_within": [0, 60000]}}, [LOAD], "ask for the mean"),
        ({"load_ms": {"mean_within": [70000, 80000]}}, [LOAD], "fewer than two"),
        ({"count": {"mean_within": [4, 4.5]}}, [COUNT], "fewer than two"),
        ({"load_ms": {"mean_within": [5]}}, [LOAD], "mean_within"),
        ({"load_ms": {"mean_within": 5}}, [LOAD], "mean_within"),
        ({"load_ms": {"quantile": 0}}, [LOAD], "numbers: 'load_ms': quantile: Input should be greater than 0$"),
        ({"load_ms": {"quantile": [0.5, 95]}}, [LOAD], "'load_ms': quantile: Input should be less than 1$"),
        ({"load_ms": {"quantil": 0.5}}, [LOAD], "of numbers one of mean, .*quantile"),
        ({"load_ms": "median"}, [LOAD], "of numbers one of mean, .*quantile"),
        ({"load_ms": ["mean", "median"]}, [LOAD], r"'load_ms': ask one of mean, .*{quantile: …}, not 'median'$"),
        ({"load_ms": {"quantile": []}}, [LOAD], "quantile"),
        ({"load_ms": {"quantile": [0.5, 0.5]}}, [LOAD], "once each"),
        ({"load_ms": {"quantile": 0.5, "bins": 1}}, [LOAD], "'load_ms': bins: Input should be greater"),
        ({"load_ms": {"quantile": 0.5, "bins": 70000}}, [LOAD], "bins"),
        ({"load_ms": ["mean", {"quantile": 0.5, "bins": 300}]}, [LOAD], "at most 256"),
        ({"load_ms": [{"quantile": 0.5, "bins": 8}, {"quantile": 0.9, "bins": 9}]}, [LOAD], "one number of `bins`"),
        ({"country": {"quantile": 0.5}}, [COUNTRY], "ask for its `top`"),
        ({"country": "mean"}, [COUNTRY], "has no numbers"),
        ({"load_ms": "mean"}, [LOAD, COUNT], "ask about it, too"),
        ({"stack": [{"queries": {"load_ms": "mean"}}, {"queries": "histogram"}]}, [LOAD], "no other parts"),
        ({"stack": [{"queries": {"load_ms": "mean"}, "weight": 0}]}, [LOAD], "weight"),
    ],
)
def test_what_cannot_be_asked_is_refused(queries: Any, domain: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(WorkloadError, match=message):
        built(queries, *domain)


def test_quantiles_are_combinations_of_rows_that_have_other_units() -> None:
    """Rows of a mean are 30,000 times those of shares: least squares without units would lose the shares."""
    queries = ["mean", "sd", "sum", {"share_above": 9000}, {"quantile": 0.5, "bins": 4}]
    country = COUNTRY | {"other": False}
    published = built({"load_ms": queries}, country, LOAD | {"missing": True}).published
    assert isinstance(published, NumberQueries)
    coarse = NumberQueries(tuple(replace(asked, levels=2) for asked in published.asked))
    workload = build_workload(built({"load_ms": "mean"}, country, LOAD | {"missing": True}).held_domain, coarse)
    matrix, measures = workload.operator.dense(), measures_of(workload)
    quantiles = [shown for shown in measures.shown if shown.name == "quantile"]
    assert len(quantiles) == 3
    # One more than the types with the row of ones, so that least squares are of the types.
    assert len(matrix) == matrix.shape[1] == 22
    for shown in quantiles:
        wanted = matrix[list(shown.below)] - 0.5 * matrix[shown.share]
        derived = replace(workload, operator=Dense(wanted), name_query=str)
        combined, constant = linear_on_demand._combinations(matrix, derived)
        np.testing.assert_allclose(combined @ matrix + constant[:, None], wanted, atol=1e-9)


def test_clipped_tells_both_ends_exactly() -> None:
    """The rows are 1 at an end and 0 at every other member, its neighbour too."""
    workload = built({"count": ["mean", "clipped"]}, COUNT)
    for row, end in ((1, 0), (2, 99)):
        assert expected_values(workload, row, 100) == [Fraction(member == end) for member in range(100)]
    np.testing.assert_allclose([float(each) for each in expected_values(workload, 0, 100)], range(100), atol=1e-12)
    values = [-5, 0, 1e-9, 30000, 59999, 60000, 1e9, float("inf")]
    measures = measures_of(built({"load_ms": ["clipped", {"quantile": 0.5, "bins": 4}]}))
    truth = true_measures(measures, codes_many(measures.domain, values))
    assert truth[:2] == [3 / 8, 3 / 8]
    assert [shown.label for shown in measures.shown][:2] == [
        "load_ms at 0 ms or below",
        "load_ms at 60,000 ms or above",
    ]


def test_clipped_counts_a_tenth_and_of_those_with_a_number_alone() -> None:
    workload = built({"load_ms": ["mean", "clipped"]}, LOAD | {"missing": True})
    assert isinstance(workload.published, NumberQueries)
    assert [each.weight for each in workload.published.asked[0].measures] == [1.0, 0.1]
    measures = measures_of(workload)
    truth = true_measures(measures, codes_many(measures.domain, [None, -1, 5, None]))
    assert truth[1:] == [0.5, 0.0, 0.5]


@pytest.mark.parametrize(
    ("attribute", "said"),
    [
        ({"name": "count", "kind": "ordinal", "edges": [1, 2, 3]}, "have no end"),
        (COUNT | {"other": True}, "are `other`"),
        ({"name": "count", "kind": "categorical", "labels": ["a", "b"]}, "has no numbers"),
    ],
)
def test_clipped_is_refused_where_nothing_is_clipped(attribute: dict[str, Any], said: str) -> None:
    with pytest.raises(WorkloadError, match=said):
        measures_of(built({"count": "clipped"}, attribute)).asked.numbers  # noqa: B018
