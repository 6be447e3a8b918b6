"""Entries of the audit log say what they are about: filters, what analysts read, and what the server did itself."""

from __future__ import annotations

from typing import Any

import pytest

from sordino_server.keys.audit_chain import extend
from sordino_server.keys.audit_subjects import SubjectKind, subject_of
from sordino_server.models import Role
from tests.server.cli.conftest import json_of, run_command
from tests.server.console.conftest import browsers

__all__ = ["browsers", "json_of", "run_command"]
PATH = "/v1/audit-log"
MINE = {SubjectKind.CAMPAIGN, SubjectKind.PLAN, SubjectKind.WORKLOAD, SubjectKind.POPULATION}


def entries(client: Any, **chosen: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(PATH, params=chosen).raise_for_status().json()["entries"]
    return found


@pytest.fixture
def told(running: Any) -> dict[str, Any]:
    """A campaign that an analyst opened and a worker closed, one that is gone, a population, and a key."""
    running.api.post("/v1/populations", json={"name": "others", "epsilon_lifetime": "3"}).raise_for_status()
    terms = {"name": "late trains", "purpose": "We ask how late you were.", "population": "travellers"}
    terms |= {"plan_request": running.ready_plan()["id"], "close_after_reports": 3}
    campaign = running.api.post("/v1/campaigns", json=terms).raise_for_status().json()
    key = running.api.post("/v1/keys", json={"name": "ana", "role": "analyst"}).raise_for_status().json()
    analyst = running.client(key["key"])
    analyst.post(f"/v1/campaigns/{campaign['id']}/open").raise_for_status()
    running.report(campaign, [0, 1, 2, 3]).raise_for_status()
    running.work()
    gone = running.campaign(name="late boats")["id"]
    running.api.delete(f"/v1/campaigns/{gone}").raise_for_status()
    return {"campaign": campaign["id"], "gone": gone, "key": key["id"], "analyst": analyst}


def test_each_entry_names_its_subject(running: Any, told: dict[str, Any]) -> None:
    by_action = {each["action"]: each["subject"] for each in entries(running.api)}
    assert by_action["open campaign"] == {"kind": "campaign", "id": told["campaign"], "name": "late trains"}
    assert by_action["delete campaign"] == {"kind": "campaign", "id": told["gone"], "name": None}
    assert by_action["create key"] == {"kind": "key", "id": told["key"], "name": "ana"}
    assert by_action["create population"]["name"] == "others"
    assert by_action["register workload"]["name"] == "delays"
    assert by_action["request plan"]["name"] == "delays"


def test_the_server_closed_it_and_why(running: Any, told: dict[str, Any]) -> None:
    [closed] = entries(running.api, person="server")
    assert (closed["actor"], closed["action"], closed["key_id"]) == ("worker", "close round", None)
    assert closed["after"] == '{"by": "reports", "reports": 4, "wanted": 3}'
    assert closed["subject"]["id"] == told["campaign"]


def test_the_server_refused_to_open_it_and_says_so_once_an_hour(running: Any) -> None:
    running.api.post("/v1/populations", json={"name": "few", "epsilon_lifetime": "0.5"}).raise_for_status()
    terms = {
        "name": "late trains",
        "purpose": "We ask.",
        "population": "few",
        "plan_request": running.ready_plan()["id"],
    }
    campaign = running.api.post("/v1/campaigns", json=terms).raise_for_status().json()["id"]
    for wait in (0, 60, 3600):
        running.clock.advance(wait)
        assert running.api.post(f"/v1/campaigns/{campaign}/open").status_code == 409
    first, again = entries(running.api, person="server")
    assert first["created_at"] - again["created_at"] == 3660
    assert first["action"] == "refuse to open campaign"
    assert first["subject"]["name"] == "late trains"
    assert first["key_name"] == "test"
    assert "0.5" in first["after"]
    # The campaign stays as it was.
    assert running.api.get(f"/v1/campaigns/{campaign}/status").json()["state"] == "ready"


def test_analysts_read_what_is_theirs_without_addresses(running: Any, told: dict[str, Any], browsers: Any) -> None:
    browsers.of(Role.ADMIN)
    analyst = told["analyst"]
    kinds = {each["subject"]["kind"] for each in entries(analyst)}
    assert kinds == {kind.value for kind in MINE}
    assert "/console" not in str(entries(analyst))
    assert {each["subject"]["kind"] for each in entries(running.api)} == kinds | {"key", "session"}
    whole = running.api.get(PATH).json()
    assert (whole["complete"], analyst.get(PATH).json()["complete"]) == (True, False)
    assert not running.api.get(PATH, params={"kind": "key"}).json()["complete"]
    for kind in set(SubjectKind) - MINE - {SubjectKind.DATASET, SubjectKind.RELEASE}:
        refused = analyst.get(PATH, params={"kind": kind.value})
        assert refused.status_code == 403
        assert "role admin" in refused.json()["detail"]
    assert entries(analyst, subject=told["key"]) == []
    with running.client(running.key(Role.UPLOADER)) as uploader:
        assert uploader.get(PATH).status_code == 403


def test_filters_agree_with_the_whole_list(running: Any, told: dict[str, Any]) -> None:
    whole = entries(running.api)
    assert entries(running.api, kind="campaign") == [each for each in whole if each["subject"]["kind"] == "campaign"]
    assert entries(running.api, subject=told["campaign"]) == [
        each for each in whole if each["subject"]["id"] == told["campaign"]
    ]
    assert [each["action"] for each in entries(running.api, person="ana")] == ["open campaign"]
    assert entries(running.api, person="key:ana") == entries(running.api, person="ana")
    assert entries(running.api, person="ana", kind="plan") == []
    # Pages of a filter go on where they ended.
    first = running.api.get(PATH, params={"kind": "campaign", "page_size": 1}).json()
    rest = running.api.get(PATH, params={"kind": "campaign", "page_token": first["next_page_token"]}).json()
    assert first["entries"] + rest["entries"] == entries(running.api, kind="campaign")
    for wrong in ({"kind": "thing"}, {"subject": "a%"}, {"person": ""}, {"subject": told["campaign"] + "0"}):
        assert running.api.get(PATH, params=wrong).status_code == 422, wrong


@pytest.mark.parametrize(
    ("path", "subject"),
    [
        ("/v1/keys", (SubjectKind.KEY, None)),
        ("/v1/campaigns/ab/rounds/0/close", (SubjectKind.CAMPAIGN, "ab")),
        ("SORDINO_RAW_REPORT_RETENTION_DAYS", (SubjectKind.SETTING, "SORDINO_RAW_REPORT_RETENTION_DAYS")),
        ("/console", (SubjectKind.SESSION, None)),
        ("/v1/campaignsx/ab", None),
        ("/v0/campaigns/ab", None),
    ],
)
def test_paths_of_earlier_versions_are_read(path: str, subject: Any) -> None:
    assert subject_of(path) == subject


def test_the_command_filters_and_only_admins_verify(
    running: Any, told: dict[str, Any], run_command: Any, json_of: Any
) -> None:
    extend(running.database)
    admin = {"SORDINO_SERVER": running.address, "SORDINO_KEY": running.admin_key}
    listed = json_of("audit-log", "--kind", "campaign", "--person", "ana", **admin)["entries"]
    assert [each["action"] for each in listed] == ["open campaign"]
    assert "late trains" in run_command("audit-log", "--subject", told["campaign"], **admin).stdout
    assert json_of("audit-log", "verify", **admin)["entries"] == len(entries(running.api))
    assert "--kind goes with" in run_command("audit-log", "verify", "--kind", "key", code=2, **admin).stderr
    analyst = admin | {"SORDINO_KEY": told["analyst"].headers["Authorization"].removeprefix("Bearer ")}
    assert json_of("audit-log", **analyst)["entries"] == entries(told["analyst"])
    assert "with an admin's key" in " ".join(run_command("audit-log", "verify", code=1, **analyst).stderr.split())
