"""`sa.compare`: rounds, simulations, windows of series, and plans over large domains."""

from __future__ import annotations

import numpy as np
import pytest

import sordino_analysis as sa
from sordino_analysis.comparisons.matching import NotComparable
from sordino_shared.errors import InvalidValue, SordinoError


@pytest.fixture(scope="module")
def months(plan: sa.Plan) -> tuple[sa.Simulation, sa.Simulation]:
    rng = np.random.default_rng(8)
    may, june = (sa.simulate(plan, rng.normal(mean, 30, 20_000), seed=mean) for mean in (20, 29))
    return may, june


def test_two_months_in_one_line(months: tuple[sa.Simulation, sa.Simulation]) -> None:
    found = sa.compare(*months, names=("may", "june"))
    np.testing.assert_allclose(found.values, months[1].estimate.uncut - months[0].estimate.uncut)
    assert found.verdicts == ("lower",) * 3
    assert found.findings[0] == "3 of 3 answers differ"
    assert "is lower: june − may = −" in found.findings[1]
    text = repr(found)
    assert text.startswith("june less may")
    assert "verdict" in text
    assert found.to_pandas()["right_value"].tolist() == pytest.approx(months[1].estimate.uncut.tolist())
    assert set(found.to_polars()["verdict"]) == {"lower"}
    assert found.population_intervals is None


def test_about_populations_it_assumes_different_people(months: tuple[sa.Simulation, sa.Simulation]) -> None:
    plain, found = sa.compare(*months), sa.compare(*months, population=True)
    assert any("assumes different people" in warning for warning in found.warnings)
    assert not any("different people" in warning for warning in plain.warnings)
    assert found.population_intervals is not None
    assert (np.diff(found.population_intervals) > np.diff(found.intervals)).all()
    assert (np.diff(found.band) > np.diff(plain.band)).all()


def test_one_query_has_a_band_that_is_its_interval(months: tuple[sa.Simulation, sa.Simulation]) -> None:
    found = sa.compare(*months, only=["delay ≤ 15 min"])
    assert found.labels == ["delay ≤ 15 min"]
    np.testing.assert_allclose(found.band, found.intervals, rtol=0.02)
    with pytest.raises(NotComparable, match="no query 'late'"):
        sa.compare(*months, only=["late"])


def test_windows_of_two_series_are_compared_and_those_of_one_have_their_change(plan: sa.Plan) -> None:
    rng = np.random.default_rng(2)

    def app(mean: float) -> sa.SeriesEstimates:
        days = {day: sa.simulate(plan, rng.normal(mean, 30, 900), seed=day).aggregate for day in range(4)}
        return sa.series(plan, days, slots=7)

    apps = [app(20), app(29)]
    left, right = (app.window(0, 3) for app in apps)
    assert left is not None
    assert right is not None
    found = sa.compare(left, right, names=("app", "web"))
    np.testing.assert_allclose(found.values, right.uncut - left.uncut)
    np.testing.assert_allclose(found.standard_errors, np.hypot(left.standard_error, right.standard_error))
    with pytest.raises(InvalidValue, match=r"at its own level, 0\.95, and not at 0\.99"):
        sa.compare(left, right, level=0.99)
    by_periods = apps[1].window(0, 3, by="periods")
    assert by_periods is not None
    np.testing.assert_allclose(sa.compare(left, by_periods).values, by_periods.uncut - left.uncut)
    with pytest.raises(NotComparable, match=r"share reports.*ask a series for the change"):
        sa.compare(left, apps[0].window(2, 5))
    day, other, change = apps[0].period(0), apps[0].period(2), apps[0].change((0, 0), (2, 2))
    assert day is not None
    assert other is not None
    assert change is not None
    of_series = sa.compare(day, other, population=True)
    np.testing.assert_allclose(of_series.intervals, change.interval)
    np.testing.assert_allclose(of_series.population_intervals, change.population_interval)


def test_large_domains_and_items_are_compared_by_normal_errors() -> None:
    numbers = sa.workload(
        {"name": "n", "domain": [{"name": "n", "kind": "integers", "low": 0, "high": 99_999}], "queries": "histogram"}
    )
    items = sa.plan(numbers, epsilon=4)
    one, other = (sa.simulate(items, [7] * share + [70_000] * (9000 - share), seed=share) for share in (6000, 3000))
    found = sa.compare(one, other, only=["7"])
    assert found.verdicts == ("lower",)
    # The level is the one that is asked for: 2.576 of the standard errors in place of 1.960.
    wide = sa.compare(one, other, only=["7"], level=0.99)
    assert wide.level == 0.99
    np.testing.assert_allclose(np.diff(wide.intervals) / np.diff(found.intervals), 2.575829 / 1.959964, rtol=0.01)
    assert abs(found.values[0] + 1 / 3) < 6 * found.standard_errors[0]
    # 2^17 types: more than are listed for the law of a report.
    bits = [{"name": f"b{j}", "kind": "categorical", "labels": ["off", "on"]} for j in range(17)]
    marginals = sa.plan(
        sa.workload({"name": "m", "domain": bits, "queries": {"kind": "marginals", "width": 1}}),
        epsilon=2,
        effort="quick",
    )
    rows = [[{f"b{j}": "on" if j < split else "off" for j in range(17)}] * 3000 for split in (3, 9)]
    sides = [sa.simulate(marginals, values, seed=3) for values in rows]
    every = sa.compare(*sides)
    np.testing.assert_allclose(every.values, sides[1].estimate.uncut - sides[0].estimate.uncut)
    wide = sa.compare(*sides, level=0.99)
    np.testing.assert_allclose(np.diff(wide.intervals) / np.diff(every.intervals), 2.575829 / 1.959964, rtol=0.01)
    chosen = [sa.marginal(marginals, side.aggregate, ["b5"]) for side in sides]
    assert sa.compare(*chosen).verdicts in {("lower", "higher"), ("undecided", "undecided")}


@pytest.mark.slow
def test_means_of_numbers_are_compared_whatever_levels_their_plans_round_to() -> None:
    domain = [
        {"name": "load_ms", "kind": "number", "low": 0, "high": 10_000, "unit": "ms"},
        {"name": "country", "kind": "categorical", "labels": ["DE", "FR"]},
    ]
    asked = {"name": "load", "domain": domain, "queries": {"load_ms": ["mean", {"share_above": 5000}]}}
    rng, sides = np.random.default_rng(1), []
    for seed, (epsilon, mean) in enumerate([(1, 4000), (4, 6000)]):
        plan = sa.plan(sa.workload(asked), epsilon=epsilon, effort="quick")
        held = {"load_ms": rng.normal(mean, 500, 20_000), "country": rng.choice(["DE", "FR"], 20_000)}
        sides.append(sa.simulate(plan, held, seed=seed))
    found = sa.compare(*sides)
    assert found.labels == sides[0].estimate.labels
    assert found.labels[:3] == ["mean of load_ms", "load_ms > 5,000 ms", "mean of load_ms, country: DE"]
    assert set(found.verdicts) == {"higher"}
    truth = sides[1].truth - sides[0].truth
    assert (np.abs(found.values - truth) < 6 * found.standard_errors).all()
    assert found.warnings == ()
    assert found.to_pandas()["country_label"].tolist()[2:] == ["DE", "DE", "FR", "FR"]
    assert "mean of load_ms is higher: right − left = " in "\n".join(found.findings)
    assert " ms (band " in "\n".join(found.findings)


def test_wrong_arguments_say_what_to_give(months: tuple[sa.Simulation, sa.Simulation], plan: sa.Plan) -> None:
    with pytest.raises(InvalidValue, match="left must be an estimate, a simulation, or a period"):
        sa.compare(plan, months[0])  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="two names"):
        sa.compare(*months, names=["may"])
    with pytest.raises(NotComparable, match="share reports"):
        sa.compare(months[0], months[0])
    # Beyond the last one doubles have no quantile.
    for level in (0, 1, 2, 1 - 2**-53):
        with pytest.raises(SordinoError, match="between 0 and 1"):
            sa.compare(*months, level=level)
    wider = sa.simulate(sa.plan(sa.prefix([0, 30], name="delay", unit="min"), epsilon=1), [5.0] * 99, seed=1)
    with pytest.raises(NotComparable, match=r"its edges are 0\.0, 15\.0, 60\.0 on the left and 0\.0, 30"):
        sa.compare(months[0], wider)
