"""Every way to an answer shows the names of the one list, and the same numbers under them."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

import sordino_analysis as sa
from sordino_analysis.answers.columns import in_order, named
from sordino_analysis.answers.table import EXPORTED
from sordino_server.models import Role
from tests.estimates import answers_of

CELLS = [0] * 600 + [1] * 300 + [2] * 90 + [3] * 10


@pytest.fixture
def closed(running: Any) -> str:
    """The id of a closed campaign."""
    campaign = running.campaign("open")
    running.report(campaign, CELLS).raise_for_status()
    running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    running.work()
    return str(campaign["id"])


def listed(names: Any) -> list[str]:
    """The names, each of which is a column or a bound of the one attribute, in the order of the list."""
    given = list(names)
    assert {name for name in given if named(name) is None} <= {"delay_low", "delay_high", "delay_unit", "delay_label"}
    assert in_order(given) == given
    return given


def by_label(rows: list[dict[str, Any]]) -> dict[str, float]:
    return {row["label"]: float(row["value"]) for row in rows}


def test_every_way_to_an_estimate_has_the_names_of_the_list(running: Any, closed: str, browsers: Any) -> None:
    path = f"/v1/campaigns/{closed}"
    document = running.api.get(f"{path}/estimates").json()
    exported = running.api.get("/v1/estimates", params={"campaign": closed}).json()
    console = browsers.of(Role.ANALYST).http
    tables = [
        running.api.get(f"{path}/estimates?format=csv").text,
        running.api.get("/v1/estimates", params={"campaign": closed, "format": "csv"}).text,
        console.get(f"/console/campaigns/{closed}/estimate.csv").text,
    ]
    read = sa.read_estimates(
        f"{running.address}/v1/estimates?campaign={closed}", key=running.admin_key, frame="columns"
    )
    values = by_label(answers_of(document))
    listed(document["terms"])
    listed(document["table"])
    for text in tables:
        rows = list(csv.DictReader(io.StringIO(text)))
        listed(rows[0])
        assert by_label(rows) == values
    assert [column["name"] for column in exported["columns"]] == listed(exported["rows"][0]) == listed(read)
    assert set(EXPORTED) <= read.keys()
    assert by_label(exported["rows"]) == values == dict(zip(read["label"], read["value"].tolist(), strict=True))
    assert document["table"].keys() | document["terms"].keys() <= exported["rows"][0].keys()


@pytest.mark.parametrize("question", [{"range": "..15"}, {"quantile": "0.5"}, {"cell": "0.5"}])
def test_every_way_to_an_answer_on_demand_has_them(running: Any, closed: str, question: dict[str, str]) -> None:
    address = f"/v1/campaigns/{closed}/answers"
    document = running.api.get(address, params=question).raise_for_status().json()
    text = running.api.get(address, params=question | {"format": "csv"}).text
    (row,) = csv.DictReader(io.StringIO(text))
    assert set(listed(row)) == {*listed(document["table"]), *listed(document["terms"]), "warnings"}
