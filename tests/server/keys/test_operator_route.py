"""Who may not ask is told before a byte of the body is sent, and what is too much before it is read."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from sordino_analysis.kinds.specifications import Specification
from sordino_server.campaigns.schemas import CampaignOrder
from sordino_server.errors import ServerError
from sordino_server.kit.arriving_body import SMALL_LIMIT
from sordino_server.models import Role
from sordino_server.plans.schemas import PlanOrder
from sordino_server.populations.schemas import PopulationOrder
from sordino_server.problem_details import ProblemDocument
from sordino_server.work.forked_process import WorkFailed
from sordino_server.work.work_queue import CHECKS, WorkQueue
from sordino_shared._checks import check_name
from sordino_shared.protocol import Problem
from tests.patience import PATIENCE_S
from tests.published_api import published_operations

MIB = 1 << 20
PLACES = [{"name": "city", "kind": "categorical", "labels": ["Rome", "Oslo"]}]
BITS = [{"name": f"a{number}", "kind": "categorical", "labels": ["no", "yes"]} for number in range(20)]
# Takes six seconds of a processor to build.
HOSTILE = {"name": "x", "domain": BITS, "queries": {"stack": [{"queries": {"kind": "parities", "width": 3}}] * 256}}


def answer_to_a_head(address: str, method: str, path: str, key: str | None, declared: int) -> tuple[int, str]:
    """Status and head of what comes back when no byte of the body is ever sent."""
    host, port = address.removeprefix("http://").split(":")
    authorization = f"Authorization: Bearer {key}\r\n" if key else ""
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\n{authorization}Content-Type: application/json\r\n"
    head += f'If-Match: "1"\r\nContent-Length: {declared}\r\n\r\n'
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as connection:
        connection.sendall(head.encode())
        received = connection.recv(65536).decode()
    return int(received.split()[1]), received.partition("\r\n\r\n")[0].lower()


def operations() -> list[tuple[str, str]]:
    """Every operation of operators that changes something, with a path of the right form."""
    found = []
    for method, template, each in published_operations():
        if method != "GET" and each.get("security"):
            path = re.sub(r"\{[^}]+\}", "0" * 64, template).replace("rounds/" + "0" * 64, "rounds/0")
            found.append((method, path))
    return found


@pytest.mark.parametrize(("method", "path"), operations())
def test_the_role_is_looked_at_before_the_body(running: Any, method: str, path: str) -> None:
    for key, status in ((None, 401), ("sdo_admin_0_0", 401), (running.key(Role.UPLOADER), 403)):
        answered, head = answer_to_a_head(running.address, method, path, key, 16 * MIB)
        assert (answered, "connection: close" in head) == (status, True), key


@pytest.mark.parametrize(
    ("path", "declared"),
    [("/v1/plan-requests", SMALL_LIMIT + 1), ("/v1/campaigns", 16 * MIB), ("/v1/workloads", 16 * MIB + 1)],
)
def test_what_declares_too_much_is_refused_unread(running: Any, path: str, declared: int) -> None:
    answered, head = answer_to_a_head(running.address, "POST", path, running.key(Role.ANALYST), declared)
    assert (answered, "connection: close" in head) == (413, True)


def test_a_body_that_lies_about_its_length_is_counted(running: Any, check_problem: Any) -> None:
    chunks = (b" " * 1024 for _ in range(100))
    response = running.api.post("/v1/plan-requests", content=chunks, headers={"Content-Type": "application/json"})
    check_problem(response, Problem.TOO_LARGE, str(SMALL_LIMIT))


MANY = {f"x{number}": number for number in range(100_000)}
WRONG = [
    MANY,
    {"name": "x", "domain": [MANY] * 10, "queries": MANY},
    {"name": "x", "domain": PLACES * 10_000 + [7] * 10_000, "queries": {"matrix": [["a"] * 1000] * 1000}},
    {"name": "x", "domain": [{"name": "v", "kind": "ordinal", "edges": ["a"] * 100_000}], "queries": "median"},
    {"name": "x", "domain": PLACES, "queries": {"stack": [{"queries": 7, **MANY}] * 20_000}},
    {"name": "x", "domain": PLACES, "queries": {f"a{number}": "median" for number in range(10_000)}},
    {"name": "x", "domain": PLACES, "statistic": {"kind": "custom_matrix", "matrix": [[None] * 9] * 9} | MANY},
]


@pytest.mark.parametrize("wrong", WRONG)
def test_never_more_than_twenty_errors_are_built(wrong: dict[str, Any]) -> None:
    for model in (Specification, PlanOrder, CampaignOrder, PopulationOrder):
        with pytest.raises(ValidationError) as raised:
            TypeAdapter(model).validate_python(wrong)
        assert raised.value.error_count() <= 20, model


def test_lists_of_a_campaign_end_at_their_first_error() -> None:
    for name in ("close_after_reports", "close_after_s"):
        with pytest.raises(ValidationError) as raised:
            CampaignOrder.model_validate({name: ["x"] * 10_000})
        assert raised.value.error_count() <= 20


def test_uploads_are_acknowledged_while_a_hostile_workload_is_built(running: Any) -> None:
    campaign = running.campaign("open")
    with ThreadPoolExecutor(1) as pool:
        hostile = pool.submit(running.api.post, "/v1/workloads", json=HOSTILE)
        for seed in range(2):
            assert running.report(campaign, [0, 1, 2], seed=seed).status_code == 200
        assert not hostile.done(), "the workload is too quick for this test"
        assert hostile.result().status_code == 201


def test_twenty_thousand_stacked_parts_are_refused_and_leave_devices_alone(running: Any, check_problem: Any) -> None:
    campaign = running.campaign("open")
    stack = {"name": "x", "domain": PLACES, "queries": {"stack": [{"queries": "histogram"}] * 20_000}}
    with ThreadPoolExecutor(1) as pool:
        refused = pool.submit(running.api.post, "/v1/workloads", json=stack)
        assert running.report(campaign, [0, 1, 2]).status_code == 200
        check_problem(refused.result(), Problem.INVALID_REQUEST, "256")


def test_a_replay_of_a_large_workload_is_the_same_answer(running: Any) -> None:
    labels = [f"label {number}" for number in range(20_000)]
    places = {"name": "x", "domain": [PLACES[0] | {"labels": labels}], "queries": "histogram"}
    headers = {"Idempotency-Key": "one"}
    first, again = (running.api.post("/v1/workloads", json=places, headers=headers) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert len(first.content) > SMALL_LIMIT


def test_work_in_a_process_is_bounded() -> None:
    async def outcomes() -> None:
        work = WorkQueue(replace(CHECKS, limits=replace(CHECKS.limits, cpu_s=1)))
        assert await work.run(os.getpid) != os.getpid()
        refused = [
            (check_name, ("", "name"), "name"),
            (bytearray, (8 << 30,), "MiB"),
            (sum, (range(10**12),), "1 seconds"),
            (os._exit, (3,), "smaller"),
        ]
        for refusing, given, said in refused:
            with pytest.raises(ServerError, match=said) as raised:
                await work.run(refusing, *given)
            assert raised.value.problem is Problem.INVALID_REQUEST
        with pytest.raises(WorkFailed, match="ZeroDivisionError"):
            await work.run(divmod, 1, 0)

    asyncio.run(outcomes())


def test_problem_documents_are_small(running: Any) -> None:
    body = json.dumps({"x" * 10_000: 1})
    response = running.api.post("/v1/workloads", content=body, headers={"Content-Type": "application/json"})
    ProblemDocument.model_validate(response.json())
    assert len(response.content) < 2000
