"""The SDK against the real server: a lost response is counted once, a late report is refused and says so."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from sordino_client import AnswerStatus, Caps, Client, HttpxTransport, PureEpsilon, Request, Response, TransportFailed

CAPS = Caps(per_period=PureEpsilon.of(1), period_days=30, lifetime=PureEpsilon.of(1))


class Forgetful(HttpxTransport):
    """Loses the first response to an upload after the server has sent it."""

    lost = 0

    def send(self, request: Request) -> Response:
        response = super().send(request)
        if request.method == "POST" and not self.lost:
            self.lost += 1
            raise TransportFailed("the response was lost")
        return response


class HurriedClock:
    """The wall clock, but sleeping passes at once."""

    ahead = 0.0

    def now(self) -> float:
        return time.time() + self.ahead

    def sleep(self, seconds: float) -> None:
        self.ahead += seconds


def test_a_device_on_the_real_server(installation: Any, workload_file: Path, tmp_path: Path) -> None:
    _, address = installation.serve()
    operator = installation.operator(address)
    campaign = installation.json(
        "campaigns", "create", "--name", "delays", "--purpose", "We ask how late you were.",
        "--population", "travellers", "--workload", str(workload_file), "--epsilon", "1", "--open", **operator,
    )["id"]  # fmt: skip

    clock, transport = HurriedClock(), Forgetful(address)
    unlucky = Client(address, ledger=tmp_path / "one", caps=CAPS, transport=transport, clock=clock, sleep=clock.sleep)
    assert unlucky.answer(unlucky.join(campaign), 7.0).status is AnswerStatus.RECORDED
    flushed = unlucky.flush(patience_s=7 * 86_400)
    assert (flushed.delivered, flushed.waiting, flushed.trouble) == (1, 0, "the response was lost")

    late = Client(address, ledger=tmp_path / "two", caps=CAPS)
    late.answer(late.join(campaign), 9.0)
    closed = installation.json("campaigns", "close", campaign, **operator)
    assert closed["rounds"][0]["reports"] == 1
    (refused,) = late.flush().refused
    assert refused.reason == "round-not-open"
    assert late.account().campaigns[0].entries[0].reason == "round-not-open"
    assert late.answer(campaign, 9.0).status is AnswerStatus.ALREADY_ANSWERED

    later = Client(address, ledger=tmp_path / "three", caps=CAPS)
    assert later.answer(later.join(campaign), 9.0).status is AnswerStatus.NOT_OPEN
    assert later.account().lifetime_nano == 0
