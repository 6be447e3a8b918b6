"""/v1/comparisons, and groups in /v1/campaigns/{id}/answers: asked of a running server."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sordino_server.models import Role
from sordino_shared.protocol import Problem
from tests.server.answers.test_answers_on_demand_api import TABLE, closed

Check = Callable[..., dict[str, Any]]
MAY = [0] * 600 + [1] * 300 + [2] * 90 + [3] * 10
JUNE = [0] * 400 + [1] * 300 + [2] * 250 + [3] * 50


def identifier(path: str) -> str:
    return path.rpartition("/")[2]


def order(running: Any, name: str, epsilon: int, workload: Any = TABLE) -> dict[str, Any]:
    return {"name": name, "workload": running.workload(workload), "epsilon": epsilon}


def two(running: Any) -> tuple[str, str]:
    """The campaigns of May and of June, whose plans have other ε."""
    names = [
        identifier(closed(running, cells, **order(running, name, epsilon)))
        for name, cells, epsilon in (("may", MAY, 4), ("june", JUNE, 2))
    ]
    return names[0], names[1]


def test_two_closed_campaigns_are_compared(running: Any, check_problem: Check) -> None:
    may, june = two(running)
    path = f"/v1/comparisons?left={may}&right={june}"
    found = running.api.get(path)
    assert found.status_code == 200
    assert "immutable" in found.headers["cache-control"]
    document = found.json()
    assert document["kind"] == "comparison"
    extras, table = document["extras"], document["table"]
    assert (extras["left"]["name"], extras["right"]["name"]) == ("may", "june")
    assert (extras["left"]["epsilon"], extras["right"]["epsilon"]) == (4.0, 2.0)
    assert (document["terms"]["users"], document["terms"]["compared"]) == (2000, 4)
    truth = np.array([-0.2, 0.0, 0.16, 0.04])
    # Six standard errors: one false alarm in 5·10^8 for each.
    assert (np.abs(np.array(table["value"]) - truth) < 6 * np.array(table["standard_error"])).all()
    assert set(table["left"]) == {"may"}
    assert table["verdict"][0] == "lower"
    # What a stored estimate says is subtracted, and no best guess.
    answers = [running.api.get(f"/v1/campaigns/{each}/estimates").json()["table"] for each in (may, june)]
    uncut = [np.array(each["uncut"]) for each in answers]
    np.testing.assert_allclose(table["value"], uncut[1] - uncut[0])
    np.testing.assert_allclose(table["left_value"], uncut[0])
    rows = list(csv.DictReader(io.StringIO(running.api.get(f"{path}&format=csv").text)))
    assert [row["verdict"] for row in rows] == table["verdict"]
    assert [float(row["value"]) for row in rows] == table["value"]


def test_level_queries_and_population_are_taken(running: Any, check_problem: Check) -> None:
    may, june = two(running)
    path = f"/v1/comparisons?left={may}&right={june}"
    whole = running.api.get(path).json()["table"]
    label = whole["label"][0]
    one = running.api.get(path, params={"left": may, "right": june, "query": label, "level": 0.99}).json()
    assert one["table"]["label"] == [label]
    assert one["terms"]["level"] == 0.99
    assert one["table"]["upper"][0] > whole["upper"][0]
    assert one["table"]["band_upper"][0] == pytest.approx(one["table"]["upper"][0], rel=0.02)
    people = running.api.get(f"{path}&population=true").json()
    assert any("assumes different people" in warning for warning in people["extras"]["warnings"])
    assert people["table"]["population_upper"][0] > people["table"]["upper"][0]
    assert "population_upper" not in whole


DELAY = {
    "name": "delays",
    "domain": [{"name": "delay", "kind": "ordinal", "edges": [1, 2, 3, 4, 5, 6, 7], "unit": "min"}],
    "queries": "prefix",
}


def test_shifts_of_quantiles_are_told(running: Any, check_problem: Check) -> None:
    """Medians of 2 … 3 and 4 … 5 min: a false alarm of one seed in 20 at most."""
    sides = [
        identifier(closed(running, cells, **order(running, name, 4, DELAY)))
        for name, cells in (("may", [2] * 900 + [6] * 300), ("june", [4] * 900 + [7] * 300))
    ]
    path = f"/v1/comparisons?left={sides[0]}&right={sides[1]}"
    document = running.api.get(f"{path}&quantile=0.5&quantile=0.99").json()
    table = document["table"]
    assert table["label"] == ["0.5 quantile of delay", "0.99 quantile of delay"]
    assert (table["kind"], table["unit"]) == (["quantile"] * 2, ["min"] * 2)
    assert table["lower"][0] <= 2 <= table["upper"][0]
    assert table["verdict"] == ["higher", "higher"]
    # The last bin has no end.
    assert table["upper"][1] is None
    assert "bin without an end" in table["sentence"][1]
    assert (document["extras"]["population"], document["terms"]["compared"]) == (True, 2)
    assert [
        row["verdict"] for row in csv.DictReader(io.StringIO(running.api.get(f"{path}&quantile=.5&format=csv").text))
    ]
    for query, said in (
        ("quantile=0", "greater than 0"),
        ("quantile=1", "less than 1"),
        ("quantile=nan", "quantile"),
        ("quantile=half", "valid number"),
        ("quantile=.5&query=x", "leave `query` out"),
    ):
        assert said in check_problem(running.api.get(f"{path}&{query}"), Problem.INVALID_REQUEST)["detail"]
    may, june = two(running)
    refused = check_problem(
        running.api.get(f"/v1/comparisons?left={may}&right={june}&quantile=.5"), Problem.INVALID_REQUEST
    )
    assert "one ordered attribute" in refused["detail"]


def test_what_cannot_be_compared_is_refused_with_the_reason(running: Any, check_problem: Check) -> None:
    may, june = two(running)
    get = running.api.get
    for query, said in (
        (f"left={may}&right={may}", "compare two campaigns"),
        (f"left={may}&right={june}&query=late", "no query 'late'"),
        (f"left={may}&right={june}&level=0", "greater than 0"),
        (f"left={may}&right={june}&level=1", "less than 1"),
        (f"left=may&right={june}", "left"),
        (f"left={may}", "right"),
        (f"left={may}:B&right={june}", "no arm 'B'"),
    ):
        assert said in check_problem(get(f"/v1/comparisons?{query}"), Problem.INVALID_REQUEST)["detail"]
    other = TABLE | {"domain": [TABLE["domain"][0], TABLE["domain"][1] | {"labels": ["no", "yes", "maybe"]}]}
    third = identifier(closed(running, [0] * 50, **order(running, "july", 2, other)))
    refused = check_problem(get(f"/v1/comparisons?left={may}&right={third}"), Problem.INVALID_REQUEST)["detail"]
    assert "attribute 'wifi': its categories are no, yes on the left and no, yes, maybe on the right" in refused
    running_still = running.campaign("open", **order(running, "august", 4))["id"]
    refused = check_problem(get(f"/v1/comparisons?left={may}&right={running_still}"), Problem.ESTIMATE_NOT_READY)
    assert running_still in refused["detail"]
    check_problem(get(f"/v1/comparisons?left={may}&right={'0' * 64}"), Problem.NOT_FOUND)
    client = running.client(running.key(Role.UPLOADER))
    assert client.get(f"/v1/comparisons?left={may}&right={june}").status_code == 403


def test_answers_are_given_a_group(running: Any, check_problem: Check) -> None:
    path = closed(running, MAY, **order(running, "may", 4))
    asked = {"marginal": "wifi:yes", "given": "os=linux"}
    document = running.api.get(f"{path}/answers", params=asked).json()
    table = document["table"]
    assert table["label"] == ["wifi: yes given os: linux"]
    assert table["given"] == ["os: linux"]
    assert abs(table["value"][0] - 1 / 3) < 6 * table["standard_error"][0]
    assert table["group_lower"][0] < 0.9 < table["group_upper"][0]
    text = running.api.get(f"{path}/answers", params=asked | {"format": "csv"}).text
    assert "os: linux" in text
    for group, said in (
        ("planet=DE", "no attribute 'planet'"),
        ("os", "a group is NAME=VALUE"),
        ("wifi=yes", "all users"),
    ):
        refused = running.api.get(f"{path}/answers", params=asked | {"given": group})
        assert said in check_problem(refused, Problem.INVALID_REQUEST)["detail"]
    refused = running.api.get(f"{path}/answers", params={"rule": "wifi:on", "given": "os=linux"})
    assert "/query/given" in check_problem(refused, Problem.INVALID_REQUEST)["detail"]


def test_an_arm_that_is_not_there_is_refused(running: Any, check_problem: Check) -> None:
    terms = {"name": "start", "purpose": "x", "population": "app", "plan_request": running.ready_plan(epsilon=4)["id"]}
    arms = [{"name": name, "weight": 2**15} for name in ("A", "B")]
    campaign = running.api.post("/v1/campaigns", json=terms | {"arms": arms}).raise_for_status().json()["id"]
    refused = running.api.get(f"/v1/comparisons?left={campaign}:C&right={campaign}:A")
    assert "no arm 'C': its arms are A, B" in check_problem(refused, Problem.INVALID_REQUEST)["detail"]
    refused = running.api.get(f"/v1/comparisons?left={campaign}:A&right={campaign}:B")
    check_problem(refused, Problem.ESTIMATE_NOT_READY)
