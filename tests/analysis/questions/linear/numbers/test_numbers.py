"""Measures of numbers as rows over the levels to which devices round, and bad input."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sordino_analysis.curator.plan import check_size
from sordino_analysis.documents.number_queries import AskedNumber, NumberMeasure, NumberQueries
from sordino_analysis.kinds.true_measures import measures_of, true_measures
from sordino_analysis.questions.linear import Workload, WorkloadError, parse_specification
from sordino_analysis.questions.linear.building import build_workload
from sordino_analysis.questions.linear.units import units_of
from sordino_analysis.vectorized.domains import codes_many
from sordino_shared.errors import InvalidValue

LOAD = {"name": "load_ms", "kind": "number", "low": 0, "high": 60000, "unit": "ms"}


def written(queries: Any = "mean", **attribute: Any) -> dict[str, Any]:
    return {"name": "load time", "domain": [LOAD | attribute], "queries": {"load_ms": queries}}


def built(queries: Any = "mean", **attribute: Any) -> Workload:
    return parse_specification(written(queries, **attribute)).build()


def test_a_mean_is_one_row_over_17_levels_in_its_unit() -> None:
    workload = built()
    assert workload.dithering is not None
    assert workload.dithering.knots == (tuple(level << 28 for level in range(17)),)
    np.testing.assert_allclose(workload.operator.dense(), [np.linspace(0, 60000, 17)])
    assert workload.held_domain.size == 2**32 + 1
    assert (workload.label(0), units_of(workload, [0]), workload.scope(0).kind) == ("mean of load_ms", ["ms"], "mean")
    assert pickle.loads(pickle.dumps(workload)).digest == workload.digest


@pytest.mark.parametrize(("last", "knots"), [(15, None), (24, None), (25, 17), (9999, 17), (2**62 - 1, 17)])
def test_few_numbers_are_levels_themselves(last: int, knots: int | None) -> None:
    workload = built(kind="integers", low=-3, high=last - 3)
    if knots is None:
        assert workload.dithering is None
        assert workload.size == last + 1
    else:
        assert workload.dithering is not None
        [found] = workload.dithering.knots
        assert (len(found), found[0], found[-1]) == (knots, 0, last)
        assert max(np.diff(np.array(found, dtype=object))) - min(np.diff(np.array(found, dtype=object))) <= 1
    row = workload.operator.dense()[0]
    assert row[0] == -3
    assert row[-1] == pytest.approx(last - 3)


def test_rows_are_exact_at_knots_that_no_division_hits() -> None:
    """Expected levels of every member of 0…99, in rationals: no mean is off by anything."""
    workload = built(kind="integers", low=0, high=99)
    assert workload.dithering is not None
    [knots] = workload.dithering.knots
    row = [Fraction(value) for value in workload.operator.dense()[0].tolist()]
    for member in range(99):
        below = max(place for place, knot in enumerate(knots) if knot <= member)
        upper = Fraction(member - knots[below], knots[below + 1] - knots[below])
        assert row[below] + upper * (row[below + 1] - row[below]) == member


def test_truth_is_of_the_numbers_and_not_of_their_levels() -> None:
    workload = built(["mean", {"share_above": 5000}])
    values = [0, 1, 4999.5, 5000, 5000.1, 12345.678, 60000, 70000, -5, math.nan]
    answers = workload.truth_of_codes(codes_many(workload.held_domain, values))
    clipped = np.clip(np.nan_to_num(values, nan=0.0), 0, 60000)
    np.testing.assert_allclose(answers, [clipped.mean(), 0.4], rtol=1e-9)


def test_a_jump_is_a_knot_that_is_written_twice() -> None:
    workload = built({"share_above": 4}, kind="integers", low=0, high=99)
    assert workload.dithering is not None
    assert workload.dithering.knots == ((0, 5, 5, 99),)
    np.testing.assert_array_equal(workload.operator.dense(), [[0, 0, 1, 1]])
    assert (workload.label(0), units_of(workload, [0])) == ("load_ms > 4 ms", ["share"])
    last = built(["mean", {"share_above": 98}], kind="integers", low=0, high=99)
    assert last.dithering is not None
    assert last.dithering.knots[0][-3:] == (92, 99, 99)
    np.testing.assert_array_equal(last.operator.dense()[1], [0] * 17 + [1])
    few = built({"share_above": 2}, kind="integers", low=0, high=9)
    np.testing.assert_array_equal(few.operator.dense()[0], [0] * 3 + [1] * 7)


def test_variances_of_several_units_count_by_their_own_scale() -> None:
    workload = built(["mean", {"share_above": 5000}])
    low, high = workload.operator.entry_range()
    relative = workload.query_weights * (high - low) ** 2
    np.testing.assert_allclose(relative, workload.scale**2)
    assert workload.query_weights.mean() == pytest.approx(1)


@pytest.mark.parametrize(
    ("edges", "first", "last", "knots"),
    [
        ({"start": 10, "step": 10, "count": 99}, 5, 995, True),
        ({"low": 0, "high": 100, "bins": 100}, 0.5, 99.5, True),
        ([0, 15, 60], -7.5, 82.5, False),
    ],
)
def test_a_bin_stands_for_its_middle(edges: Any, first: float, last: float, knots: bool) -> None:
    line = {"name": "load_ms", "kind": "ordinal", "edges": edges}
    workload = parse_specification({"name": "bins", "domain": [line], "queries": {"load_ms": "mean"}}).build()
    row = workload.operator.dense()[0]
    assert (row[0], row[-1], workload.dithering is not None) == (first, last, knots)


@pytest.mark.parametrize(
    ("queries", "attribute", "message"),
    [
        ("mean", {"low": 5, "high": 5}, "low must be below high"),
        ("mean", {"low": 6, "high": 5}, "low must be below high"),
        ("mean", {"high": math.inf}, "domain.0.number.high"),
        ("mean", {"low": "0"}, "domain.0.number.low"),
        ("mean", {"unit": "m" * 201}, "unit"),
        ("mean", {"low": 1e15, "high": 1e15 + 2}, "too far from 0"),
        ("mean", {"low": -1e200, "high": 1e200}, "too large"),
        ("mean", {"steps": 7}, "steps"),
        ("mean", {"kind": "integers", "low": 4, "high": 4}, "one (number|member)|nothing to tell"),
        ("median", {}, "queries"),
        ([], {}, "queries"),
        (["mean", "mean"], {}, "once"),
        (["mean", 7], {}, "queries"),
        ({"share_above": 60000}, {}, "share above one of them, not above 60000"),
        ({"share_above": -1}, {}, "not above -1"),
        ({"share_above": "5000"}, {}, "share_above"),
        ({"share_above": math.nan}, {}, "share_above"),
        ({"share_above": 5, "mean": 1}, {}, "queries"),
    ],
)
def test_what_cannot_be_asked_is_refused(queries: Any, attribute: dict[str, Any], message: str) -> None:
    with pytest.raises(WorkloadError, match=message):
        built(queries, **attribute)


def test_an_attribute_that_is_not_there_or_has_no_numbers_is_refused() -> None:
    with pytest.raises(WorkloadError, match=r"no attribute 'size'.*load_ms"):
        parse_specification(written() | {"queries": {"size": "mean"}}).build()
    labels = {"name": "country", "kind": "categorical", "labels": ["DE", "FR"]}
    with pytest.raises(WorkloadError, match="categorical and has no numbers"):
        parse_specification({"name": "a", "domain": [labels], "queries": {"country": "mean"}}).build()
    for other in ("histogram", "prefix", {"load_ms": "ranges"}):
        with pytest.raises(WorkloadError, match="of kind number, which is asked for its mean"):
            parse_specification(written() | {"queries": other}).build()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: NumberMeasure("median", ()),
        lambda: NumberMeasure("mean", (1.0,)),
        lambda: NumberMeasure("mean", (), 0.0),
        lambda: NumberMeasure("mean_within", (5.0, 5.0)),
        lambda: NumberMeasure("quantile", (1.0,)),
        lambda: AskedNumber("a", 17, 32, (NumberMeasure("mean", ()),)),
        lambda: AskedNumber("a", 17, 1, (NumberMeasure("quantile", (0.5,)),)),
        lambda: AskedNumber("a", 17, 257, (NumberMeasure("quantile", (0.5,)),)),
        lambda: NumberMeasure("share_above", ()),
        lambda: NumberMeasure("share_above", (math.inf,)),
        lambda: AskedNumber("a", 1, 1, (NumberMeasure("mean", ()),)),
        lambda: AskedNumber("a", 514, 1, (NumberMeasure("mean", ()),)),
        lambda: AskedNumber("a", 17, 1, ()),
        lambda: NumberQueries(()),
        lambda: NumberQueries((AskedNumber("a", 17, 1, (NumberMeasure("mean", ()),)),) * 2),
    ],
)
def test_published_measures_are_checked(wrong: Any) -> None:
    with pytest.raises(InvalidValue):
        wrong()


def test_more_levels_than_numbers_are_the_numbers() -> None:
    few = built(kind="integers", low=0, high=5)
    queries = NumberQueries((AskedNumber("load_ms", 17, 1, (NumberMeasure("mean", ()),)),))
    assert build_workload(few.domain, queries).size == 6


COUNTRY = {"name": "country", "kind": "categorical", "labels": ["DE", "FR"], "other": True}


def by_country(queries: Any = "mean", **attribute: Any) -> Workload:
    asked = {"name": "by country", "domain": [COUNTRY, LOAD | attribute], "queries": {"load_ms": queries}}
    return parse_specification(asked).build()


def test_rows_by_category_are_centred_and_have_their_share_beside() -> None:
    workload = by_country()
    assert workload.dithering is not None
    assert [len(knots) for knots in workload.dithering.knots] == [0, 17]
    rows = workload.operator.dense().reshape(-1, 3, 17)
    numbers = np.linspace(0, 60000, 17)
    assert rows.shape[0] == 1 + 3 * 2
    np.testing.assert_allclose(rows[0], np.tile(numbers, (3, 1)))
    for place in range(3):
        inside = np.eye(3)[place][:, None]
        np.testing.assert_allclose(rows[1 + 2 * place], inside * (numbers - 30000))
        np.testing.assert_allclose(rows[2 + 2 * place], inside * np.ones(17))
    assert [workload.label(query) for query in (1, 2)] == [
        "load_ms less 30,000 ms in country: DE",
        "country: DE",
    ]


def test_measures_of_known_users_are_theirs() -> None:
    workload = by_country(["mean", "sum", "sd", "variance", {"share_above": 100}], kind="integers", high=999)
    values = [{"country": "DE", "load_ms": 100}, {"country": "DE", "load_ms": 300}, {"country": "CH", "load_ms": 50}]
    measures = measures_of(workload)
    truth = true_measures(measures, codes_many(workload.held_domain, values))
    found = {shown.label: value for shown, value in zip(measures.shown, truth, strict=True)}
    assert found["mean of load_ms"] == 150
    assert found["sum of load_ms"] == 450
    assert found["variance of load_ms"] == pytest.approx(found["sd of load_ms"] ** 2) == np.var([100, 300, 50])
    assert found["load_ms > 100 ms"] == pytest.approx(1 / 3)
    assert found["load_ms > 100 ms, country: DE"] == 0.5
    assert found["mean of load_ms, country: other"] == 50
    assert math.isnan(found["mean of load_ms, country: FR"])
    assert found["sum of load_ms, country: FR"] == 0
    assert found["sd of load_ms, country: DE"] == 100


def test_rounding_raises_squares_by_a_quarter_of_the_squared_step_at_most() -> None:
    assert measures_of(built("sd")).largest_bias == pytest.approx(1 / 16**2 / 4)
    assert measures_of(built("sd", kind="integers", low=0, high=9)).largest_bias == 0


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"name": "age", "kind": "ordinal", "edges": [18, 65]}, "ordinal, and numbers are split by categories"),
        ({"name": "zip", "kind": "categorical", "labels": [str(each) for each in range(65)]}, "65 categories"),
    ],
)
def test_numbers_are_split_by_a_few_categories(other: dict[str, Any], message: str) -> None:
    with pytest.raises(WorkloadError, match=message):
        parse_specification({"name": "a", "domain": [LOAD, other], "queries": {"load_ms": "mean"}}).build()


def test_a_curator_is_told_that_devices_round() -> None:
    with pytest.raises(InvalidValue, match="planned for devices"):
        check_size(built())
