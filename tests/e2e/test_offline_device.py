"""Devices and a server that is away: answered by the last task, sent by themselves, expired at the round's end."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sordino_client import AnswerStatus, Caps, Client, PlanUnavailable, PureEpsilon

CAPS = Caps(per_period=PureEpsilon.of(1), period_days=30, lifetime=PureEpsilon.of(1))
DAY = 86_400


class ShiftedClock:
    """The wall clock, `ahead` seconds later."""

    def __init__(self, ahead: float) -> None:
        self.ahead = ahead

    def now(self) -> float:
        return time.time() + self.ahead


def test_devices_without_a_server_answer_wait_expire_and_send_by_themselves(
    installation: Any, workload_file: Path, tmp_path: Path, wait_until: Callable[..., None]
) -> None:
    hurried = {"SORDINO_RETRY_MIN_S": "1", "SORDINO_RETRY_MAX_S": "2", "SORDINO_OFFLINE_DAYS": "2"}
    process, address = installation.serve(**hurried)
    operator = installation.operator(address)
    campaign = installation.json(
        "campaigns", "create", "--name", "delays", "--purpose", "We ask how late you were.",
        "--population", "travellers", "--workload", str(workload_file), "--epsilon", "1",
        "--close-after-s", str(10 * DAY), "--open", **operator,
    )["id"]  # fmt: skip
    for name in ("in time", "too late", "forgotten"):
        with Client(address, ledger=tmp_path / name, caps=CAPS) as client:
            client.join(campaign)
    process.kill()
    process.wait()

    with Client(address, ledger=tmp_path / "in time", caps=CAPS) as client:
        assert client.preview(campaign, 7.0).guarantee == PureEpsilon.of(1)
        assert client.answer(campaign, 7.0).status is AnswerStatus.RECORDED
        assert client.flush(patience_s=0).waiting == 1
    with Client(address, ledger=tmp_path / "too late", caps=CAPS, clock=ShiftedClock(2 * DAY)) as client:
        with pytest.raises(PlanUnavailable):
            client.answer(campaign, 7.0)
        assert client.account().lifetime_nano == 0
    with Client(address, ledger=tmp_path / "too late", caps=CAPS) as client, pytest.raises(PlanUnavailable):
        client.answer(campaign, 7.0)
    with Client(address, ledger=tmp_path / "forgotten", caps=CAPS) as client:
        assert client.answer(campaign, 7.0).status is AnswerStatus.RECORDED

    installation.serve("--port", address.rpartition(":")[2], **hurried)
    with Client(address, ledger=tmp_path / "forgotten", caps=CAPS, clock=ShiftedClock(10 * DAY)) as client:
        assert client.flush().delivered == 0
        (entry,) = client.account().campaigns[0].entries
        assert (entry.state, entry.report, entry.epsilon_nano) == ("expired", None, 10**9)
    with Client(address, ledger=tmp_path / "in time", caps=CAPS, background=True) as client:
        wait_until(lambda: client.account().campaigns[0].entries[0].state == "delivered", "delivered by itself")
    with Client(address, ledger=tmp_path / "too late", caps=CAPS) as client:
        assert client.answer(campaign, 7.0).status is AnswerStatus.RECORDED
    closed = installation.json("campaigns", "close", campaign, **operator)
    assert closed["rounds"][0]["reports"] == 1
