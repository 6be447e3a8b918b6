"""Real devices in a real series: the SDK's clients of every phase against the server, by one clock."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from sordino_client import AnswerStatus, Caps, Client, HttpTransport, PureEpsilon, Request, Response
from sordino_shared.randomness import SystemRandomness
from tests.server.series.conftest import DAY, Series, begin

CAPS = Caps(PureEpsilon.of(20), 30, PureEpsilon.of(50))
VALUE = 17.0


class ByTheClock:
    """The SDK's transport, whose responses show the test's time in place of the machine's."""

    def __init__(self, running: Any) -> None:
        self._http = HttpTransport(running.address, allow_http=True)
        self._clock = running.clock

    def send(self, request: Request) -> Response:
        response = self._http.send(request)
        assert "date" in response.headers, "the server tells its time"
        shown = {**response.headers, "date": formatdate(self._clock.now(), usegmt=True)}
        return dataclasses.replace(response, headers=shown)

    def close(self) -> None:
        self._http.close()


class Phase(SystemRandomness):
    """The system's randomness, but for the phase."""

    def __init__(self, phase: int) -> None:
        self._phase = phase

    def below(self, bound: int) -> int:
        return self._phase % bound


@pytest.fixture
def device(running: Any, tmp_path: Path) -> Iterator[Callable[[int], Client]]:
    made: list[Client] = []

    def make(phase: int) -> Client:
        made.append(
            Client(
                running.address,
                ledger=tmp_path / f"{len(made)}.sqlite3",
                caps=CAPS,
                transport=ByTheClock(running),
                clock=running.clock,
                randomness=Phase(phase),
            )
        )
        return made[-1]

    yield make
    for client in made:
        client.close()


def live(client: Client, series: Series, day: int) -> AnswerStatus:
    """The app's start at noon."""
    series.at(day, DAY // 2)
    status = client.answer(series.id, VALUE).status
    client.flush()
    return status


def test_every_period_is_answered_by_the_devices_of_its_phase(running, series, device):
    devices = [device(phase) for phase in range(7)]
    for client in devices:
        client.join(series.id)
    found = {}
    for day in range(9):
        for phase, client in enumerate(devices):
            if live(client, series, day) is AnswerStatus.RECORDED:
                found.setdefault(day, []).append(phase)
        if day == 2:
            assert series.act("pause").status_code == 200
            assert live(devices[2], series, day) is AnswerStatus.ALREADY_ANSWERED
        if day == 4:
            assert series.act("resume").status_code == 200
    assert found == {day: [day % 7] for day in (0, 1, 2, 5, 6, 7, 8)}, "days 3 and 4 were paused"
    counted = {each["index"]: each["reports"] for each in series.status["rounds"] if each["reports"]}
    assert counted == dict.fromkeys((0, 1, 2, 5, 6, 7, 8), 1)
    states = {entry.state for client in devices for entry in client.account().campaigns[0].entries}
    assert states == {"delivered"}
    assert series.act("close").status_code == 200
    assert live(devices[2], series, 9) is AnswerStatus.NOT_OPEN
    assert devices[2].account().campaigns[0].series.over


def test_a_device_takes_its_answers_to_the_series_that_replaces_its_own(running, series, device):
    client = device(3)
    client.join(series.id)
    assert live(client, series, 3) is AnswerStatus.RECORDED
    later = begin(running, start=series.start, replaces=series.id, answers_max=2)
    client.join(later.id)
    assert live(client, series, 10) is AnswerStatus.NOT_OPEN
    assert live(client, later, 10) is AnswerStatus.RECORDED
    assert live(client, later, 17) is AnswerStatus.ALREADY_ANSWERED, "two answers in all, one of them in the old series"


def test_a_device_whose_clock_is_wrong_by_days_answers_nothing_online(running, series, device):
    client = device(4)
    client.join(series.id)
    series.at(2)
    away = client._device.clock

    class Ahead:
        def now(self) -> float:
            return away.now() + 2 * DAY

    client._device._series._clock = Ahead()
    assert client.due(series.id).number == 4
    assert client.answer(series.id, VALUE).status is AnswerStatus.CLOCK_DIFFERS
    assert client.account().lifetime_nano == 0
