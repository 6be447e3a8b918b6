"""Text that no database should hold is refused wherever a request has text, on both engines alike."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from sordino_shared.protocol import PROBLEM_MEDIA_TYPE
from tests.patience import PATIENCE_S

# PostgreSQL refuses the first, UTF-8 has no bytes for the second.
ILLEGIBLE = ["\x00", "\ud800"]
DIGEST = "0" * 64
PLACES = [{"name": "city", "kind": "categorical", "labels": ["Rome", "Oslo"]}]
LINE = {"name": "delay", "kind": "ordinal", "edges": [0, 15, 60], "unit": "min"}
PATHS = [
    "/v1/keys/{}",
    "/v1/workloads/{}",
    "/v1/plan-requests/{}",
    "/v1/plans/{}",
    "/v1/plans/" + DIGEST + "?format={}",
    "/v1/protocol-plans/{}",
    "/v1/campaigns/{}",
    "/v1/campaigns/{}/task",
    "/v1/campaigns/{}/status",
    "/v1/campaigns/{}/estimates",
    "/v1/campaigns/" + DIGEST + "/estimates?format={}",
    "/v1/campaigns/{}/rounds/0/estimates",
    "/v1/campaigns/" + DIGEST + "/rounds/{}/estimates",
    "/v1/populations/{}",
    "/v1/populations/{}/ledger",
]
LISTS = ["campaigns", "keys", "workloads", "plan-requests", "populations"]


def orders(server: Any) -> list[tuple[str, str, dict[str, Any]]]:
    """Requests that would be done, with every text that a body may have."""
    campaign = server.campaign("open")
    population = (
        server.api.post("/v1/populations", json={"name": "known", "epsilon_lifetime": None})
        .raise_for_status()
        .json()["id"]
    )
    plan = server.api.get("/v1/plan-requests").raise_for_status().json()["plan_requests"][0]
    pairs = server.workload({"name": "gini", "domain": PLACES, "statistic": {"kind": "gini_diversity"}})
    ask = {"workload": plan["workload"], "objective": "max"}
    terms = {"name": "c", "purpose": "s", "population": "p", "plan_request": plan["id"], "device_epsilon": "2"}
    return [
        ("POST", "/v1/keys", {"name": "key", "role": "uploader", "campaign": campaign["id"]}),
        ("POST", "/v1/workloads", {"name": "places", "domain": PLACES, "queries": "histogram"}),
        ("POST", "/v1/workloads", {"name": "delays", "domain": [LINE], "queries": {"delay": "prefix"}}),
        ("POST", "/v1/workloads", {"name": "rows", "domain": PLACES, "queries": {"matrix": [[1, 2]], "labels": ["a"]}}),
        ("POST", "/v1/workloads", {"name": "gini", "domain": PLACES, "statistic": {"kind": "gini_diversity"}}),
        ("POST", "/v1/plan-requests", ask | {"epsilon": "1", "mechanism": "randomized_response"}),
        ("POST", "/v1/plan-requests", {"workload": pairs, "epsilon": 1, "users": 9, "protocol": "one_round"}),
        ("POST", "/v1/campaigns", terms),
        ("POST", "/v1/populations", {"name": "p", "epsilon_lifetime": "1"}),
        ("PATCH", f"/v1/populations/{population}", {"epsilon_lifetime": "1"}),
    ]


@pytest.fixture(params=["running", "running_on_postgres"])
def server(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def check_refused(response: Any, said: object) -> None:
    assert response.status_code in (400, 404, 405, 422), (said, response.text)
    assert response.headers["content-type"] == PROBLEM_MEDIA_TYPE, said


def spoilt(value: Any, bad: str) -> Iterator[Any]:
    """`value` with `bad` in one of its texts, names of members included, for each of them."""
    if isinstance(value, str):
        yield value + bad
    elif isinstance(value, dict | list):
        for place in value if isinstance(value, dict) else range(len(value)):
            for other in spoilt(value[place], bad):
                copy = deepcopy(value)
                copy[place] = other
                yield copy
    if isinstance(value, dict):
        for name in value:
            yield {known + bad if known == name else known: member for known, member in value.items()}


def test_in_a_body(server: Any) -> None:
    headers = {"Content-Type": "application/json", "If-Match": '"1"'}
    for method, path, order in orders(server):
        for body in (body for bad in ILLEGIBLE for body in spoilt(order, bad)):
            check_refused(server.api.request(method, path, content=json.dumps(body), headers=headers), body)
        response = server.api.request(method, path, json=order, headers=headers)
        assert response.status_code in (200, 201, 202), (order, response.text)


@pytest.mark.parametrize("bad", ILLEGIBLE)
def test_in_a_path_or_a_parameter(server: Any, bad: str) -> None:
    encoded = quote(bad, errors="surrogatepass")
    for template in PATHS:
        for text in (encoded, "0" * 32 + encoded, DIGEST + encoded):
            method = "DELETE" if "keys" in template else "GET"
            check_refused(server.api.request(method, template.format(text)), template)


@pytest.mark.parametrize("bad", ILLEGIBLE)
def test_in_a_page_token(server: Any, bad: str) -> None:
    content = json.dumps([1, f"a{bad}b"]).encode()
    for token in (base64.urlsafe_b64encode(content).decode(), quote(bad, errors="surrogatepass")):
        for name in LISTS:
            check_refused(server.api.get(f"/v1/{name}?page_token={token}"), name)


def test_in_a_filter_of_a_list(server: Any) -> None:
    for query in ("name=a%00", "population=%00"):
        check_refused(server.api.get(f"/v1/campaigns?{query}"), query)


def test_in_a_form_of_the_console(server: Any) -> None:
    with httpx.Client(base_url=server.address, timeout=PATIENCE_S) as browser:
        token = re.search(r'name="token" value="([^"]+)"', browser.get("/console/sign-in").text)
        assert token is not None
        for key in ("sdo_admin_\x00_\x00", "\x00"):
            response = browser.post("/console/sign-in", data={"token": token[1], "key": key})
            assert (response.status_code, "U+0000" in response.text) == (400, True), response.text


def test_bytes_beyond_ascii_in_headers_are_text_like_any_other(server: Any) -> None:
    strange = bytes(range(0x80, 0x100))
    for name in ("Idempotency-Key", "X-Request-Id", "Accept", "X-Forwarded-For"):
        for number in range(2):
            order = json.dumps({"name": f"{name} {number}", "epsilon_lifetime": None})
            headers = {"Content-Type": "application/json", name: strange}
            response = server.api.post("/v1/populations", content=order, headers=headers)
            # The same key with another body is the only one of them that may be refused.
            assert response.status_code == (409 if number and name == "Idempotency-Key" else 201), response.text
    for key in (b"Bearer sdo_admin_" + strange, b"Bearer sdo_admin_" + strange + b"_" + strange, strange):
        assert server.api.get("/v1/keys", headers={"Authorization": key}).status_code == 401
