"""/v1/estimates: the results of several campaigns as one table, whose cells are those of the stored estimates."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

import sordino_analysis as sa
from sordino_server.answers import export
from sordino_shared.errors import SordinoError
from sordino_shared.protocol import Problem
from tests.estimates import answers_of

Check = Callable[..., dict[str, Any]]
CELLS = [0] * 600 + [1] * 300 + [2] * 90 + [3] * 10
PLACES = {
    "name": "places",
    "domain": [
        {"name": "=city", "kind": "categorical", "labels": ["Rome", "=Oslo"]},
        {"name": "steps", "kind": "integers", "low": 1, "high": 3},
    ],
    "queries": {"=city": "histogram", "steps": "ranges"},
}
COLOURS = {
    "name": "mixed colours",
    "domain": [{"name": "colour", "kind": "categorical", "labels": ["red", "green", "blue"]}],
    "statistic": {"kind": "gini_diversity"},
}


def _closed(running: Any, cells: list[int], **order: Any) -> dict[str, Any]:
    campaign: dict[str, Any] = running.campaign("open", **order)
    assert running.report(campaign, cells).status_code == 200
    running.clock.advance(90)
    running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    running.work()
    return campaign


def _document(running: Any, campaign: dict[str, Any]) -> dict[str, Any]:
    document: dict[str, Any] = running.api.get(f"/v1/campaigns/{campaign['id']}/estimates").raise_for_status().json()
    return document


def _address(running: Any, *campaigns: dict[str, Any], **more: str) -> str:
    asked = [("campaign", campaign["id"]) for campaign in campaigns]
    return str(running.api.build_request("GET", "/v1/estimates", params=[*asked, *more.items()]).url)


def test_one_table_of_two_questions_and_a_statistic(running: Any) -> None:
    delays = _closed(running, CELLS)
    places = _closed(running, [0, 1, 5] * 200, workload=running.workload(PLACES))
    statistic = {"workload": running.workload(COLOURS), "mechanism": None, "protocol": "one_round", "users": 600}
    colours = _closed(running, [0, 1, 2] * 200, **statistic)
    response = running.api.get(_address(running, delays, places, colours)).raise_for_status()
    assert response.headers["cache-control"] == "no-store"
    table = response.json()
    names = [column["name"] for column in table["columns"]]
    own = names[names.index("label") + 1 : names.index("unit")]
    assert own == ["delay_high", "delay_unit", "=city_label", "steps_low", "steps_high"]
    types = {column["name"]: column["type"] for column in table["columns"]}
    assert (types["delay_high"], types["steps_low"], types["=city_label"]) == ("number", "integer", "text")
    rows = table["rows"]
    assert all(list(row) == names for row in rows)
    first, second, third = (_document(running, each) for each in (delays, places, colours))
    answers = [answer for document in (first, second, third) for answer in answers_of(document)]
    for row, answer in zip(rows, answers, strict=True):
        assert {name: row[name] for name in answer} == answer
        assert row["epsilon"] == 1.0
    assert [row["delay_high"] for row in rows[:3]] == [0.0, 15.0, 60.0]
    assert {row["delay_unit"] for row in rows[:3]} == {"min"}
    assert {row["steps_low"] for row in rows[:3]} == {None}
    asked = {(row["=city_label"], row["steps_low"], row["steps_high"]) for row in rows[3:-1]}
    spans = [(1, 1), (1, 2), (2, 2), (2, 3), (3, 3)]
    assert asked == {(city, *span) for city in ("Rome", "=Oslo") for span in [*spans, (None, None)]}
    assert (rows[0]["kind"], rows[3]["kind"], rows[-1]["kind"]) == ("prefix", "histogram×ranges", "statistic")
    assert (rows[0]["users"], rows[3]["users"], rows[-1]["users"]) == (1000, 600, 600)
    assert (rows[-1]["label"], rows[-1]["value"]) == ("mixed colours", answers[-1]["value"])
    assert (rows[-1]["mechanism"], rows[-1]["bias_bound"]) == ("one_round", third["terms"]["bias_bound"])
    assert rows[-1]["warnings"] == (" | ".join(third["extras"]["warnings"]) or None)
    opened, closed = (datetime.fromisoformat(rows[0][name]) for name in ("opened", "closed"))
    assert (closed - opened).total_seconds() == 90
    assert opened == datetime.fromtimestamp(1_800_000_000, UTC)
    assert {row["campaign_id"] for row in rows} == {each["id"] for each in (delays, places, colours)}


def test_csv_has_the_same_cells_and_no_formula(running: Any) -> None:
    places = _closed(running, [0, 1, 5] * 200, workload=running.workload(PLACES))
    rows = running.api.get(_address(running, places)).json()["rows"]
    response = running.api.get(_address(running, places, format="csv"))
    assert response.headers["content-type"].startswith("text/csv")
    assert response.content == running.api.get(_address(running, places), headers={"accept": "text/csv"}).content
    table = list(csv.DictReader(io.StringIO(response.text)))
    assert {row["'=city_label"] for row in table} == {"Rome", "'=Oslo"}
    for row, cells in zip(table, rows, strict=True):
        assert float(row["value"]) == cells["value"]
        assert row["steps_low"] == ("" if cells["steps_low"] is None else str(cells["steps_low"]))
    form = running.api.get(_address(running, places, format="rows"), headers={"accept": "text/csv"})
    assert form.json()["rows"] == rows


def test_marginals_name_the_members_of_their_attributes_alone(running: Any) -> None:
    flag = {"name": "flag", "kind": "categorical", "labels": ["yes", "no"], "other": True}
    wide = {"name": "w", "domain": [flag, {**flag, "name": "set"}], "queries": {"kind": "marginals", "width": 1}}
    campaign = _closed(running, [0, 4, 8] * 100, workload=running.workload(wide), mechanism=None)
    rows = running.api.get(_address(running, campaign)).json()["rows"]
    assert [(row["flag_label"], row["set_label"]) for row in rows] == [
        *(("yes", None), ("no", None), ("other", None)),
        *((None, "yes"), (None, "no"), (None, "other")),
    ]


def test_what_cannot_be_exported_is_refused_and_named(running: Any, check_problem: Check) -> None:
    campaign = running.campaign("open")
    path = "/v1/estimates"

    def refused(problem: Problem, words: str, *identifiers: str, **more: str) -> None:
        asked = [("campaign", each) for each in identifiers]
        check_problem(running.api.get(path, params=[*asked, *more.items()]), problem, words)

    refused(Problem.ESTIMATE_NOT_READY, campaign["id"], campaign["id"])
    refused(Problem.NOT_FOUND, "00" * 32, "00" * 32)
    refused(Problem.INVALID_REQUEST, "campaign")
    refused(Problem.INVALID_REQUEST, "hexadecimal", "delays")
    refused(Problem.INVALID_REQUEST, "there are campaign, format", campaign["id"], campaigns="x")
    refused(Problem.INVALID_REQUEST, "csv", campaign["id"], format="parquet")
    running.report(campaign, CELLS)
    running.api.post(f"/v1/campaigns/{campaign['id']}/close")
    running.work()
    refused(Problem.INVALID_REQUEST, "twice", campaign["id"], campaign["id"])
    refused(Problem.INVALID_REQUEST, "campaign", *[campaign["id"]] * (export.MOST_CAMPAIGNS + 1))
    assert running.anonymous.get(path, params={"campaign": campaign["id"]}).status_code == 401


def test_analysts_read_the_table_from_the_server(running: Any) -> None:
    delays = _closed(running, CELLS)
    answers = answers_of(_document(running, delays))
    for form in ("rows", "csv"):
        address = _address(running, delays, format=form)
        columns = sa.read_estimates(address, key=running.admin_key, frame="columns")
        assert columns["value"].tolist() == [answer["value"] for answer in answers]
        assert columns["delay_high"].tolist() == [0.0, 15.0, 60.0]
        assert columns["users"].tolist() == [1000] * 3
        assert columns["kind"] == ["prefix"] * 3
    with pytest.raises(SordinoError, match=r"answers 401: .*key"):
        sa.read_estimates(address)
    with pytest.raises(SordinoError, match="answers 404: campaign 0000"):
        sa.read_estimates(_address(running, {"id": "00" * 32}), key=running.admin_key)
    campaign = f"{running.address}/v1/campaigns/{delays['id']}"
    for address in (f"{campaign}/estimates", f"{campaign}/estimates?format=csv"):
        own = sa.read_estimates(address, key=running.admin_key, frame="columns")
        assert own["value"].tolist() == columns["value"].tolist()
    with pytest.raises(SordinoError, match="no table of estimates"):
        sa.read_estimates(f"{campaign}/status", key=running.admin_key)
