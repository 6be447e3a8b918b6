"""Every error, whoever raises it, has one shape, and internal text never leaves."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import httpx
import pytest
import structlog
from starlette.types import Message

from sordino_server import problem_details
from sordino_server.errors import ServerError
from sordino_server.keys import repository
from sordino_server.kit.arriving_body import ArrivingBody
from sordino_server.kit.database_errors import DatabaseUnavailable, StorageFull
from sordino_server.kit.logs import Sparingly
from sordino_shared.protocol import Problem
from tests.patience import PATIENCE_S

Check = Callable[..., dict[str, Any]]


@pytest.mark.parametrize(
    "path", ["/v1/nothing", "/v1/keys/", "/livez/", f"/v1/campaigns/{'0' * 64}/task/", f"/v1/plans/{'0' * 64}/"]
)
def test_unknown_path(running: Any, check_problem: Check, path: str) -> None:
    check_problem(running.api.get(path), Problem.NOT_FOUND)


def test_an_upload_with_a_slash_behind_it_is_not_sent_elsewhere(running: Any, check_problem: Check) -> None:
    path = f"/v1/campaigns/{'0' * 64}/rounds/0/reports/"
    check_problem(running.anonymous.post(path, headers={"Host": "elsewhere.example"}), Problem.NOT_FOUND)


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("/v1/version", "GET"),
        ("/v1/keys", "GET, POST"),
        (f"/v1/campaigns/{'0' * 64}/open", "POST"),
        # Not listed in the document of the API.
        ("/v1/openapi.json", "GET"),
    ],
)
def test_an_unknown_method_names_the_known_ones(running: Any, check_problem: Check, path: str, known: str) -> None:
    response = running.api.put(path)
    check_problem(response, Problem.METHOD_NOT_ALLOWED)
    assert response.headers["allow"] == known
    # It takes a second to make, in which the server would answer nobody.
    assert running.app.openapi_schema is None


def test_body_that_is_not_json(running: Any, check_problem: Check) -> None:
    response = running.api.post("/v1/keys", content=b"{nope", headers={"content-type": "application/json"})
    check_problem(response, Problem.MALFORMED_BODY, "not JSON")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("populations", '{"name": "x", "epsilon_lifetime": 1, "epsilon_lifetime": 1000}'),
        ("populations", '{"name": "x", "n\\u0061me": "x"}'),
        ("workloads", '{"name": "x", "domain": [{"kind": "ordinal", "kind": "ordinal"}]}'),
    ],
)
def test_two_members_of_one_name(running: Any, check_problem: Check, path: str, body: str) -> None:
    for method, where in (("POST", f"/v1/{path}"), ("PATCH", f"/v1/populations/{'0' * 64}")):
        headers = {"Content-Type": "application/json", "If-Match": '"1"'}
        check_problem(running.api.request(method, where, content=body, headers=headers), Problem.MALFORMED_BODY, "two")


@pytest.mark.parametrize(("path", "depth"), [("keys", 1_000), ("keys", 60_000), ("workloads", 200_000)])
def test_body_of_brackets(running: Any, check_problem: Check, path: str, depth: int) -> None:
    response = running.api.post(f"/v1/{path}", content=b"[" * depth, headers={"content-type": "application/json"})
    check_problem(response, Problem.MALFORMED_BODY)


def test_body_of_another_type(running: Any, check_problem: Check) -> None:
    response = running.api.post("/v1/keys", content=b"name=x", headers={"content-type": "text/plain"})
    check_problem(response, Problem.UNSUPPORTED_MEDIA_TYPE, "application/json")


def test_wrong_fields_are_named_without_their_content(running: Any, check_problem: Check) -> None:
    response = running.api.post("/v1/keys", json={"name": "x", "role": "s3cret", "more": 1})
    document = check_problem(response, Problem.INVALID_REQUEST)
    assert {item["pointer"] for item in document["errors"]} == {"/body/role", "/body/more"}
    assert "s3cret" not in response.text


def test_the_digits_of_an_identifier_are_told_in_words(running: Any, check_problem: Check) -> None:
    for path, digits in (("campaigns/x/status", 64), ("plan-requests/x", 32)):
        response = running.api.get(f"/v1/{path}")
        check_problem(response, Problem.INVALID_REQUEST, f"give {digits} lower-case hexadecimal digits")
        assert "pattern" not in response.text


@pytest.mark.parametrize("name", ["\ud800", "a\x00b", "", " x", "y" * 201])
def test_names_that_no_database_should_hold(running: Any, check_problem: Check, name: str) -> None:
    body = json.dumps({"name": name, "role": "analyst"})
    response = running.api.post("/v1/keys", content=body, headers={"content-type": "application/json"})
    assert response.status_code in (400, 422)
    check_problem(response, Problem.INVALID_REQUEST if response.status_code == 422 else Problem.MALFORMED_BODY)


def test_body_beyond_the_limit_is_not_read_to_its_end(running: Any, check_problem: Check) -> None:
    """A chunked body declares no length; the server answers long before the endless stream ends."""
    address = running.address.removeprefix("http://").split(":")
    block = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    with socket.create_connection((address[0], int(address[1])), timeout=PATIENCE_S) as connection:
        head = f"POST /v1/keys HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {running.admin_key}\r\n"
        connection.sendall(f"{head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        with suppress(BrokenPipeError, ConnectionResetError):
            for _ in range(200):
                connection.sendall(block)
            pytest.fail("the server took 200 MiB")
    response = running.api.post("/v1/keys", content=b" " * (running.settings.max_body_bytes + 1))
    check_problem(response, Problem.TOO_LARGE, "send less")
    assert response.headers["connection"] == "close"


@pytest.mark.parametrize(
    ("error", "problem", "retry_after"),
    [
        (RuntimeError("the password is s3cret"), Problem.INTERNAL_ERROR, None),
        (DatabaseUnavailable("the database does not answer"), Problem.UNAVAILABLE, "5"),
        (StorageFull("no room"), Problem.STORAGE_FULL, "60"),
    ],
)
def test_failures_of_the_server(
    running: Any,
    check_problem: Check,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    problem: Problem,
    retry_after: str | None,
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(repository, "listed", fail)
    response: httpx.Response = running.api.get("/v1/keys")
    check_problem(response, problem)
    assert "s3cret" not in response.text
    assert response.headers.get("retry-after") == retry_after
    # After a bug uvicorn ends the connection; unless that is said, the next request finds it out.
    assert response.headers.get("connection") == ("close" if problem is Problem.INTERNAL_ERROR else None)
    assert running.api.get("/v1/version").status_code == 200


def test_a_flood_of_one_failure_is_one_line(running: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise DatabaseUnavailable("the database does not answer")

    monkeypatch.setattr(repository, "listed", fail)
    monkeypatch.setattr(problem_details, "_failed", Sparingly(clock=lambda: 0.0))
    with structlog.testing.capture_logs() as logged:
        assert [running.api.get("/v1/keys").status_code for _ in range(10)] == [503] * 10
    said = [event for event in logged if event["event"] == "request failed"]
    assert [(event["times"], event["detail"], event["exc_info"]) for event in said] == [
        (1, "the database does not answer", None)
    ]


def test_a_body_that_drips_is_given_up() -> None:
    """One byte now and one never, to a route of operators."""

    async def receive() -> Message:
        if body.size:
            await asyncio.sleep(60)
        return {"type": "http.request", "body": b"{", "more_body": True}

    body = ArrivingBody(100, timeout_s=0.1)
    with pytest.raises(ServerError) as raised:
        asyncio.run(body.read(receive, None))
    assert raised.value.problem is Problem.REQUEST_TIMEOUT


@pytest.mark.parametrize("token", ["zz", "W10", "WzEsMl0", "AAAA", "é", "WzFlOTk5OTksImEiXQ", "WzEsICJcdWQ4MDAiXQ"])
def test_page_tokens_that_nobody_gave(running: Any, check_problem: Check, token: str) -> None:
    check_problem(running.api.get("/v1/keys", params={"page_token": token}), Problem.INVALID_REQUEST, "page_token")
