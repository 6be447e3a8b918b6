"""Pages of listed origins may send the requests of devices; every other path and page is answered as before."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from sordino_server.config import load_settings
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Problem
from tests.server.conftest import served

PAGE, OTHER = "https://app.example", "https://elsewhere.example"
PROTOCOL = Path(__file__).parents[3] / "docs" / "protocol.md"
WORDS = {"campaign": "ab" * 32, "sha256": "cd" * 32, "name": "people%20who%20travel", "round": "3"}


def requests_of_devices() -> list[tuple[str, str]]:
    """Method and path of every request that docs/protocol.md lists for devices, with its words filled in."""
    rows = re.findall(r"^\| `(GET|POST) (/v1/[^`]+)` \|", PROTOCOL.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [(method, re.sub(r"\{(\w+)\}", lambda found: WORDS[found[1]], path)) for method, path in rows]


@pytest.fixture
def listed(migrated_sqlite_url: str) -> Iterator[Any]:
    with served(migrated_sqlite_url, device_origins=f"http://localhost:5173,{PAGE}") as server:
        yield server


def preflight(server: Any, path: str, origin: str = PAGE, method: str = "POST") -> httpx.Response:
    asked = {
        "Origin": origin,
        "Access-Control-Request-Method": method,
        "Access-Control-Request-Headers": "content-type",
    }
    answer: httpx.Response = server.anonymous.request("OPTIONS", path, headers=asked)
    return answer


def cors(answer: httpx.Response) -> dict[str, str]:
    return {name: value for name, value in answer.headers.items() if name.startswith("access-control")}


def test_every_request_of_a_device_is_opened_to_listed_origins(listed: Any) -> None:
    found = requests_of_devices()
    assert len(found) >= 10
    for method, path in found:
        before = preflight(listed, path, method=method)
        assert before.status_code == 204, path
        assert cors(before) == {
            "access-control-allow-origin": PAGE,
            "access-control-allow-methods": "GET, POST",
            "access-control-allow-headers": "content-type, authorization",
            "access-control-max-age": "86400",
        }
        answer = listed.anonymous.request(method, path, headers={"Origin": PAGE})
        assert cors(answer) == {
            "access-control-allow-origin": PAGE,
            "access-control-expose-headers": "Retry-After, Date, Age",
        }, path
        for each in (before, answer, listed.anonymous.request(method, path)):
            assert "Origin" in each.headers["vary"], path


def test_good_answers_problems_and_refused_uploads_are_readable(listed: Any, check_problem: Any) -> None:
    campaign = listed.campaign("open")
    path = f"/v1/campaigns/{campaign['id']}"
    manifest = listed.anonymous.get(path, headers={"Origin": PAGE})
    assert (manifest.status_code, manifest.headers["vary"]) == (200, "Accept, Accept-Encoding, Origin")
    assert "immutable" in manifest.headers["cache-control"]
    upload = listed.anonymous.post(f"{path}/rounds/0/reports", content=b"no report", headers={"Origin": PAGE})
    check_problem(upload, Problem.UNSUPPORTED_MEDIA_TYPE)
    for answer in (manifest, upload):
        assert answer.headers["access-control-allow-origin"] == PAGE


def test_pages_of_other_origins_get_what_they_always_got(listed: Any) -> None:
    for method, path in requests_of_devices():
        refused = preflight(listed, path, OTHER, method)
        assert (refused.status_code in (404, 405), cors(refused)) == (True, {}), path
        assert cors(listed.anonymous.request(method, path, headers={"Origin": OTHER})) == {}
    # An OPTIONS that is no preflight is answered as before.
    assert listed.anonymous.request("OPTIONS", path, headers={"Origin": PAGE}).status_code == 405


@pytest.mark.parametrize(
    "path",
    [
        "/v1/campaigns",
        "/v1/campaigns/" + "ab" * 32 + "/status",
        "/v1/campaigns/" + "AB" * 32,
        "/v1/campaigns/" + "ab" * 32 + "/close",
        "/v1/plan-requests",
        "/v1/plans/" + "cd" * 32 + "/analyst",
        "/v1/populations/travellers",
        "/v1/populations",
        "/healthz",
    ],
)
def test_nothing_else_is_opened(listed: Any, path: str) -> None:
    for answer in (preflight(listed, path), listed.api.get(path, headers={"Origin": PAGE})):
        assert cors(answer) == {}, path
        assert "Origin" not in answer.headers.get("vary", "")


def test_all_origins_and_none(migrated_sqlite_url: str) -> None:
    path = "/v1/campaigns/" + "ab" * 32 + "/task"
    with served(migrated_sqlite_url, device_origins="*") as server:
        for headers in ({"Origin": OTHER}, {"Origin": "null"}, {}):
            answer = server.anonymous.get(path, headers=headers)
            assert answer.headers["access-control-allow-origin"] == "*"
            assert "Origin" not in answer.headers.get("vary", "")
        assert preflight(server, path).status_code == 204
    with served(migrated_sqlite_url) as server:
        assert cors(server.anonymous.get(path, headers={"Origin": PAGE})) == {}
        assert preflight(server, path).status_code == 405


def test_a_collector_opens_them_too(migrated_sqlite_url: str) -> None:
    collecting: dict[str, Any] = {
        "collect_for": "http://127.0.0.1:9",
        "source": "eu",
        "aggregator_keys": SecretStr("sdo_aggregator_x"),
    }
    with served(migrated_sqlite_url, device_origins=PAGE, **collecting) as server:
        path = "/v1/campaigns/" + "ab" * 32
        assert preflight(server, f"{path}/rounds/0/reports").status_code == 204
        answer = server.anonymous.get(path, headers={"Origin": PAGE})
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (404, PAGE)


def test_a_wrong_list_is_refused_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SORDINO_DEVICE_ORIGINS", "https://app.example/")
    with pytest.raises(InvalidValue, match=r"SORDINO_DEVICE_ORIGINS: .*'https://app\.example/' is none"):
        load_settings()
