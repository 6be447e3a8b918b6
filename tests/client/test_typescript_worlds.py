"""The TypeScript SDK against the worlds of the Python SDK's tests, over real HTTP: both do as the protocol says."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from sordino_client._transport import Request
from sordino_client.testing import FakeServer
from sordino_shared.domains import Categorical, Domain
from sordino_shared.protocol import AddressGate, Arm, HookGate, ReportBatch, SealedReports
from sordino_shared.protocol.sealed import sealed_width
from sordino_shared.tokens import IssuerKey
from tests.client.conftest import ADDRESS, World
from tests.client.test_shuffled import END, PART, ShuffledWorld
from tests.client.test_tokens import Issuing, check_valid
from tests.client.test_typescript import run

NOW = END - 5_000
SETTLED = {"refused": 0, "waiting": 0}


class Fake:
    """A fake server of the Python SDK's users, asked over HTTP."""

    def __init__(self) -> None:
        self.server = FakeServer(Domain((Categorical("answer", ("no", "yes")),)))
        self.campaign = self.server.campaign

    def handle(self, given: httpx.Request) -> httpx.Response:
        asked = Request(
            method=given.method, path=given.url.raw_path.decode(), limit=1 << 26, body=given.content or None
        )
        answer = self.server.send(asked)
        return httpx.Response(answer.status, headers=dict(answer.headers), content=answer.content)


@contextmanager
def listening(world: World | Fake) -> Iterator[str]:
    """The address of a server that answers as a world does."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            given = httpx.Request(self.command, ADDRESS + self.path, headers=dict(self.headers), content=content)
            try:
                answer = world.handle(given)
            except httpx.HTTPError:
                # The answer is lost on its way.
                self.close_connection = True
                return
            self.send_response(answer.status_code)
            for name, value in answer.headers.items():
                if name != "content-length":
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            """Nothing on standard error."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def fleet(world: World | Fake, values: list[Any], **order: Any) -> dict[str, int]:
    """What became of one device for each value."""
    with listening(world) as address:
        asked = {"server": ADDRESS, "campaign": str(world.campaign), "values": values, "through": address} | order
        found: dict[str, int] = json.loads(run("test/fleet.ts", json.dumps({"now": NOW} | asked)))
    return found


def test_sealed_reports_open_at_the_collector() -> None:
    """With the arm of each device inside, and one length for all; the collector is never asked."""
    world = ShuffledWorld(arms=(Arm("A", 32_768), Arm("B", 32_768)))
    values = ["green", "red", "blue", None] * 4
    assert fleet(world, values, cap="4") == dict.fromkeys(("recorded", "already_answered", "delivered"), 16) | SETTLED
    opened = [world.opened(body) for body in world.bodies]
    width = 1 + PART.randomizer.payload_bytes
    assert {plaintext is not None and len(plaintext) for plaintext in opened} == {width}
    # Sixteen devices draw one arm alone in 1 of 32,768 runs.
    assert {plaintext[0] for plaintext in opened if plaintext} == {0, 1}
    assert {len(SealedReports.read(body).sealed) for body in world.bodies} == {sealed_width(width - 1, 2)}
    assert {request.url.path.rpartition("/")[2] for request in world.requests if request.method == "POST"} == {"sealed"}


def pinned(fake: Fake, **more: Any) -> dict[str, Any]:
    """What becomes of one device that pins the log of a fake server."""
    options = {"log": fake.server.log, "witnesses": [fake.server.witness]} | more
    return fleet(fake, ["yes"], now=fake.server.now(), options=options)


def test_a_campaign_is_joined_where_it_is_in_the_log() -> None:
    fake = Fake()
    assert pinned(fake) == dict.fromkeys(("recorded", "already_answered", "delivered"), 1) | SETTLED
    asked = {request.path for request in fake.server.requests}
    assert asked >= {f"/v1/campaigns/{fake.campaign}/log-proof", "/v1/log/days"}
    fake.server.lies("log")
    with pytest.raises(AssertionError, match="its entry is about something else"):
        pinned(fake)


def test_without_a_proof_the_policy_decides() -> None:
    fake = Fake()
    fake.server.hold_back_proof()
    with pytest.raises(AssertionError, match="the log proof could not be fetched"):
        pinned(fake)
    assert pinned(fake, logPolicy="prefer")["recorded"] == 1


@pytest.mark.parametrize("gate", [AddressGate(3), HookGate()])
def test_a_report_has_a_token_that_the_issuer_cannot_tell(gate: AddressGate | HookGate) -> None:
    world = Issuing(gate)
    assert fleet(world, ["green"] * 3) == dict.fromkeys(("recorded", "already_answered", "delivered"), 3) | SETTLED
    tokens = [ReportBatch.read(body).payloads[1:] for body in world.bodies]
    for token in tokens:
        check_valid(world, token)
    assert len({token[:16] for token in tokens}) == 3
    # One request for each device: what joining got, answering uses.
    assert len({asked.blinded for asked in world.asked}) == len(world.asked) == 3


def test_after_a_lost_answer_the_same_bytes_ask_for_a_token() -> None:
    world = Issuing()
    world.lost = 1
    assert fleet(world, ["green"])["delivered"] == 1
    first, second = world.asked
    assert first == second


def test_a_token_of_another_key_is_refused() -> None:
    world = Issuing()
    world.evaluates = IssuerKey(7)
    with pytest.raises(AssertionError, match="the issuer's proof does not hold for its key"):
        fleet(world, ["green"])
    assert world.bodies == []
