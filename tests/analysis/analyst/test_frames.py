"""Data frames and series of pandas, polars and Arrow as values, and answers as data frames."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import sordino_analysis as sa
from sordino_analysis.vectorized.domains import codes_many
from sordino_analysis.vectorized.randomizers import randomize_part
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.errors import InvalidValue, SordinoError

ROWS = {"crashes": [0.0, 2.0, 9.0, 1.0], "user": [1, 2, 3, 4], "os": ["ios", None, "android", "ios"]}
URLS = {"name": "urls", "domain": [{"name": "url", "kind": "hashed", "bits": 64}], "queries": "histogram"}
NUMBERS = {"name": "n", "domain": [{"name": "n", "kind": "integers", "low": 0, "high": 99_999}], "queries": "histogram"}


@pytest.fixture(scope="module")
def phones() -> sa.Plan:
    domain = [
        {"name": "os", "kind": "categorical", "labels": ["ios", "android"], "missing": True},
        {"name": "crashes", "kind": "ordinal", "edges": [0, 3]},
    ]
    return sa.plan(sa.workload({"name": "x", "domain": domain, "queries": "histogram"}), epsilon=2, effort="quick")


def pandas_frame() -> Any:
    import pandas

    return pandas.DataFrame(ROWS)


def nullable_frame() -> Any:
    return pandas_frame().astype({"os": "category", "crashes": "Int64"})


def polars_frame() -> Any:
    import polars

    return polars.DataFrame(ROWS)


def categorical_frame() -> Any:
    import polars

    return polars.DataFrame(ROWS, schema_overrides={"os": polars.Categorical})


def arrow_table() -> Any:
    import pyarrow

    return pyarrow.table(ROWS)


@pytest.mark.parametrize("frame", [pandas_frame, nullable_frame, polars_frame, categorical_frame, arrow_table])
def test_columns_of_a_frame_go_by_the_names_of_attributes(phones: sa.Plan, frame: Callable[[], Any]) -> None:
    plain = [{"os": os, "crashes": count} for os, count in zip(ROWS["os"], ROWS["crashes"], strict=True)]
    expected, found = (sa.simulate(phones, values, seed=1) for values in (plain, frame()))
    assert found.truth.tolist() == expected.truth.tolist()
    assert found.aggregate.sums.tolist() == expected.aggregate.sums.tolist()


def test_a_series_is_the_values_of_one_attribute() -> None:
    import pandas
    import polars
    import pyarrow

    plan = sa.plan(sa.prefix([0, 15], name="delay", missing=True), epsilon=1)
    without = sa.plan(sa.prefix([0, 15], name="delay"), epsilon=1)
    for series in (
        pandas.Series([-3, 12.0, None]),
        pandas.Series([-3, 12, None], dtype="Int64"),
        polars.Series([-3, 12, None]),
        polars.Series([-3.0, 12.0, float("nan")]),
        pyarrow.chunked_array([[-3, 12], [None]]),
    ):
        np.testing.assert_allclose(sa.simulate(plan, series, seed=1).truth, [1 / 3, 2 / 3, 2 / 3])
        with pytest.raises(InvalidValue, match="give the attribute `missing: true`"):
            sa.simulate(without, series, seed=1)


def test_frames_that_do_not_fit_say_what_to_change(phones: sa.Plan) -> None:
    import pandas
    import polars

    for frame in (pandas.DataFrame({"os": ["ios"]}), polars.DataFrame({"os": ["ios"]})):
        with pytest.raises(InvalidValue, match=r"no column 'crashes'.*it has os: rename one"):
            sa.simulate(phones, frame, seed=1)
    with pytest.raises(InvalidValue, match=r"frame\.collect"):
        sa.simulate(phones, polars.DataFrame(ROWS).lazy(), seed=1)
    with pytest.raises(InvalidValue, match="there are no values"):
        sa.simulate(phones, pandas.DataFrame({"os": [], "crashes": []}), seed=1)


def test_answers_become_frames(phones: sa.Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    run = sa.simulate(phones, pandas_frame(), seed=1)
    for of in (run, run.estimate):
        pandas = pytest.importorskip("pandas")
        assert of.to_pandas().astype(object).replace({pandas.NA: None, np.nan: None}).to_dict("list") == of.columns()
        assert of.to_polars().to_dict(as_series=False) == of.columns()
    assert {"truth", "error", "inside"} <= run.columns().keys()
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(SordinoError, match="polars is not installed"):
        run.to_polars()


def test_items_take_series_and_reports_of_a_column() -> None:
    import pandas
    import polars

    plan = sa.plan(sa.workload(URLS), epsilon=4)
    sent = randomize_part(plan.device, codes_many(plan.domain, ["a"] * 300 + ["b"] * 100), SeededRandomness(1))
    plain = sa.items(plan, sent, ["a", "b"]).columns()
    payloads = [row.tobytes() for row in sent]
    for values in (pandas.Series(["a", "b"]), polars.Series(["a", "b"]), np.array(["a", "b"], dtype=object)):
        for reports in (sent, payloads, pandas.Series(payloads), polars.Series(payloads)):
            found = sa.items(plan, reports, values)
            assert found.columns() == plain
    assert found.to_pandas()["label"].tolist() == found.to_polars()["label"].to_list() == ["a", "b"]
    with pytest.raises(InvalidValue, match="one length, these have 1 to 2 bytes"):
        sa.items(plan, [b"a", b"bc"], ["a"])


@pytest.mark.parametrize(("workload", "values"), [(URLS, ["a", "b"]), (NUMBERS, [7, 70_000])])
def test_a_long_histogram_is_simulated_by_the_items_that_users_hold(workload: Any, values: list[Any]) -> None:
    plan = sa.plan(sa.workload(workload), epsilon=4)
    run = sa.simulate(plan, [values[0]] * 6000 + [values[1]] * 4000, seed=1)
    assert run.truth.tolist() == [0.6, 0.4]
    assert run.estimate.labels == [str(value) for value in values]
    # Six standard errors: one false alarm in 5·10^8 for each.
    assert (np.abs(run.errors) < 6 * run.estimate.standard_errors).all()
    assert (np.abs(run.errors) > 0).all()
    assert f"{values[0]} " in repr(run)
    assert "<svg" in sa.chart(run.estimate).svg


def test_of_many_values_the_hundred_that_most_users_hold_are_answered() -> None:
    plan = sa.plan(sa.workload(NUMBERS), epsilon=4)
    run = sa.simulate(plan, [*range(150), *range(20, 140), 139], seed=1)
    assert run.estimate.labels[:3] == ["139", "20", "21"]
    assert len(run.truth) == 100
    np.testing.assert_allclose(
        run.truth, run.estimate.workload.truth_of_codes(codes_many(plan.domain, [*range(150), *range(20, 140), 139]))
    )


def test_an_estimate_of_a_long_histogram_has_the_largest_items() -> None:
    plan = sa.plan(sa.workload(NUMBERS), epsilon=4)
    run = sa.simulate(plan, [7] * 6000 + [70_000] * 4000, seed=1)
    found = sa.estimate(plan, run.aggregate)
    assert found.labels[:2] == ["7", "70000"]
    assert len(found.values) == 1000
    np.testing.assert_allclose(found.values[:2], run.estimate.values)
    np.testing.assert_array_equal(found.intervals, found.band)
    assert found.answer("cell", "7")[0].value == pytest.approx(found.values[0])


def test_a_simulation_whose_intervals_miss_names_the_band(plan: sa.Plan, minutes: np.ndarray) -> None:
    """With errors of the level .5 of the others, some interval misses in most rounds."""
    runs = [sa.simulate(plan, minutes[:500], seed=seed) for seed in range(80)]
    missed = next(run for run in runs if not run.inside.all())
    assert "the band holds 3 of 3: it holds all at once in 95 % of rounds" in repr(missed)
    assert "of rounds" not in repr(next(run for run in runs if run.inside.all()))


def test_numbers_of_users_speak_words(plan: sa.Plan) -> None:
    with pytest.raises(
        InvalidValue, match=r"an error of 1 is the whole scale of an answer, 1: .* \.01 for one percentage"
    ):
        plan.users_needed(1)
    with pytest.raises(InvalidValue, match=r"± 2 is the whole scale of an answer"):
        plan.sample_sizes(2)
    sizes = plan.sample_sizes(0.05)
    assert repr(sizes).splitlines() == [
        "Users for an answer ± 0.05 of its scale at 95 %, about those who report",
        f"  each answer by itself  {sizes.most:,} users",
        f"  all answers at once    {sizes.band:,} users",
        f"  hardest answer         {sizes.hardest}",
    ]
    assert "in each of both" in repr(plan.sample_sizes(0.05, difference=True))


OS, COUNTS = ["ios", None, "android", "ios"], [0, 2, None, 1]


def _pandas(os: str, crashes: str) -> Any:
    import pandas

    return pandas.DataFrame({"os": pandas.Series(OS, dtype=os), "crashes": pandas.Series(COUNTS, dtype=crashes)})


def _arrow_backed() -> Any:
    import pandas
    import pyarrow as pa

    words = pandas.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))
    numbers = [None if count is None else Decimal(count) for count in COUNTS]
    decimals = pandas.Series(numbers, dtype=pandas.ArrowDtype(pa.decimal128(5, 1)))
    return pandas.DataFrame({"os": pandas.Series(OS, dtype=words), "crashes": decimals})


def _polars(os: Any, crashes: str) -> Any:
    import polars

    kind = polars.Enum(["ios", "android"]) if os == "Enum" else getattr(polars, os)
    return polars.DataFrame(
        {"os": OS, "crashes": COUNTS}, schema_overrides={"os": kind, "crashes": getattr(polars, crashes)}
    )


def _arrow(os: str, crashes: str) -> Any:
    import pyarrow as pa

    return pa.table({"os": pa.array(OS, getattr(pa, os)()), "crashes": pa.array(COUNTS, getattr(pa, crashes)())})


class Interchanged:
    """Only the interchange protocol of data frames."""

    def __dataframe__(self, **options: Any) -> Any:
        return _pandas("object", "float64").__dataframe__(**options)


class OfDict:
    """Only a method that gives columns."""

    def to_dict(self) -> dict[str, Any]:
        return {"os": OS, "crashes": COUNTS}


class OfNumpy:
    """Only a method that gives an array."""

    def to_numpy(self) -> np.ndarray:
        return np.array(list(zip(OS, COUNTS, strict=True)), dtype=object)


KINDS: dict[str, Callable[[], Any]] = {
    "pandas object": lambda: _pandas("object", "object"),
    "pandas nullable": lambda: _pandas("string", "Int64"),
    "pandas categorical": lambda: _pandas("category", "float32"),
    "pandas Float64": lambda: _pandas("string[python]", "Float64"),
    "pandas on Arrow": _arrow_backed,
    "polars": lambda: _polars("String", "Int64"),
    "polars categorical": lambda: _polars("Categorical", "Int8"),
    "polars enum": lambda: _polars("Enum", "Float32"),
    "Arrow": lambda: _arrow("string", "int64"),
    "Arrow large": lambda: _arrow("large_string", "uint8"),
    "fields": lambda: np.array(
        [("ios", 0.0), (None, 2.0), ("android", np.nan), ("ios", 1.0)], dtype=[("os", "O"), ("crashes", "f8")]
    ),
    "dict": lambda: {"user": [1, 2, 3, 4], "crashes": COUNTS, "os": OS},
    "__dataframe__": Interchanged,
    "to_dict": OfDict,
    "to_numpy": OfNumpy,
}


@pytest.mark.parametrize("kind", KINDS)
def test_values_of_many_kinds_are_the_same_users(kind: str) -> None:
    domain = [
        {"name": "os", "kind": "categorical", "labels": ["ios", "android"], "missing": True},
        {"name": "crashes", "kind": "ordinal", "edges": [0, 3], "missing": True},
    ]
    plan = sa.plan(sa.workload({"name": "x", "domain": domain, "queries": "histogram"}), epsilon=2, effort="quick")
    plain = [{"os": os, "crashes": count} for os, count in zip(OS, COUNTS, strict=True)]
    expected = sa.simulate(plan, plain, seed=1)
    found = sa.simulate(plan, KINDS[kind](), seed=1)
    assert found.truth.tolist() == expected.truth.tolist()
    assert found.aggregate.sums.tolist() == expected.aggregate.sums.tolist()


def test_columns_that_are_absent_and_labels_that_are_not_listed_are_named(phones: sa.Plan) -> None:
    with pytest.raises(InvalidValue, match=r"the mapping has no column 'crashes'.*it has os, user: rename one"):
        sa.simulate(phones, {"os": OS, "user": OS}, seed=1)
    with pytest.raises(InvalidValue, match="the columns have different lengths"):
        sa.simulate(phones, {"os": OS, "crashes": [1]}, seed=1)
    with pytest.raises(InvalidValue, match="strict=False simulates what a device reports"):
        sa.simulate(phones, {"os": ["beos"], "crashes": [1]}, seed=1)
    assert sa.simulate(phones, {"os": ["beos"], "crashes": [1]}, seed=1, strict=False).aggregate.count == 1


def test_quantiles_are_numbers_in_frames() -> None:
    plan = sa.plan(sa.prefix([0, 15], name="delay", unit="min"), epsilon=4)
    answers = sa.simulate(plan, [-5.0, 5.0, 50.0] * 2000, seed=1).estimate.answer("quantile", "0.1", "0.5", "0.9")
    frame = answers.to_pandas()
    assert frame["value_lower"].tolist() == [-np.inf, 0.0, 15.0]
    assert frame["value_upper"].tolist() == [0.0, 15.0, np.inf]
    assert answers.to_polars()["upper"].to_list()[-1] == np.inf
    assert answers.columns()["lower"][0] == -np.inf
    assert len(answers) == 3
    assert answers[0].label in repr(answers)


def test_columns_are_found_by_their_names_as_text_and_one_name_is_one_column() -> None:
    """pandas numbers the columns of an array, and keeps two of one name."""
    import pandas

    from sordino_analysis.analyst.frames import rows_of_columns, rows_of_frame

    frame = pandas.DataFrame(np.array([[3, 5], [4, 6]]))
    assert rows_of_frame(frame, ["1"]) == [{"1": 5}, {"1": 6}]
    assert rows_of_columns({0: [3, 4]}, ["0"]) == [{"0": 3}, {"0": 4}]
    twice = pandas.DataFrame([[1, 2, 3]], columns=["os", "os", "n"])
    assert rows_of_frame(twice, ["n"]) == [{"n": 3}]
    with pytest.raises(InvalidValue, match="the frame has several columns 'os'"):
        rows_of_frame(twice, ["os"])
    with pytest.raises(InvalidValue, match="not a ndarray"):
        rows_of_columns({"n": np.array(3)}, ["n"])
