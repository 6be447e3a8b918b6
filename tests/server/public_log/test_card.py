"""The card of a campaign says its place in the public log."""

from __future__ import annotations

from typing import Any

from sordino_server.models import LogCosignature
from sordino_server.public_log import repository
from tests.server.conftest import RunningServer
from tests.server.public_log.test_endpoints import sign


def log_field(server: RunningServer, campaign: str) -> dict[str, Any]:
    card = server.api.get(f"/v1/campaigns/{campaign}/card").raise_for_status().json()
    found = [each for part in card["parts"] for each in part["fields"] if each["name"] == "log"]
    assert len(found) == 1
    return dict(found[0])


def test_a_card_says_the_place_in_the_log_and_who_saw_it(logging_server: RunningServer) -> None:
    campaign = logging_server.campaign()["id"]
    waits = log_field(logging_server, campaign)
    assert (waits["value"], waits["source"]) == (None, None)
    assert "a worker writes the entry" in waits["text"]
    assert sign(logging_server) == 1
    state = logging_server.anonymous.get("/v1/log").json()
    alone = log_field(logging_server, campaign)
    assert alone["value"] == {"entry": 0, "size": 1, "root": state["root"], "witnesses": []}
    assert alone["text"] == f"entry 0 of 1, seen by no witness, root {state['root']}"
    with logging_server.database.write("cosign") as session:
        log = repository.current(session)
        assert log is not None
        session.add(LogCosignature(log_id=log.id, size=1, witness="a.example/witness", line="line\n"))
    seen = log_field(logging_server, campaign)
    assert (seen["value"]["witnesses"], seen["source"]) == (["a.example/witness"], "log")
    assert "seen by a.example/witness," in seen["text"]
