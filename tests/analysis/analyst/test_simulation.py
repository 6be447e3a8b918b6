"""A simulation draws from the plan's law, answers from exact sums, and knows the truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sordino_analysis as sa
from sordino_analysis.estimation.linear import estimate as estimate_from_parts
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.errors import InvalidValue

EXAMPLES = Path(__file__).parents[3] / "examples"


def test_the_truth_is_counted_from_the_values(plan: sa.Plan, minutes: np.ndarray) -> None:
    run = sa.simulate(plan, minutes, seed=1)
    np.testing.assert_allclose(run.truth, [(minutes <= edge).mean() for edge in (0, 15, 60)])
    assert run.aggregate.count == len(minutes) == run.estimate.users


def test_answers_are_those_of_the_estimator(plan: sa.Plan, minutes: np.ndarray) -> None:
    run = sa.simulate(plan, minutes, seed=2)
    direct = estimate_from_parts(plan.device, plan.analyst, run.aggregate)
    np.testing.assert_array_equal(run.estimate.values, direct.unbiased)
    np.testing.assert_array_equal(run.estimate.intervals[:, 0], direct.lower)
    np.testing.assert_array_equal(run.errors, direct.unbiased - run.truth)
    assert run.estimate.intervals.shape == run.estimate.band.shape == (3, 2)
    wide = sa.estimate(plan, run.aggregate, level=0.99)
    assert (np.ptp(wide.intervals, axis=1) > np.ptp(run.estimate.intervals, axis=1)).all()


def test_errors_have_the_promised_spread(plan: sa.Plan, minutes: np.ndarray) -> None:
    """Over 60 seeds Σ z² of an answer is χ² with 60 degrees: outside (23, 121) with a probability below 2e-5."""
    runs = [sa.simulate(plan, minutes[:4000], seed=seed) for seed in range(60)]
    sums = sum((run.errors / run.estimate.standard_errors) ** 2 for run in runs)
    assert ((sums > 23) & (sums < 121)).all()
    # Standard errors that are half or twice as large are rejected.
    assert not ((4 * sums > 23) & (4 * sums < 121)).any()
    assert not ((sums / 4 > 23) & (sums / 4 < 121)).any()


def test_the_seed_decides_the_reports(plan: sa.Plan, minutes: np.ndarray) -> None:
    first, again, other = (sa.simulate(plan, minutes, seed=seed).aggregate.sums.tolist() for seed in (3, 3, 4))
    assert first == again != other


def test_reports_add_up_to_the_aggregate_in_any_parts(plan: sa.Plan) -> None:
    cells = np.arange(4).repeat(25)
    payloads = randomize_many(plan.device.randomizer, cells, SeededRandomness(1))
    whole = sa.aggregate(plan, payloads)
    parts = sa.aggregate(plan, payloads[:30]) + sa.aggregate(plan, payloads[30:])
    assert whole.count == parts.count == 100
    assert whole.sums.tolist() == parts.sums.tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[:, :0], "uint8, got"),
        (lambda rows: rows.astype(np.int64), "int64"),
        (lambda rows: rows | np.uint8(255), "none of this plan, the first in row 0"),
    ],
)
def test_what_is_no_report_of_the_plan_is_refused(plan: sa.Plan, change: Any, message: str) -> None:
    payloads = randomize_many(plan.device.randomizer, np.arange(4), SeededRandomness(1))
    with pytest.raises(InvalidValue, match=message):
        sa.aggregate(plan, change(payloads))


def test_values_come_in_rows_mappings_columns_and_arrays() -> None:
    domain = [
        {"name": "os", "kind": "categorical", "labels": ["ios", "android"]},
        {"name": "crashes", "kind": "ordinal", "edges": [0, 3]},
    ]
    plan = sa.plan(sa.workload({"name": "x", "domain": domain, "queries": "histogram"}), epsilon=2, effort="quick")
    names, crashes = ["ios", "android", "android"], [0, 2, 9]
    forms: list[Any] = [
        list(zip(names, crashes, strict=True)),
        [{"os": a, "crashes": b} for a, b in zip(names, crashes, strict=True)],
        {"os": names, "crashes": np.array(crashes)},
        np.array(list(zip(names, crashes, strict=True)), dtype=object),
    ]
    sums = [sa.simulate(plan, values, seed=1).truth.tolist() for values in forms]
    assert all(each == sums[0] for each in sums)
    np.testing.assert_allclose(np.flatnonzero(sums[0]), [0, 4, 5])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "no values"),
        (np.zeros((3, 2)), r"shape \(n,\)"),
        ([1.0, "x"], "does not list 'x'.*strict=False"),
        ([1.0, float("nan")], "does not list nan, a float: give the attribute `missing: true`"),
        ([1.0, None], "does not list None, a NoneType: give the attribute `missing: true`"),
        ({"dealy": [1.0], "late": [1.0]}, "no column 'delay'.*; it has dealy, late: rename one"),
        ({"delay": []}, "no values"),
        ({1: [1.0]}, "no column 'delay'"),
    ],
)
def test_values_that_do_not_fit_are_refused(plan: sa.Plan, values: Any, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        sa.simulate(plan, values, seed=1)


def test_without_strict_a_value_becomes_what_a_device_reports(plan: sa.Plan) -> None:
    assert sa.simulate(plan, ["soon"] * 10, seed=1, strict=False).truth.tolist() == [1.0, 1.0, 1.0]


def test_a_csv_column_is_simulated(plan: sa.Plan, tmp_path: Path) -> None:
    path = tmp_path / "flights.csv"
    path.write_text("carrier,arrival delay\nAA,-3\nUA,12\nUA,75\n")
    values = sa.read_csv(path, plan, {"delay": "arrival delay"})
    np.testing.assert_allclose(sa.simulate(plan, values, seed=1).truth, [1 / 3, 2 / 3, 2 / 3])
    with pytest.raises(sa.ColumnError, match="no column 'delay'"):
        sa.read_csv(path, plan.workload)
    with pytest.raises(TypeError, match="a Workload, a Plan or a PairwisePlan"):
        sa.read_csv(path, sa.pairwise_statistic(EXAMPLES / "flights-gini" / "workload.yaml"))  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="no attribute 'late'"):
        sa.read_csv(path, plan, {"late": "arrival delay"})


def test_an_estimate_needs_reports_of_its_plan(plan: sa.Plan) -> None:
    with pytest.raises(sa.EstimationError, match="no report was counted"):
        sa.estimate(plan, sa.Aggregate.empty(plan.device.randomizer))
    with pytest.raises(sa.EstimationError, match="another plan"):
        sa.estimate(plan, sa.Aggregate(10, np.zeros(99, dtype=np.int64)))
    with pytest.raises(TypeError, match="Aggregate"):
        sa.estimate(plan, np.zeros(3))  # type: ignore[arg-type]


def test_an_estimate_is_written_as_columns(plan: sa.Plan, minutes: np.ndarray) -> None:
    answers = sa.simulate(plan, minutes[:500], seed=1).estimate
    columns = answers.columns()
    assert {len(column) for column in columns.values()} == {3}
    assert columns["label"] == plan.workload.labels()
    assert columns["lower"] == answers.intervals[:, 0].tolist()


def test_a_long_answer_is_shown_from_both_ends() -> None:
    plan = sa.plan(sa.prefix(40), epsilon=1, mechanism="subset_selection")
    run = sa.simulate(plan, np.arange(40).repeat(50), seed=1)
    for shown in (repr(run), repr(run.estimate), run._repr_html_()):
        assert "value ≤ 1" in shown
        assert "value ≤ 39" in shown
        assert "value ≤ 20" not in shown


def test_numbers_are_answered_as_they_were_asked_and_not_by_the_rows_of_the_plan() -> None:
    """The deviation, sums and what is of a category, each beside its truth; a category of nobody in words."""
    asked = {
        "name": "stars",
        "domain": [
            {"name": "stars", "kind": "integers", "low": 1, "high": 5},
            {"name": "country", "kind": "categorical", "labels": ["DE", "FR", "IN"]},
        ],
        "queries": {"stars": ["mean", "sum", "sd", {"share_above": 3}]},
    }
    rng = np.random.default_rng(3)
    countries, stars = rng.choice(["DE", "FR"], 30_000, p=[0.8, 0.2]), rng.integers(1, 6, 30_000)
    stars[countries == "FR"] = 5
    plan = sa.plan(sa.workload(asked), epsilon=4, effort="quick")
    run = sa.simulate(plan, {"stars": stars, "country": countries}, seed=4)
    found, of_french = run.estimate, stars[countries == "FR"]
    whole = ["mean of stars", "sum of stars", "sd of stars", "stars > 3"]
    parts = [f"{label}, country: {name}" for name in ("DE", "FR", "IN") for label in whole]
    assert found.labels == [*whole, *parts]
    assert run.truth[:4].tolist() == pytest.approx([stars.mean(), stars.sum(), stars.std(), (stars > 3).mean()])
    place = found.labels.index("mean of stars, country: FR")
    assert run.truth[place] == of_french.mean() == 5
    spread = found.labels.index("sd of stars, country: DE")
    assert run.truth[spread] == pytest.approx(stars[countries == "DE"].std())
    assert run.truth[found.labels.index("sd of stars, country: FR")] == pytest.approx(0, abs=1e-9)
    told = np.isfinite(found.values) & np.isfinite(run.truth)
    # Only the sum of the category of nobody is told; six standard errors.
    assert told.tolist() == [True] * 12 + [False, True, False, False]
    assert (np.abs(found.uncut - run.truth)[told] < 6 * found.standard_errors[told]).all()
    assert run.inside[[12, 14, 15]].all()
    assert np.isinf(found.intervals[[12, 14, 15]]).all()
    assert "not enough users in country: IN" in str(found.table.cells("sentence")[12])
    frame = run.to_pandas()
    assert frame["label"].tolist() == found.labels
    assert frame["truth"].isna().tolist() == [False] * 12 + [True, False, True, True]
    assert "sd of stars" in repr(found)
    assert "mean of stars, country: IN: not enough users in country: IN" in repr(found)
    assert "country: IN" in repr(run)
    # The rows of the plan are named for what they are.
    rows = plan.workload.labels()
    assert [rows[1], *rows[3:7]] == [
        "mean square of stars",
        "stars less 3 in country: DE",
        "mean square of stars in country: DE",
        "stars > 3 in country: DE",
        "country: DE",
    ]
