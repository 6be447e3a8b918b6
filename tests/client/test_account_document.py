"""The account as JSON: it is what docs/account.schema.json says, for ledgers of every kind."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sordino_client import Caps, WrongArgument
from sordino_client.consent import Telemetry
from sordino_client.testing import Categorical, Daily, Domain, FakeServer, Hashed, Integers, Ordinal
from sordino_shared.protocol import OwnerText

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "account.schema.json").read_text())
OS = Domain((Categorical("os", ("linux", "macos"), other=True),))
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool, "null": type(None)}


def faults(value: Any, schema: dict[str, Any], where: str = "") -> Iterator[str]:
    """What a value breaks of the parts of JSON Schema that the account's uses; an unknown part is a fault."""
    if (reference := schema.get("$ref")) is not None:
        yield from faults(value, SCHEMA["$defs"][reference.removeprefix("#/$defs/")], where)
        return
    known = {"$schema", "$defs", "title", "description", "type", "additionalProperties", "required", "properties",
             "anyOf", "enum", "items", "pattern"}  # fmt: skip
    if schema.keys() - known:
        yield f"{where}: {schema.keys() - known}"
    if "anyOf" in schema and not any(not list(faults(value, each, where)) for each in schema["anyOf"]):
        yield f"{where}: none of the forms"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where}: {value!r}"
    kinds = schema.get("type", [])
    kinds = [TYPES[kind] for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    if kinds and type(value) not in kinds:
        yield f"{where}: {value!r} is no {kinds}"
        return
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{where}: {value!r}"
    for item in value if isinstance(value, list) else ():
        yield from faults(item, schema["items"], f"{where}[]")
    if isinstance(value, dict):
        if value.keys() != set(schema.get("required", value)):
            yield f"{where}: {value.keys() ^ set(schema['required'])}"
        for name, item in value.items():
            if name in schema.get("properties", {}):
                yield from faults(item, schema["properties"][name], f"{where}.{name}")


def checked(document: dict[str, Any]) -> dict[str, Any]:
    assert list(faults(json.loads(json.dumps(document)), SCHEMA)) == []
    return document


def test_the_check_finds_what_is_wrong() -> None:
    server = FakeServer(OS)
    with server.client(ledger=":memory:") as client:
        client.join(server.campaign)
        good = client.account().to_dict()
    assert list(faults(good | {"opted_out": 1.5}, SCHEMA))
    assert list(faults(good | {"more": 1}, SCHEMA))
    for wrong in ({"state": "asleep"}, {"spent": 0.5}, {"spent": "1e3"}, {"data": [1]}, {"campaign": "x"}):
        assert list(faults(good | {"campaigns": [good["campaigns"][0] | wrong]}, SCHEMA))


def test_an_empty_ledger_and_each_state_of_a_campaign() -> None:
    server, seen = FakeServer(OS), []
    with server.client(ledger=":memory:", caps=Caps.of(1, days=28, lifetime=12)) as client:
        assert checked(client.account().to_dict())["campaigns"] == []
        client.join(server.campaign)
        for step in (lambda: None, lambda: client.answer(server.campaign, "linux"), client.opt_out_all):
            step()
            seen.append(checked(client.account().to_dict()))
    assert [each["campaigns"][0]["state"] for each in seen] == ["active", "ended", "left"]
    assert [each["caps"]["per_period"]["left"] for each in seen] == ["1", "0", "0"]
    assert [each["caps"]["lifetime"]["left"] for each in seen] == ["12", "11", "11"]
    assert seen[2]["opted_out"] == int(server.now())
    assert seen[2]["campaigns"][0]["reports"][0]["state"] == "deleted"
    assert seen[0]["campaigns"][0]["guarantee"]["odds"] == "2.72"


def test_a_series_says_when_it_is_due_and_that_it_is_over() -> None:
    server = FakeServer(OS, series=Daily(slots=3, answers_max=2))
    with server.client(ledger=":memory:") as client:
        series = client.join(server.campaign)
        for _ in range(2):
            due = client.next_due(series)
            assert checked(client.account().to_dict())["campaigns"][0]["next_due"] == int(due.timestamp())
            server.travel_to(due)
            client.answer(series, "linux")
        last = checked(client.account().to_dict())["campaigns"][0]
    assert (last["state"], last["next_due"], last["series"]["over"], last["spent"]) == ("ended", None, True, "2")


def test_the_purpose_and_the_sentence_are_in_the_owners_language(make_world: Any, make_client: Any) -> None:
    german = OwnerText(language="de", purpose="Welche Farbe.", contact="das Team", link=None)
    world = make_world(texts=(german,))
    client = make_client(world)
    client.join(world.campaign)
    [campaign] = checked(client.account().to_dict(["fr", "de-CH"]))["campaigns"]
    assert campaign["purpose"] == {"language": "de", "purpose": "Welche Farbe.", "contact": "das Team", "link": None}
    assert "2,72-Fache" in campaign["guarantee"]["sentence"]
    [campaign] = checked(client.account().to_dict(["fr"]))["campaigns"]
    assert campaign["purpose"]["language"] is None
    assert "2.72-fold" in campaign["guarantee"]["sentence"]
    for wrong in ("de", [1]):
        with pytest.raises(WrongArgument, match="languages"):
            client.account().to_dict(wrong)


def test_data_are_said_in_words() -> None:
    domain = Domain(
        (
            Ordinal("startup", edges=(250, 500), unit="ms"),
            Integers("age", 0, 120),
            Hashed("page", 8, bytes(16)),
            Categorical("os", ("linux",), other=True),
        )
    )
    with FakeServer(domain).client(ledger=":memory:") as client:
        client.join(client._transport.campaign)  # type: ignore[attr-defined]
        [campaign] = client.account().to_dict()["campaigns"]
    assert campaign["data"] == [
        "startup (ms): ≤ 250, (250, 500], > 500",
        "age: one of 121 values, from 0 to 120",
        "page: one of 256 groups of texts",
        "os: linux, other",
    ]


def test_the_account_of_telemetry_has_the_decision(tmp_path: Path) -> None:
    server = FakeServer(OS)
    telemetry = Telemetry(
        "tool", server="https://fake.sordino.example", campaigns={"os": server.campaign}, purpose="x",
        caps=Caps.of(1, days=28, lifetime=12), ledger=tmp_path / "ledger", transport=server, clock=server,
        environ={}, terminal=True,
    )  # fmt: skip
    assert checked(telemetry.account())["consent"]["why"] == "not asked"
    assert not (tmp_path / "ledger").exists()
    telemetry.turn_on()
    telemetry.send()
    document = checked(telemetry.account())
    assert (document["consent"]["on"], document["consent"]["why"]) == (True, "owner")
    assert len(document["campaigns"]) == 1


def test_a_series_that_its_operator_paused_says_so(tmp_path: Path) -> None:
    server = FakeServer(OS, series=Daily(slots=1))
    with server.client(ledger=tmp_path / "ledger") as client:
        series = client.join(server.campaign)
        client.answer(series, "linux")
        server.pause()
        server.travel(days=1)
        assert client.answer(series, "linux").status == "not_open"
        [paused] = checked(client.account().to_dict())["campaigns"]
        assert (paused["state"], paused["next_due"]) == ("paused", None)
        assert "paused by its operator" in str(client.account())
    # Known after a restart, too, and until an answer finds that it goes on.
    with server.client(ledger=tmp_path / "ledger") as client:
        assert client.account().campaigns[0].state == "paused"
        server.resume()
        assert client.answer(series, "linux").status == "recorded"
        assert client.account().campaigns[0].state == "active"
        server.end()
        server.travel(days=1)
        client.answer(series, "linux")
        assert client.account().campaigns[0].state == "ended"
