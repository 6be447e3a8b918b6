"""/v1/datasets and /v1/releases: roles, the audit log, conditions, and bad input that changes nothing."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import tempfile
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from sqlalchemy import select

from sordino_analysis.guarantees.approximate import Approximate, zcdp_within
from sordino_server.models import IdempotencyKey, Role
from sordino_server.populations.names import identifier_of
from sordino_shared.protocol import Problem
from tests.estimates import answers_of

Check = Callable[..., dict[str, Any]]
DOMAIN = [
    {"name": "delay", "kind": "ordinal", "edges": [0, 15, 60]},
    {"name": "port", "kind": "categorical", "labels": ["north", "south"]},
]
COLUMNS = {"delay": [-5, 5, 30, 90] * 50, "port": ["north", "south"] * 100}
ORDER: dict[str, Any] = {"name": "flights", "domain": DOMAIN, "cap": {"rho": "0.05"}, "columns": COLUMNS}
PATH = f"/v1/datasets/{identifier_of('flights')}"
OF_PORTS = {"name": "ports", "domain": DOMAIN[1:], "queries": "histogram"}


def asked(server: Any, workload: str, key: str | None = "one", **order: Any) -> Any:
    headers = {} if key is None else {"Idempotency-Key": key}
    return server.api.post(f"{PATH}/releases", json={"workload": workload, "rho": "0.02"} | order, headers=headers)


def test_a_release_about_some_attributes_with_every_read_and_entry(running: Any, check_problem: Check) -> None:
    created = running.api.post("/v1/datasets", json=ORDER)
    assert (created.status_code, created.headers["location"]) == (201, PATH)
    workload = running.workload(OF_PORTS)
    first = asked(running, workload)
    assert first.status_code == 202
    location = first.headers["location"]
    waiting = check_problem(running.api.get(f"{location}/answers"), Problem.RELEASE_NOT_READY, "no worker")
    assert waiting["state"] == "queued"
    running.work()
    again = asked(running, workload)
    assert (again.headers["location"], again.json()["state"]) == (location, "released")
    answers = running.api.get(f"{location}/answers")
    document = answers.json()
    assert answers.headers["etag"] == f'"{again.json()["digest"]}"'
    assert answers.content == running.api.get(f"{location}/answers").content
    assert document["table"]["label"] == ["port: north", "port: south"]
    # Half of the rows are of either port; the false alarm of 6 standard errors is 2e-9.
    assert all(abs(each["value"] - 0.5) < 6 * each["standard_error"] for each in answers_of(document))
    terms, extras = document["terms"], document["extras"]
    assert (terms["users"], extras["guarantee"]["rho"], extras["scale"]) == (200, 0.02, "share")
    assert extras["unbiased_bound"]["ratio_max"] >= 1
    table = csv.DictReader(io.StringIO(running.api.get(f"{location}/answers", params={"format": "csv"}).text))
    assert [float(row["bias_bound"]) for row in table] == [terms["bias_bound"]] * 2
    with running.client(running.key(Role.ANALYST)) as analyst:
        assert analyst.get(PATH).json()["cap"] == {"rho": 0.05, "epsilon": None, "delta": 1e-6, "spent": 0.02}
        etag = analyst.get(PATH).headers["etag"]
        check_problem(analyst.post("/v1/datasets", json=ORDER), Problem.FORBIDDEN)
        check_problem(analyst.patch(PATH, json={"rho": 1}, headers={"If-Match": etag}), Problem.FORBIDDEN)
        check_problem(analyst.delete(PATH), Problem.FORBIDDEN)
    check_problem(running.anonymous.get(f"{location}/answers"), Problem.UNAUTHORIZED)
    stale = running.api.patch(PATH, json={"rho": "0.06"}, headers={"If-Match": '"9"'})
    check_problem(stale, Problem.PRECONDITION_FAILED)
    changed = running.api.patch(PATH, json={"rho": "0.06"}, headers={"If-Match": etag})
    assert changed.json()["cap"]["rho"] == 0.06
    assert running.api.delete(PATH).json()["rows"] is None
    assert running.api.delete(PATH).status_code == 200
    other = ORDER | {"domain": DOMAIN[:1], "columns": {"delay": [1]}}
    running.api.post("/v1/datasets", json=other).raise_for_status()
    assert asked(running, workload).headers["location"] == location
    assert running.api.get(f"{location}/answers").content == answers.content
    entries = running.api.get("/v1/audit-log").json()["entries"]
    actions = [(each["action"], each["path"]) for each in entries]
    assert actions.count(("request release", location)) == 1
    assert actions.count(("delete dataset", PATH)) == 1
    assert {("add dataset", PATH), ("change dataset", PATH)} <= set(actions)


def test_wrong_datasets_are_refused_without_a_value_or_a_row(running: Any, check_problem: Check) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"neighbours": "swap"}, "neighbours"),
        ({"cap": {"rho": "0"}}, "ρ must be"),
        ({"cap": {"rho": "nan"}}, "ρ must be"),
        ({"cap": {"rho": "0.1", "delta": 2}}, "delta"),
        ({"cap": {}}, "one of them"),
        ({"name": "fl\u200bights"}, "dataset"),
        ({"name": "flіghts"}, "script"),
        ({"unit": " "}, "unit"),
        ({"rows": 3}, "rows"),
        ({"domain": [{"name": "word", "kind": "hashed", "bits": 8}], "columns": {"word": ["a"]}}, "hashed"),
        ({"domain": [{"name": "id", "kind": "integers", "low": 0, "high": 2**20}], "columns": {"id": [1]}}, "cells"),
        ({"columns": COLUMNS | {"port": ["north"] * 199 + ["w7654321"]}}, "'port'"),
        ({"columns": COLUMNS | {"delay": [7654321.5] * 199 + [None]}}, "'delay'"),
        ({"columns": COLUMNS | {"port": ["north"]}}, "different lengths"),
        ({"columns": {"delay": [1]}}, "delay, port"),
        ({"columns": {"delay": [], "port": []}}, "from 1 to"),
    ]
    for change, said in wrong:
        problem = check_problem(running.api.post("/v1/datasets", json=ORDER | change), Problem.INVALID_REQUEST, said)
        assert "7654321" not in str(problem)
    not_finite = b'{"name": "x", "domain": [{"name": "a", "kind": "ordinal", "edges": [0]}], "cap": {"rho": 1}, '
    response = running.api.post(
        "/v1/datasets",
        content=not_finite + b'"columns": {"a": [1, NaN]}}',
        headers={"Content-Type": "application/json"},
    )
    check_problem(response, Problem.INVALID_REQUEST, "finite")
    assert running.api.get("/v1/datasets").json()["datasets"] == []


def test_rows_are_never_in_a_file(running: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A body of other routes that is as large is kept in one."""

    def refused(*_: Any, **__: Any) -> Any:
        raise AssertionError("a file was made")

    monkeypatch.setattr(tempfile, "NamedTemporaryFile", refused)
    large = {"delay": [5] * 40_000, "port": ["north"] * 40_000}
    assert running.api.post("/v1/datasets", json=ORDER | {"columns": large}).json()["rows"] == 40_000
    assert running.api.post("/v1/workloads", json={"queries": large}).status_code == 500


def test_wrong_releases_are_refused_before_anything_is_spent(running: Any, check_problem: Check) -> None:
    running.api.post("/v1/datasets", json=ORDER).raise_for_status()
    workload = running.workload(OF_PORTS)
    check_problem(asked(running, workload, seed=1), Problem.INVALID_REQUEST, "operating system")
    check_problem(asked(running, workload, key=None), Problem.INVALID_REQUEST, "Idempotency-Key")
    check_problem(asked(running, workload, rho="-1"), Problem.INVALID_REQUEST, "ρ must be")
    check_problem(asked(running, workload, rho="1e-9", objective="best"), Problem.INVALID_REQUEST, "objective")
    check_problem(asked(running, "0" * 64), Problem.NOT_FOUND)
    check_problem(asked(running, workload, rho="0.06"), Problem.BUDGET_EXCEEDED, "ρ = 0.05 that dataset 'flights'")
    other = [OF_PORTS["domain"][0] | {"labels": ["north", "west"]}]  # type: ignore[index,operator]
    check_problem(asked(running, running.workload(OF_PORTS | {"domain": other})), Problem.INVALID_REQUEST, "'port'")
    fractions = {"matrix": [[0.1, 0.3]]}
    unscaled = asked(running, running.workload(OF_PORTS | {"queries": fractions}), key="fractions")
    tiny = asked(running, workload, key="tiny", rho="1e-9")
    running.work()
    failed = running.api.get(unscaled.headers["location"]).json()
    assert (failed["state"], "multiple of 2^-20" in failed["error"]) == ("failed", True)
    assert running.api.get(tiny.headers["location"]).json()["state"] == "released"
    check_problem(asked(running, workload, key="tiny"), Problem.IDEMPOTENCY_CONFLICT)
    lost = check_problem(running.api.get(f"{unscaled.headers['location']}/answers"), Problem.RELEASE_NOT_READY)
    assert lost["state"] == "failed"
    assert running.api.get(PATH).json()["cap"]["spent"] == 1e-9


def test_epsilon_with_delta_is_the_largest_rho_that_implies_it(running: Any, check_problem: Check) -> None:
    running.api.post("/v1/datasets", json=ORDER).raise_for_status()
    workload = running.workload(OF_PORTS)
    of = {"rho": None, "epsilon": 1, "delta": "1e-6"}
    accepted = asked(running, workload, **of)
    assert (accepted.status_code, accepted.json()["epsilon"]) == (202, None)
    assert accepted.json()["rho"] == zcdp_within(Approximate(10**9, Fraction(1, 10**6))).rho
    assert asked(running, workload, **of).headers["location"] == accepted.headers["location"]
    check_problem(asked(running, workload, **of | {"delta": 1e-9}), Problem.IDEMPOTENCY_CONFLICT)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"delta": 1e-6}, "belongs to `epsilon`"),
        (of | {"mechanism": "laplace"}, "`epsilon` alone"),
        (of | {"delta": 0}, "δ must be"),
        (of | {"delta": 1}, "below 1"),
        (of | {"delta": "x"}, "such as 1e-6"),
        (of | {"epsilon": 0}, "ε must be"),
        (of | {"epsilon": "nan"}, "ε must be"),
        ({"rho": None, "epsilon": 0}, "ε must be"),
    ]
    for order, said in wrong:
        check_problem(asked(running, workload, key="wrong", **order), Problem.INVALID_REQUEST, said)
    running.api.post("/v1/datasets", json=ORDER | {"name": "pure", "cap": {"epsilon": "2"}}).raise_for_status()
    path = f"/v1/datasets/{identifier_of('pure')}/releases"
    for order in ({"rho": "0.02"}, {"epsilon": 1, "delta": 1e-6}):
        refused = running.api.post(path, json={"workload": workload} | order, headers={"Idempotency-Key": "one"})
        check_problem(refused, Problem.INVALID_REQUEST, "ask for `epsilon` alone")


def test_second_moments_are_released_under_epsilon_and_under_rho(running: Any) -> None:
    """400 rows with x in 0 … 3 and y ∈ {0, 1}: E x² is 3.5, E xy and E y² are 1 and .5; a false alarm of 2e-9."""
    numbers = [{"name": "x", "kind": "integers", "low": 0, "high": 3}, DOMAIN[1]]
    columns = {"x": [0, 1, 2, 3] * 100, "port": ["north", "south"] * 200}
    running.api.post("/v1/datasets", json=ORDER | {"domain": numbers, "columns": columns, "cap": {"rho": 1}})
    workload = running.workload({"name": "moments", "domain": numbers, "queries": {"kind": "second_moments"}})
    for key, of in (("pure", {"rho": None, "epsilon": 1}), ("rho", {"rho": "0.1"})):
        location = asked(running, workload, key, **of).headers["location"]
        running.work()
        document = running.api.get(f"{location}/answers").json()
        assert document["table"]["label"] == ["x × x", "x × port", "port × port"]
        for each, truth in zip(answers_of(document), (3.5, 1.0, 0.5), strict=True):
            assert abs(each["uncut"] - truth) < 12 * each["standard_error"] < 1


def test_jl_is_refused_before_anything_is_queued_where_it_does_not_fit(running: Any, check_problem: Check) -> None:
    running.api.post("/v1/datasets", json=ORDER | {"neighbours": "add-remove"}).raise_for_status()
    workload = running.workload(OF_PORTS)
    refused = asked(running, workload, mechanism="jl")
    check_problem(refused, Problem.INVALID_REQUEST, "known number of people")
    check_problem(asked(running, workload, mechanism="jll"), Problem.INVALID_REQUEST, "coarse_jl")
    assert running.api.get(f"{PATH}/releases").json()["releases"] == []


def test_no_digest_by_which_rows_can_be_guessed_is_stored(running: Any, check_problem: Check) -> None:
    body, headers = json.dumps(ORDER).encode(), {"Idempotency-Key": "one", "Content-Type": "application/json"}
    first = running.api.post("/v1/datasets", content=body, headers=headers)
    assert first.status_code == 201
    assert running.api.post("/v1/datasets", content=body, headers=headers).content == first.content
    other = running.api.post("/v1/datasets", content=body + b" ", headers=headers)
    check_problem(other, Problem.IDEMPOTENCY_CONFLICT)
    with running.database.read("test") as session:
        kept = session.scalars(select(IdempotencyKey.body_sha256)).one()
    assert kept != hashlib.sha256(body).hexdigest()
