"""What a server with a log answers: proofs that devices check, and tiles from which anybody rebuilds the tree."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from sordino_server.jobs.log_keeper import LogKeeper
from sordino_server.public_log.tree import TILE, TileTree
from sordino_shared.protocol import Digest, LogEntry, Manifest, Problem
from sordino_shared.protocol.log_days import LogDays
from sordino_shared.protocol.log_entries import LoggedEnd, entry_fault
from sordino_shared.protocol.log_keys import LogPins, NoteKey
from sordino_shared.protocol.log_notes import read_checkpoint
from sordino_shared.protocol.log_proofs import LogProof
from sordino_shared.protocol.log_tree import leaf_hash
from tests.server.conftest import RunningServer


def sign(server: RunningServer) -> int | None:
    """What the thread of a worker does."""
    return LogKeeper(server.database, server.clock, server.settings).step()


def pins_of(server: RunningServer) -> LogPins:
    return LogPins(log=NoteKey.parse(server.api.get("/v1/log").raise_for_status().json()["key"]))


def test_a_campaign_is_proved_to_be_in_the_log(
    logging_server: RunningServer, check_problem: Callable[..., dict[str, Any]]
) -> None:
    campaign = logging_server.campaign()["id"]
    path = f"/v1/campaigns/{campaign}/log-proof"
    check_problem(logging_server.anonymous.get(path), Problem.UNAVAILABLE, "within seconds")
    assert sign(logging_server) == 1
    answer = logging_server.anonymous.get(path).raise_for_status()
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["cache-control"] == "public, max-age=60"
    proof = LogProof.read(answer.content)
    manifest = Manifest.read(logging_server.anonymous.get(f"/v1/campaigns/{campaign}").content)
    assert entry_fault(proof.entry, manifest) is None
    pins_of(logging_server).accept(proof.checkpoint, logging_server.clock.now())
    days = LogDays.read(logging_server.anonymous.get("/v1/log/days").raise_for_status().content)
    assert days.newest == proof.checkpoint
    assert [(each.size, each.root) for each in days.days] == [(1, proof.checkpoint.root)]


def test_what_is_not_in_the_log_is_not_found(
    logging_server: RunningServer, check_problem: Callable[..., dict[str, Any]]
) -> None:
    for path in ("/log/checkpoint", "/v1/log/days", "/log/tile/0/000", f"/v1/campaigns/{'0' * 64}/log-proof"):
        check_problem(logging_server.anonymous.get(path), Problem.NOT_FOUND)
    logging_server.campaign()
    sign(logging_server)
    wrong = "0/000 0/000.p/2 0/000.p/0 0/000.p/257 0/001.p/1 1/000.p/1 8/000.p/1 x/000 0/x000/000.p/1x 0/00.p/1 0"
    for tile in (*wrong.split(), "entries/000", "entries/000.p/2", ""):
        check_problem(logging_server.anonymous.get(f"/log/tile/{tile}"), Problem.NOT_FOUND)


def test_a_server_without_a_log_says_so(running: RunningServer, check_problem: Callable[..., dict[str, Any]]) -> None:
    campaign = running.campaign()["id"]
    for path in ("/v1/log", "/v1/log/days", "/log/checkpoint", f"/v1/campaigns/{campaign}/log-proof"):
        check_problem(running.anonymous.get(path), Problem.NOT_FOUND, "keeps no public log")


def test_the_tree_is_rebuilt_from_its_tiles(logging_server: RunningServer) -> None:
    plan = logging_server.ready_plan()["id"]
    terms = {"purpose": "We ask how late you were.", "population": "travellers", "plan_request": plan}
    for number in range(3):
        created = logging_server.api.post("/v1/campaigns", json=terms | {"name": f"delays {number}"}).raise_for_status()
        logging_server.api.post(f"/v1/campaigns/{created.json()['id']}/open").raise_for_status()
    logging_server.api.post(f"/v1/campaigns/{created.json()['id']}/cancel").raise_for_status()
    assert sign(logging_server) == 4
    note = read_checkpoint(logging_server.anonymous.get("/log/checkpoint").raise_for_status().text)
    answer = logging_server.anonymous.get("/log/tile/entries/000.p/4").raise_for_status()
    assert "immutable" in answer.headers["cache-control"]
    found, rest = [], answer.content
    while rest:
        length = int.from_bytes(rest[:2], "big")
        found.append(rest[2 : 2 + length])
        rest = rest[2 + length :]

    def read(level: int, index: int, width: int) -> Sequence[bytes]:
        content = logging_server.anonymous.get(f"/log/tile/{level}/{index:03}.p/{width}").raise_for_status().content
        return [content[place : place + 32] for place in range(0, len(content), 32)]

    assert TileTree(4, read).root() == note.root
    assert read(0, 0, 4) == [bytes(leaf_hash(each)) for each in found]
    assert [LogEntry.read(each).event.kind for each in found] == ["campaign", "campaign", "campaign", "end"]
    end = LogEntry.read(found[3])
    assert end.event == LoggedEnd(end.event.state)
    assert (end.event.state, end.subject.hex()) == ("cancelled", created.json()["id"])


def test_a_campaign_that_was_deleted_stays_in_the_log_with_its_end(logging_server: RunningServer) -> None:
    campaign = logging_server.campaign()["id"]
    logging_server.api.delete(f"/v1/campaigns/{campaign}").raise_for_status()
    assert sign(logging_server) == 2
    assert LogProof.read(logging_server.anonymous.get(f"/v1/campaigns/{campaign}/log-proof").content).index == 0


def test_names_of_tiles_have_three_digits_a_level(logging_server: RunningServer) -> None:
    """Behind 1,000 tiles the name is x001/000; there is no such tile yet."""
    answer = logging_server.anonymous.get("/log/tile/0/x001/000.p/1")
    assert re.search(r"no tile 0/1000 of 1 hashes", answer.json()["detail"])


@pytest.mark.parametrize("size", [TILE, TILE + 1])
def test_full_tiles_are_served_whole(logging_server: RunningServer, size: int) -> None:
    from sordino_server.public_log import entries, repository

    with logging_server.database.write("fill") as session:
        log = repository.current(session)
        assert log is not None
        for number in range(size):
            entries.policy_published(session, log, str(number), 5)
    assert sign(logging_server) == size
    assert len(logging_server.anonymous.get("/log/tile/0/000").content) == 32 * TILE
    top = logging_server.anonymous.get("/log/tile/1/000.p/1").raise_for_status().content
    note = read_checkpoint(logging_server.anonymous.get("/log/checkpoint").text)
    assert (Digest(top) == note.root) is (size == TILE)
