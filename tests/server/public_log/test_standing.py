"""What the API, the health probe and Prometheus say of the log: entries, witnesses, and who answers."""

from __future__ import annotations

from typing import Any

from prometheus_client import CollectorRegistry

from sordino_server.jobs.log_keeper import LogKeeper
from sordino_server.public_log.watching import LogMetrics, LogWatch
from sordino_shared.protocol import Problem
from tests.ports import free_port
from tests.server.conftest import RunningServer
from tests.server.public_log.conftest import ORIGIN
from tests.server.public_log.test_copies import publish, sign
from tests.server.public_log.test_witness import witnessed

__all__ = ["witnessed"]
Servers = tuple[RunningServer, RunningServer]


def test_entries_are_listed_in_words_newest_first(logging_server: RunningServer) -> None:
    server = logging_server
    assert server.anonymous.get("/v1/log/entries").json() == {"entries": [], "next_page_token": None}
    campaign = server.campaign("open", "close")["id"]
    publish(server.database, "We keep reports\nfor 30 days.", "second")
    sign(server)
    publish(server.database, "not signed yet")
    first = server.anonymous.get("/v1/log/entries?page_size=3").raise_for_status().json()
    assert [each["number"] for each in first["entries"]] == [3, 2, 1]
    assert [each["text"] for each in first["entries"]] == [
        "policy: second",
        "policy: We keep reports for 30 days.",
        f"campaign {campaign} was closed",
    ]
    rest = server.anonymous.get(f"/v1/log/entries?page_size=3&page_token={first['next_page_token']}").json()
    [entry] = rest["entries"]
    assert entry["text"] == "campaign 'delays' of population 'travellers', ε 1 a device, asks for delay (4 values)"
    assert (entry["kind"], entry["campaign"], entry["subject"]) == ("campaign", campaign, campaign)
    assert rest["next_page_token"] is None
    tile = server.anonymous.get("/log/tile/0/000.p/4").raise_for_status().content
    assert tile.hex() == "".join(each["leaf"] for each in [*rest["entries"], *reversed(first["entries"])])
    wide = server.anonymous.get("/v1/log/entries?page_token=eHg").json()
    assert wide["type"] == f"/problems/{Problem.INVALID_REQUEST.slug}"


def test_witnesses_are_listed_with_their_last_cosignature(witnessed: Servers) -> None:
    server, witness = witnessed
    name = server.settings.witnesses_asked[0].key.name
    never = {"name": name, "asked": True, "size": 0, "missing": 0, "cosigned_at": None}
    found = server.anonymous.get("/v1/log/witnesses").json()
    assert found == {"quorum": 1, "waiting": 0, "witnesses": [never], "witnessed": []}
    server.campaign()
    assert server.anonymous.get("/v1/log/witnesses").json()["waiting"] == 1
    sign(server)
    server.campaign(name="second")
    # Signed while the witness is not asked.
    LogKeeper(server.database, server.clock, server.settings.model_copy(update={"witnesses": None})).step()
    cosigned = {**never, "size": 1, "missing": 1, "cosigned_at": witness.clock.now()}
    assert server.anonymous.get("/v1/log/witnesses").json()["witnesses"] == [cosigned]
    [vouched] = witness.anonymous.get("/v1/log/witnesses").json()["witnessed"]
    assert (vouched["origin"], vouched["size"], vouched["cosigned_at"]) == (ORIGIN, 1, witness.clock.now())


def test_a_verbose_probe_says_how_witnesses_do_and_never_fails(witnessed: Servers) -> None:
    server, _ = witnessed
    server.campaign()
    sign(server)
    assert server.anonymous.get("/readyz").json() == {"status": "ok"}
    found = server.anonymous.get("/readyz?verbose").raise_for_status().json()
    assert found["status"] == "ok"
    [seen] = found["log"].pop("witnesses")
    assert found["log"] == {"size": 1, "waiting": 0, "waiting_s": 0, "ahead": 0}
    assert (seen["answers"], seen["problem"], seen["size"], seen["missing"]) == (True, None, 1, 0)
    # A server that witnesses nothing is none, and neither is a port where nobody listens.
    problems = {True: "it answers 404", False: "refused"}
    for is_server, problem in problems.items():
        address = server.address if is_server else f"http://127.0.0.1:{free_port()}"
        listed = f"{address} {server.settings.witnesses_asked[0].key}"
        watch = LogWatch(server.database, server.clock, server.settings.model_copy(update={"witnesses": listed}))
        [seen] = watch.outcome().result().witnesses
        assert not seen.answers
        assert problem in (seen.problem or "")
        server.app.state.log_watch = watch
        answer = server.anonymous.get("/readyz?verbose")
        assert (answer.status_code, answer.json()["status"]) == (200, "ok")


def test_witnesses_are_probed_once_however_often_somebody_looks(witnessed: Servers) -> None:
    server, _ = witnessed
    asked: list[str] = []

    def connect(address: str) -> Any:
        asked.append(address)
        from sordino_server.kit.outgoing import server_at

        return server_at(address)

    watch = LogWatch(server.database, server.clock, server.settings, connect)
    assert {watch.outcome().result().witnesses[0].answers for _ in range(3)} == {True}
    assert len(asked) == 1


def test_the_log_has_metrics(witnessed: Servers) -> None:
    server, _ = witnessed
    registry = CollectorRegistry()
    registry.register(LogMetrics(LogWatch(server.database, server.clock, server.settings)))
    server.campaign()
    server.clock.advance(40)
    name = {"witness": server.settings.witnesses_asked[0].key.name}
    assert registry.get_sample_value("sordino_log_entries") == 0
    assert registry.get_sample_value("sordino_log_oldest_waiting_entry_age_seconds") == 40
    sign(server)
    assert registry.get_sample_value("sordino_log_entries") == 1
    assert registry.get_sample_value("sordino_log_oldest_waiting_entry_age_seconds") == 0
    assert registry.get_sample_value("sordino_log_ahead_entries") == 0
    assert registry.get_sample_value("sordino_log_witness_up", name) == 1
    assert registry.get_sample_value("sordino_log_witness_missing_entries", name) == 0


def test_a_server_without_a_log_says_nothing_of_one(running: RunningServer) -> None:
    assert running.anonymous.get("/readyz?verbose").json() == {"status": "ok", "log": None}
    registry = CollectorRegistry()
    registry.register(LogMetrics(LogWatch(running.database, running.clock, running.settings)))
    assert list(registry.collect()) == []
