"""Settings of people belong together, and what cannot hold is refused at the start."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sordino_server.config import load_settings
from sordino_server.kit.people_settings import RolesOfGroups
from sordino_server.people.flow import Flow
from sordino_server.people.person import Person
from sordino_shared.errors import InvalidValue

ROLES = '{"admin": ["ops"], "analyst": ["data, science"]}'
SECRET = "0123456789abcdef"
HEADER = {"PEOPLE": "header", "PEOPLE_ROLES": '{"admin": ["ops"]}', "PEOPLE_SECRET": SECRET, "TRUSTED_PROXIES": "::1"}
OIDC = {"PEOPLE": "oidc", "PEOPLE_ROLES": ROLES, "OIDC_ISSUER": "https://id.example", "OIDC_CLIENT_ID": "sordino"}


def loaded(monkeypatch: pytest.MonkeyPatch, given: dict[str, str]) -> Any:
    for name, value in given.items():
        monkeypatch.setenv(f"SORDINO_{name}", value)
    return load_settings()


@pytest.mark.parametrize("given", [HEADER, OIDC, OIDC | {"OIDC_ISSUER": "http://127.0.0.1:80/x"}])
def test_what_belongs_together_is_taken(monkeypatch: pytest.MonkeyPatch, given: dict[str, str]) -> None:
    settings = loaded(monkeypatch, given)
    assert settings.roles_of_groups.role_of(["x", "ops"]) == "admin"
    assert SECRET not in repr(settings)


WRONG = [
    (HEADER | {"TRUSTED_PROXIES": "none"}, "SORDINO_TRUSTED_PROXIES"),
    (HEADER | {"PEOPLE_ROLES": ROLES}, "cannot come in X-Forwarded-Groups"),
    (HEADER | {"PEOPLE_ROLES": '{"admin": [" ops"]}'}, "cannot come in X-Forwarded-Groups"),
    (HEADER | {"PEOPLE_SECRET": "short"}, "at least 16"),
    (HEADER | {"PEOPLE_SECRET": "with blanks in between"}, "at least 16"),
    ({name: value for name, value in HEADER.items() if name != "PEOPLE_SECRET"}, "needs SORDINO_PEOPLE_SECRET"),
    ({name: value for name, value in HEADER.items() if name != "PEOPLE_ROLES"}, "needs SORDINO_PEOPLE_ROLES"),
    (HEADER | {"OIDC_ISSUER": "https://id.example"}, "needs SORDINO_PEOPLE=oidc"),
    ({name: value for name, value in OIDC.items() if name != "OIDC_CLIENT_ID"}, "needs SORDINO_OIDC_CLIENT_ID"),
    (OIDC | {"OIDC_ISSUER": "http://id.example"}, "https://"),
    (OIDC | {"OIDC_ISSUER": "id.example"}, "http"),
    (OIDC | {"OIDC_SCOPES": "profile"}, "openid first"),
    (OIDC | {"PEOPLE_SECRET": SECRET}, "needs SORDINO_PEOPLE=header"),
    (OIDC | {"PEOPLE": "off"}, "needs SORDINO_PEOPLE=oidc"),
    *(
        (OIDC | {"PEOPLE_ROLES": roles}, "such as")
        for roles in ("ops", "[]", "{}", '{"root": ["ops"]}', '{"admin": "ops"}', '{"admin": []}', '{"admin": [""]}',
                      '{"admin": ["a"], "admin": ["b"]}', '{"uploader": ["ops"]}')
    ),
]  # fmt: skip


@pytest.mark.parametrize(("given", "reason"), WRONG)
def test_what_cannot_hold_is_refused(monkeypatch: pytest.MonkeyPatch, given: dict[str, str], reason: str) -> None:
    with pytest.raises(InvalidValue, match=reason) as refused:
        loaded(monkeypatch, given)
    assert SECRET not in str(refused.value)


def test_the_highest_role_counts_and_names_are_compared_whole() -> None:
    roles = RolesOfGroups.parse(ROLES)
    assert roles.role_of(["data, science", "ops"]) == "admin"
    assert roles.role_of(["data, science"]) == "analyst"
    assert roles.role_of(["data", " science", "science", "OPS", ""]) is None


def test_a_subject_is_one_of_its_issuer() -> None:
    one = Person(issuer="a", subject="b", groups=())
    assert one.sha256 != Person(issuer="a\0b", subject="", groups=()).sha256
    assert one.written(False) == "a#b"
    long = Person(issuer="https://" + "x" * 300, subject="s" * 255, groups=())
    assert len(long.written(True)) <= 200
    mail = Person(issuer="a", subject="ada@example.org", groups=())
    assert (mail.written(True), "@" in mail.written(False)) == ("a#ada@example.org", False)


@pytest.mark.parametrize("value", ["", "x", "e30", "W10", "WyJhIl0", "\u2603", "WzEsMiwzXQ"])
def test_another_cookie_is_no_flow(value: str) -> None:
    assert Flow.of_cookie(value, "x" * 43) is None


def test_a_flow_comes_back_with_its_state_alone() -> None:
    flow = Flow("/console/plans", "0" * 64)
    assert Flow.of_cookie(flow.cookie, flow.state) == flow
    assert Flow.of_cookie(flow.cookie, Flow("/console/plans").state) is None
    assert len(flow.verifier) == 43
    assert json.dumps([flow.nonce, flow.state, flow.verifier]).count(flow.secret) == 0
