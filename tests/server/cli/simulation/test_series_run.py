"""The simulated series: what its devices hold, what its result says, and a whole run with real servers and apps."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.kinds.series import ListedPeriod, SeriesExtras
from sordino_server.cli.simulation.presented_series import series_result
from sordino_server.cli.simulation.series_run import LABELS, SeriesResult, SeriesTerms, _App
from tests.patience import PATIENCE_S

TERMS = SeriesTerms(days=14, users=20_000, apps=40, epsilon=1.0, seed=1)


def test_a_version_is_released_in_the_middle_and_an_app_never_goes_back():
    assert TERMS.shares(7) == pytest.approx((0.3, 0.7, 0))
    assert sum(TERMS.shares(13)) == pytest.approx(1)
    assert TERMS.shares(13)[2] == pytest.approx(1 - 0.9**6)
    for taste in (0.0, 0.1, 0.5, 0.9, 0.999999):
        app = _App(None, taste)  # type: ignore[arg-type]
        held = [app.version(TERMS.shares(day)) == 2 for day in range(14)]
        assert held == sorted(held)
        assert {app.version(TERMS.shares(day)) for day in range(14)} <= {0, 1, 2}


def test_the_result_sets_each_day_beside_the_truth():
    ends = ((0.1, 0.5), (0.8, 0.9), (0, 1))
    answers = list(zip(LABELS, (0.3, 0.7, 0.0), ends, strict=True))
    rows = [
        {"part": "period", "period": day, "label": label, "value": value, "standard_error": 0.1}
        | ({"lower": low, "upper": high} if day == 0 else {})
        for day in (0, 1)
        for label, value, (low, high) in answers
    ]
    states = [(0, "estimated", 40), (1, "estimated", 4), (2, "missing", 0)]
    periods = [
        ListedPeriod(period=day, start=0, end=3, state=state, reports=reports, active=None, active_standard_error=None)
        for day, state, reports in states
    ]
    extras = SeriesExtras(
        workload="versions", slots=7, period_s=3, value_of="current", by="reports", window=7, comparisons=0,
        periods=periods, trend=None, warnings=(),
    )  # fmt: skip
    estimate = EstimateDocument.of_rows("series", rows, extras, epsilon=1.0, level=0.95, mechanism="m")
    result = SeriesResult(series="s", estimate=estimate, truth=[[0.3, 0.7, 0.0]] * 3, app_reports=1, fleet_reports=43)
    found = series_result(result, TERMS)
    assert [[row["inside"] for row in day["answers"]] for day in found["days"]] == [[True, False, True], [None] * 3, []]
    assert found["interval_coverage"] == pytest.approx(2 / 3)
    assert found["labels"] == list(LABELS)


@pytest.mark.slow
def test_a_fortnight_with_a_real_server_and_real_apps(tmp_path):
    """Errors of 42 answers are below six of their standard errors."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SORDINO_")}
    command = [sys.executable, "-m", "sordino_server", "demo", "--series", "14", "--users", "14000", "--json"]
    done = subprocess.run(
        command, cwd=tmp_path, env=kept, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {day["state"] for day in found["days"]} == {"estimated"}
    # An app answers in one of seven days; one that a busy machine kept from its day missed it.
    assert 0 < found["app_reports"] <= 80
    assert sum(day["reports"] for day in found["days"]) == found["app_reports"] + found["fleet_reports"]
    for day in found["days"]:
        for value, error, truth in ((row["value"], row["standard_error"], row["truth"]) for row in day["answers"]):
            assert abs(value - truth) < 6 * error
    # One pair of weeks, a row for each answer.
    assert len({(row["left"], row["right"]) for row in found["changes"]}) == 1
    assert sorted(row["label"] for row in found["changes"]) == sorted(f"version: {label}" for label in LABELS)
    # Version 2.0 gains 27 points between the weeks, 17 standard errors.
    assert next(row for row in found["changes"] if row["label"] == f"version: {LABELS[2]}")["verdict"] == "higher"
