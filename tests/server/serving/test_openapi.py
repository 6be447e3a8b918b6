"""The published description of the API is the one that the code has."""

from __future__ import annotations

import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sordino_server.serving import app
from sordino_server.serving.openapi import document
from sordino_shared.protocol import Problem
from tests.patience import PATIENCE_S

PUBLISHED = Path(__file__).parents[3] / "docs" / "openapi.json"


def test_the_published_document_is_up_to_date() -> None:
    """After a change of the API: make openapi."""
    assert json.loads(PUBLISHED.read_text()) == document()


def test_every_operation_is_described_and_fails_with_a_problem() -> None:
    described = document()
    assert described["openapi"].startswith("3.1")
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            where = f"{method} {path}"
            assert operation.get("description"), where
            problems = [operation["responses"][status]["content"] for status in ("4XX", "5XX")]
            assert all(list(content) == ["application/problem+json"] for content in problems), where
            assert "422" not in operation["responses"], where


def test_every_operation_refuses_parameters_that_it_does_not_have(running: Any, check_problem: Any) -> None:
    """`page_siz` is a slip: without an error its writer would take the usual page for the one that was asked for."""
    content = b"{}"
    described = [(m, p, o) for p, operations in document()["paths"].items() for m, o in operations.items()]
    for method, template, operation in [*described, ("get", "/v1/openapi.json", {})]:
        path = re.sub(r"\{[^}]+\}", "0", template.replace("{campaign}", "0" * 64).replace("{index}", "0"))
        path = re.sub(r"\{\w+_id\}|\{digest\}", "0" * 64, path)
        known = [each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"]
        for name in ("page_siz", "Format", *(f"{each}x" for each in known)):
            json_type = {"Content-Type": "application/cbor" if "reports" in path else "application/json"}
            response = running.api.request(method, path, params={name: "1"}, content=content, headers=json_type)
            refused = check_problem(response, Problem.INVALID_REQUEST)
            assert "reports" in path or name in refused["detail"], (method, path)
            assert all(each in refused["detail"] for each in known)


def test_every_reference_leads_somewhere() -> None:
    described = document()

    def references(value: Any) -> list[str]:
        if isinstance(value, dict):
            own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
            return own + [found for item in value.values() for found in references(item)]
        return [found for item in value for found in references(item)] if isinstance(value, list) else []

    for reference in references(described):
        assert reference.rpartition("/")[2] in described["components"]["schemas"], reference


def test_the_document_is_made_once_while_others_are_answered(running: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Made in the event loop, it would keep uploads waiting for a second."""
    begun, go_on, make, calls = threading.Event(), threading.Event(), app.get_openapi, []

    def slow(**arguments: Any) -> dict[str, Any]:
        calls.append(threading.current_thread())
        begun.set()
        assert go_on.wait(PATIENCE_S / 4), "nothing else was answered"
        return make(**arguments)

    monkeypatch.setattr(app, "get_openapi", slow)
    with ThreadPoolExecutor(2) as clients:
        asked = [clients.submit(running.anonymous.get, "/v1/openapi.json", timeout=PATIENCE_S) for _ in range(2)]
        try:
            assert begun.wait(PATIENCE_S)
            assert running.anonymous.get("/livez", timeout=PATIENCE_S).status_code == 200
        finally:
            go_on.set()
        published = json.loads(PUBLISHED.read_text())
        assert [each.result().json() == published for each in asked] == [True, True]
    assert len(calls) == 1


def test_the_document_is_stored_bytes_under_their_etag(running: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written anew for each request it took 5 ms of the event loop."""
    first = running.anonymous.get("/v1/openapi.json")
    assert first.headers["content-type"] == "application/json"
    assert first.headers["cache-control"] == "no-cache"
    monkeypatch.setattr(json, "dumps", lambda *_, **__: pytest.fail("it was written again"))
    again = running.anonymous.get("/v1/openapi.json")
    assert (again.content, again.headers["etag"]) == (first.content, first.headers["etag"])
    for known in (first.headers["etag"], f'"x", W/{first.headers["etag"]}', "*"):
        kept = running.anonymous.get("/v1/openapi.json", headers={"If-None-Match": known})
        assert (kept.status_code, kept.content, kept.headers["etag"]) == (304, b"", first.headers["etag"])
    assert running.anonymous.get("/v1/openapi.json", headers={"If-None-Match": '"x"'}).status_code == 200
