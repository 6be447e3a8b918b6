"""How often an answer writes to the ledger: each write waits for the disk several times, on a telephone most of all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import httpx
import pytest

from sordino_client import AnswerStatus
from sordino_client._storage import LedgerConnection, Storage
from tests.client.conftest import DAY_S, World

# A new ledger; manifest, task and part; debit and report; that it was delivered.
FIRST_ANSWER = {"open": 1, "join": 1, "answer": 1, "flush": 1}

# Each takes the file's lock and no more: expired?, joined?, settled?, task new?, part kept? …
READS = 14


class Counted:
    """The transactions of all ledgers: `writes` that changed the file, `reads` that did not."""

    def __init__(self) -> None:
        self.writes = self.reads = 0

    def since(self, before: tuple[int, int]) -> tuple[int, int]:
        return self.writes - before[0], self.reads - before[1]

    def now(self) -> tuple[int, int]:
        return self.writes, self.reads


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    found, before = Counted(), dict[LedgerConnection, int]()

    class Traced(Storage):
        def connect(self) -> LedgerConnection:
            connection = super().connect()

            def trace(statement: str) -> None:
                if statement.startswith("BEGIN"):
                    before[connection] = connection.total_changes
                elif statement.startswith("CREATE"):
                    before[connection] = -1
                elif statement == "COMMIT":
                    changed = connection.total_changes > before[connection]
                    found.writes += changed
                    found.reads += not changed

            connection.set_trace_callback(trace)
            return connection

    monkeypatch.setattr("sordino_client._device.Storage", Traced)
    return found


def count(found: Counted, work: Any) -> tuple[Any, tuple[int, int]]:
    before = found.now()
    return work(), found.since(before)


@pytest.mark.parametrize("until", [None, 1_800_001_000])
def test_a_first_answer_is_four_writes(world: Any, make_client: Any, counted: Counted, until: int | None) -> None:
    world.task = replace(world.task, answer_until=until, accept_until=until)
    client, opening = count(counted, make_client)
    campaign, joining = count(counted, lambda: client.join(world.campaign))
    answer, answering = count(counted, lambda: client.answer(campaign, "red"))
    flushed, flushing = count(counted, client.flush)
    assert (answer.status, flushed.delivered) == (AnswerStatus.RECORDED, 1)
    writes = dict(zip(FIRST_ANSWER, (opening[0], joining[0], answering[0], flushing[0]), strict=True))
    assert writes == FIRST_ANSWER
    reads = opening[1] + joining[1] + answering[1] + flushing[1]
    assert reads <= READS


def test_a_further_campaign_is_three(make_world: Any, make_client: Any, counted: Counted) -> None:
    first, second = make_world(created_at=1), make_world(created_at=2)
    with make_client(first) as client:
        client.answer(client.join(first.campaign), "red")
        client.flush()
    client, opening = count(counted, lambda: make_client(second))
    campaign, joining = count(counted, lambda: client.join(second.campaign))
    _, answering = count(counted, lambda: client.answer(campaign, "red"))
    _, flushing = count(counted, client.flush)
    assert (opening[0], joining[0], answering[0], flushing[0]) == (0, 1, 1, 1)


def test_a_further_answer_of_a_series_is_two(make_series: Any, start: Any, clock: Any, counted: Counted) -> None:
    world = make_series(slots=2, late_s=100)
    (client, series), joining = count(counted, lambda: start(world))
    assert joining[0] == 2
    for _ in range(3):
        answer, answering = count(counted, lambda: client.answer(series, "red"))
        flushed, flushing = count(counted, client.flush)
        assert (answer.status, flushed.delivered) == (AnswerStatus.RECORDED, 1)
        assert (answering[0], flushing[0]) == (1, 1)
        clock.time += 2 * DAY_S


def test_what_changes_nothing_writes_nothing(world: Any, make_client: Any, counted: Counted) -> None:
    client = make_client()
    campaign = client.join(world.campaign)
    client.answer(campaign, "red")
    client.flush()
    for again in (
        lambda: client.join(world.campaign),
        lambda: client.answer(campaign, "red"),
        client.flush,
        client.account,
        lambda: client.preview(campaign, "red"),
    ):
        assert count(counted, again)[1][0] == 0


def test_reports_that_wait_are_a_read_and_a_write_each(make_client: Any, counted: Counted) -> None:
    first, waiting = World(created_at=1), [World(created_at=number) for number in (2, 3, 4)]
    served = Many([first, *waiting])
    client = make_client(served)

    def flushed() -> tuple[int, tuple[int, int]]:
        found, cost = count(counted, client.flush)
        return found.delivered, cost

    client.answer(client.join(first.campaign), "red")
    one = flushed()
    for world in waiting:
        client.answer(client.join(world.campaign), "red")
    assert one[0] == one[1][0] == 1
    assert flushed() == (3, (3, one[1][1] + 2))


class Many:
    """The server of several campaigns."""

    def __init__(self, worlds: list[World]) -> None:
        self._worlds = {str(world.campaign): world for world in worlds}

    def handle(self, request: httpx.Request) -> httpx.Response:
        parts = request.url.path.split("/")
        named = self._worlds.get(parts[3]) if parts[2] == "campaigns" else None
        return (named or next(iter(self._worlds.values()))).handle(request)
