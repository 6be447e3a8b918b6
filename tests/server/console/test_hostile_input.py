"""Every page and form with what nobody should send: an answer in words, never a failure, and never markup."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute

from sordino_server.console.routes import PARTS
from sordino_server.models import Role
from tests.server.console.test_pages import known

__all__ = ["known"]

NASTY = (
    "", " ", "0", "-1", "1e999", "nan", "9" * 400, "9223372036854775808", "<b>x</b>", "'\";--", "\u202e\u0007", "%",
    "../..", "null", "[]", '{"a":[' * 50, "ε", "x" * 3000, "\x00", "true", "1,2", "..", "a:b", "²", "١",
)  # fmt: skip
PARTS_OF_PATHS = ("0" * 64, "0" * 32, "0" * 16, "0", "x", "-1", "9" * 30, "<b>x</b>", "%00", "%ff", "..%2f")
# Forms with fields that are taken, each of which is then spoilt.
TAKEN = {
    "/console/keys": {"name": "n", "role": "analyst", "days": "3"},
    "/console/plans/{request_id}/new-campaign": {
        "name": "n", "purpose": "p", "population": "q", "close_after_reports": "9", "close_after_s": "", "slots": "",
        "answers_max": "", "every": "", "value_of": "", "public": "", "upload_token": "",
    },
    "/console/new-campaign": {
        "name": "n", "name1": "a", "kind1": "ordinal", "values1": "0, 1, 2", "unit1": "s", "queries": "prefix",
        "epsilon": "1", "users": "9", "objective": "max", "missing1": "", "other1": "", "measures": "", "yaml": "",
    },
    "/console/campaigns/{campaign_id}/share-links": {"until": "7"},
    "/console/campaigns/{campaign_id}/strings": {"beam": "60"},
    "/console/campaigns/{campaign_id}/actions/{action}": {"anyway": "yes", "unwitnessed": "yes"},
}  # fmt: skip


def _names(dependant: Any) -> set[str]:
    """The parameters of a page's address."""
    return {each.alias for each in dependant.query_params}.union(*map(_names, dependant.dependencies))


def _pages() -> Iterator[tuple[str, set[str]]]:
    """Paths of pages with the parameters of each."""
    for part in PARTS:
        for route in part.router.routes:
            if isinstance(route, APIRoute) and "GET" in route.methods and "sign-in" not in route.path:
                yield route.path, _names(route.dependant)


def _check(answer: httpx.Response, asked: object) -> None:
    assert answer.status_code < 500, (asked, answer.text[-300:])
    if "html" in answer.headers.get("content-type", ""):
        assert "<b>x" not in answer.text, asked


@pytest.mark.slow
def test_no_address_fails_a_page(browsers: Any, known: dict[str, str]) -> None:
    browser = browsers.of(Role.ADMIN)
    for path, names in _pages():
        for name in sorted(names):
            for value in NASTY:
                _check(browser.http.get(path.format(**known), params={name: value}), (path, name, value))
        for part in re.findall("{(.*?)}", path):
            for value in PARTS_OF_PATHS:
                _check(browser.http.get(path.format(**(known | {part: value}))), (path, part, value))


@pytest.mark.slow
def test_no_form_fails_a_page_and_what_it_makes_fails_no_list(browsers: Any, known: dict[str, str]) -> None:
    browser, count = browsers.of(Role.ADMIN), 0
    hidden = browser.form("/console/keys")
    for path, base in TAKEN.items():
        for name in base:
            for value in NASTY:
                count += 1
                fields = hidden | base | {"once": f"number {count}", name: value}
                _check(browser.http.post(path.format(**known), data=fields), (path, name, value))
    for path in ("questions", "campaigns", "plans", "populations", "keys", "audit-log", "activity"):
        for form in ("", ".json", ".csv"):
            _check(browser.http.get(f"/console/{path}{form}"), path)
            assert browser.http.get(f"/console/{path}{form}").status_code == 200
