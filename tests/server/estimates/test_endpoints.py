"""The estimate of a round: computed once it is closed, the same bytes for ever."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable
from typing import Any

import pytest

from sordino_analysis.answers.columns import in_order
from sordino_shared.protocol import Problem
from tests.estimates import answers_of, ends_of, facts_of

Check = Callable[..., dict[str, Any]]
CELLS = [0] * 600 + [1] * 300 + [2] * 90 + [3] * 10


def _estimated(running: Any, **order: Any) -> tuple[dict[str, Any], str]:
    campaign = running.campaign("open", **order)
    assert running.report(campaign, CELLS).status_code == 200
    running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    running.work()
    return campaign, f"/v1/campaigns/{campaign['id']}/rounds/0/estimates"


def test_the_document_says_everything(running: Any) -> None:
    campaign, path = _estimated(running)
    document = running.api.get(path).json()
    assert list(document) == ["kind", "terms", "table", "extras"]
    facts, table = facts_of(document), document["table"]
    assert facts["campaign_id"] == campaign["id"]
    assert facts["plan_device"] == campaign["rounds"][0]["device_digest"]
    assert facts["plan_analyst"] == campaign["rounds"][0]["analyst_digest"]
    assert (facts["users"], facts["epsilon"], facts["level"]) == (len(CELLS), 1.0, 0.95)
    assert (facts["target"], facts["validity"], facts["unbiased"]) == ("reporters", "worst_case", True)
    assert table["label"] == [f"delay ≤ {edge} min" for edge in (0, 15, 60)]
    assert table["kind"] == ["prefix"] * 3
    assert (table["delay_high"], table["delay_unit"]) == ([0.0, 15.0, 60.0], ["min"] * 3)
    truth = [0.6, 0.9, 0.99]
    for query, exact in zip(answers_of(document), truth, strict=True):
        # Six standard errors: one false alarm in 5·10^8, and the seed is fixed.
        assert abs(query["value"] - exact) < 6 * query["standard_error"]
        assert query["band_lower"] <= query["lower"] < query["value"] < query["upper"] <= query["band_upper"]
        assert query["population_standard_error"] > query["standard_error"] > 0
        assert 0 <= query["best"] <= 1
        assert query["coverage"] == pytest.approx(0.95, abs=0.0125)
        assert query.get("enough_reports") is None
    worst = max(table["standard_error"])
    assert 0 < worst <= facts["predicted_rmse_max"] * 1.05


def test_the_result_never_changes(running: Any) -> None:
    campaign, path = _estimated(running)
    first = running.api.get(path)
    running.clock.advance(10_000)
    running.work()
    status = running.api.get(f"/v1/campaigns/{campaign['id']}/status").json()
    assert (status["rounds"][0]["state"], status["rounds"][0]["error"]) == ("estimated", None)
    assert running.api.get(path).content == first.content
    assert first.headers["cache-control"] == "no-store"
    assert (
        running.api.get(path, params={"format": "csv"}).content
        == running.api.get(path, headers={"accept": "text/csv"}).content
    )


def test_the_table_holds_the_same_numbers(running: Any) -> None:
    _, path = _estimated(running)
    document = running.api.get(path).json()
    response = running.api.get(path, params={"format": "csv"})
    assert response.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(response.text)))
    assert list(rows[0]) == in_order(rows[0])
    assert {"delay_high", "value", "coverage", "plan_device"} <= rows[0].keys()
    for row, query in zip(rows, answers_of(document), strict=True):
        assert row["label"] == query["label"]
        numbers = {name: float(row[name]) for name in ("value", "standard_error", "best")}
        assert numbers == {name: query[name] for name in numbers}
        assert float(row["coverage"]) == query["coverage"]
        assert row.get("enough_reports", "") == ""
        assert [float(row["band_lower"]), float(row["band_upper"])] == ends_of(query, "band_")
        assert (int(row["users"]), row["campaign_id"]) == (len(CELLS), document["terms"]["campaign_id"])
        assert float(row["bias_bound"]) == document["terms"]["bias_bound"]
    assert running.api.get(path, params={"format": "json"}, headers={"accept": "text/csv"}).json() == document


def test_no_cell_of_the_table_is_a_formula(running: Any) -> None:
    labels = ["=HYPERLINK(1)", "+1", "-1", "@SUM(1)", " =1", "plain"]
    places = [{"name": "city", "kind": "categorical", "labels": ["Rome", "Oslo", "Bern"]}]
    rows = [[number, 1, -number] for number in range(1, len(labels) + 1)]
    workload = {"name": "rows", "domain": places, "queries": {"matrix": rows, "labels": labels}}
    campaign = running.campaign("open", workload=running.workload(workload))
    assert running.report(campaign, [2] * 600 + [1]).status_code == 200
    running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    running.work()
    text = running.api.get(f"/v1/campaigns/{campaign['id']}/rounds/0/estimates", params={"format": "csv"}).text
    table = list(csv.DictReader(io.StringIO(text)))
    assert [row["label"] for row in table] == [f"'{label}" for label in labels[:-1]] + ["plain"]
    assert any(float(row["value"]) < 0 for row in table)


def test_an_estimate_is_not_there_before_its_time(running: Any, check_problem: Check) -> None:
    campaign = running.campaign("open")
    path = f"/v1/campaigns/{campaign['id']}/rounds/0/estimates"
    still_open = running.api.get(path)
    assert check_problem(still_open, Problem.ESTIMATE_NOT_READY, "close")["state"] == "open"
    assert "retry-after" not in still_open.headers
    running.report(campaign, CELLS)
    running.api.post(f"/v1/campaigns/{campaign['id']}/close")
    waiting = running.api.get(path)
    check_problem(waiting, Problem.ESTIMATE_NOT_READY, "no worker has taken it yet")
    assert waiting.headers["retry-after"] == "2"
    running.work()
    assert running.api.get(path).status_code == 200


def test_a_round_without_reports_says_so(running: Any, check_problem: Check) -> None:
    campaign = running.campaign("open", "close")
    running.work()
    response = running.api.get(f"/v1/campaigns/{campaign['id']}/rounds/0/estimates")
    check_problem(response, Problem.ESTIMATE_NOT_READY, "no report")
    assert "retry-after" not in response.headers
    status = running.api.get(f"/v1/campaigns/{campaign['id']}/status").json()
    assert "no report" in status["rounds"][0]["error"]


def test_every_mechanism_reaches_its_estimate(running: Any) -> None:
    for mechanism in ("subset_selection", "factorization"):
        running.clock.advance(1)
        _, path = _estimated(running, mechanism=mechanism)
        document = running.api.get(path).json()
        assert document["terms"]["mechanism"] == mechanism
        assert all(map(math.isfinite, document["table"]["value"]))


def test_rounds_that_do_not_exist(running: Any, check_problem: Check) -> None:
    campaign = running.campaign()
    for index in ("1", "16", str(2**32 - 1)):
        check_problem(running.api.get(f"/v1/campaigns/{campaign['id']}/rounds/{index}/estimates"), Problem.NOT_FOUND)
    for index in (str(2**32), "-1", "9999999999999999999999", "x"):
        check_problem(
            running.api.get(f"/v1/campaigns/{campaign['id']}/rounds/{index}/estimates"), Problem.INVALID_REQUEST
        )
