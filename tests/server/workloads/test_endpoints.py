"""Workloads are registered once under the digest of what they are, and nothing else is registered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sordino_shared.protocol import Problem

Check = Callable[..., dict[str, Any]]
LINE = {"name": "delay", "kind": "ordinal", "edges": [0, 15, 60]}


def _specification(**changes: Any) -> dict[str, Any]:
    return {"name": "delays", "domain": [LINE], "queries": "prefix"} | changes


@pytest.fixture
def forks() -> bool:
    """Checks meet their limits."""
    return True


def test_a_workload_is_registered_once(running: Any) -> None:
    first = running.api.post("/v1/workloads", json=_specification())
    running.clock.advance(5)
    # Said in another order and with the defaults written out: the same workload.
    again = running.api.post("/v1/workloads", json=dict(reversed(_specification(domain=[LINE | {"unit": ""}]).items())))
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == first.json()
    document = first.json()
    assert (document["cells"], document["queries"]) == (4, 3)
    assert first.headers["location"] == f"/v1/workloads/{document['id']}"
    assert running.api.get(first.headers["location"]).json() == document
    assert [entry["id"] for entry in running.api.get("/v1/workloads").json()["workloads"]] == [document["id"]]


def test_other_content_is_another_workload(running: Any) -> None:
    identifiers = {running.workload(_specification(name=name)) for name in ("a", "b", "c")}
    assert len(identifiers) == 3


def test_a_matrix_with_labels(running: Any) -> None:
    queries = {"matrix": [[1, 0, 0, 0], [0.5, 0.5, 0, 0]], "labels": ["first", "half"]}
    document = running.api.post("/v1/workloads", json=_specification(queries=queries)).json()
    assert document["queries"] == 2
    assert document["specification"]["queries"]["labels"] == ["first", "half"]


@pytest.mark.parametrize(
    ("changes", "mentioned"),
    [
        ({"queries": "median"}, "histogram"),
        ({"queries": {"matrix": []}}, "empty"),
        ({"queries": {"matrix": [[]]}}, "empty"),
        ({"queries": {"matrix": [[1, 2]]}}, "4 cells"),
        ({"queries": {"matrix": [[1, 1, 1, 1]]}}, "depends"),
        ({"domain": [LINE | {"edges": []}]}, "two"),
        ({"domain": []}, "attribute"),
        ({"domain": [LINE | {"edges": [1, 1]}]}, "increasing"),
        ({"domain": [LINE, LINE]}, "distinct"),
        ({"name": "a\nb"}, "name"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_workloads_that_cannot_be_asked(
    running: Any, check_problem: Check, changes: dict[str, Any], mentioned: str
) -> None:
    response = running.api.post("/v1/workloads", json=_specification(**changes))
    check_problem(response, Problem.INVALID_REQUEST)
    assert mentioned in response.text
    assert running.api.get("/v1/workloads").json()["workloads"] == []


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_are_none(running: Any, check_problem: Check, number: str) -> None:
    body = '{"name": "x", "domain": [{"name": "d", "kind": "ordinal", "edges": [0, 1]}], '
    body += f'"queries": {{"matrix": [[{number}, 0, 1]]}}}}'
    response = running.api.post("/v1/workloads", content=body, headers={"content-type": "application/json"})
    check_problem(response, Problem.INVALID_REQUEST, "finite")


def test_unknown_workload(running: Any, check_problem: Check) -> None:
    check_problem(running.api.get("/v1/workloads/" + "0" * 64), Problem.NOT_FOUND)
    check_problem(running.api.get("/v1/workloads/nothing"), Problem.INVALID_REQUEST)


SHARE = {"name": "share", "kind": "ordinal", "edges": {"low": 0, "high": 1, "bins": "auto"}}


def _statistic(**changes: Any) -> dict[str, Any]:
    return {"name": "difference", "domain": [LINE], "statistic": {"kind": "gini_diversity"}} | changes


def test_a_statistic_of_pairs_is_a_workload(running: Any) -> None:
    first = running.api.post("/v1/workloads", json=_statistic())
    again = running.api.post("/v1/workloads", json=_statistic())
    assert (first.status_code, again.status_code) == (201, 200)
    document = first.json()
    assert again.json() == document
    assert (document["cells"], document["queries"]) == (4, 1)
    assert document["specification"]["statistic"] == {"kind": "gini_diversity"}
    assert running.api.get(first.headers["location"]).json() == document


def test_a_statistic_whose_bins_are_open_has_no_cells_yet(running: Any) -> None:
    asked = _statistic(domain=[SHARE], statistic={"kind": "gini_mean_difference"})
    response = running.api.post("/v1/workloads", json=asked)
    assert response.status_code == 201
    assert "cells" not in response.json()
    assert running.api.get(response.headers["location"]).json() == response.json()


@pytest.mark.parametrize(
    ("changes", "mentioned"),
    [
        ({"queries": "prefix"}, "either queries or a statistic"),
        ({"statistic": {"kind": "median"}}, "gini_diversity"),
        ({"statistic": {"kind": "kendall", "attributes": ["delay", "delay"], "variant": "a"}}, "named twice"),
        ({"statistic": {"kind": "matrix", "file": "m.csv"}}, "matrix"),
        ({"domain": [SHARE]}, "give the number of bins"),
        ({"domain": [LINE | {"edges": {"low": 0, "high": 1, "bins": 5000}}]}, "at most 4096"),
        ({"name": "a\nb"}, "name"),
    ],
)
def test_statistics_that_cannot_be_asked(
    running: Any, check_problem: Check, changes: dict[str, Any], mentioned: str
) -> None:
    response = running.api.post("/v1/workloads", json=_statistic(**changes))
    check_problem(response, Problem.INVALID_REQUEST)
    assert mentioned in response.text
    assert running.api.get("/v1/workloads").json()["workloads"] == []
