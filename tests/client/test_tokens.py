"""Tokens on the device: one for a round, through lost answers, kills and a server that cheats; none costs ε."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sqlite3
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from sordino_client import AnswerStatus, Client, HttpxTransport, PlanRefused, PlanUnavailable
from sordino_client.backend import LedgerStore
from sordino_client.consent import Telemetry
from sordino_shared.protocol import (
    CBOR_MEDIA_TYPE,
    AccountGate,
    AddressGate,
    CampaignId,
    Digest,
    HookGate,
    Issuer,
    Manifest,
    Problem,
    ReportBatch,
    TokenEvaluations,
    TokenRequest,
    TokenRoute,
)
from sordino_shared.protocol.codec import encode_value
from sordino_shared.protocol.schema import to_plain
from sordino_shared.protocol.tokens import MAX_CREDENTIAL, TOKEN_BYTES, issuer_info, token_of
from sordino_shared.randomness import SystemRandomness
from sordino_shared.tokens import IssuerKey, evaluate, redeem
from tests.client.conftest import ADDRESS, CAPS, World

VECTORS = Path(__file__).parents[1] / "vectors" / "v1" / "good" / "manifest.json"
[SHUFFLED] = [each["hex"] for each in json.loads(VECTORS.read_text())["vectors"] if each["name"] == "shuffled"]


class Issuing(World):
    """A server with an issuer: `asked` has the elements that it evaluated, `lost` how many answers get lost."""

    def __init__(self, gate: Any = AddressGate(3), **manifest: Any) -> None:
        self.key = IssuerKey.derived(bytes(32), issuer_info(0))
        super().__init__(route=TokenRoute(Issuer(gate, (self.key.public,))), **manifest)
        self.asked: list[TokenRequest] = []
        self.lost = 0
        self.problem_of_tokens: Problem | None = None
        self.evaluates = self.key

    def handle(self, request: httpx.Request) -> httpx.Response:
        if not request.url.path.endswith("/tokens"):
            return super().handle(request)
        assert request.headers["content-type"] == CBOR_MEDIA_TYPE
        assert "authorization" not in request.headers
        if self.problem_of_tokens is not None:
            return self.problem(self.problem_of_tokens)
        wanted = TokenRequest.read(request.content)
        self.asked.append(wanted)
        if self.lost:
            self.lost -= 1
            raise httpx.ReadError("the answer was lost")
        return httpx.Response(200, content=self.evaluated(wanted.blinded))

    def evaluated(self, element: bytes) -> bytes:
        [answer], proof = evaluate(self.evaluates, [element], SystemRandomness())
        return TokenEvaluations(answer, proof).content


@pytest.fixture
def world() -> Issuing:
    return Issuing()


def token_in(world: World) -> bytes:
    """The token behind the payload of the one report that came."""
    (body,) = world.bodies
    batch = ReportBatch.read(body)
    assert batch.width == 1 + TOKEN_BYTES
    return batch.payloads[1:]


def check_valid(world: Issuing, token: bytes) -> None:
    assert token == token_of(token[:16], redeem(world.key, token[:16]))


def test_joining_gets_the_token_and_answering_needs_no_issuer(world: Issuing, make_client: Any) -> None:
    client = make_client()
    client.join(world.campaign)
    assert len(world.asked) == 1
    world.problem_of_tokens = Problem.UNAVAILABLE
    assert client.answer(world.campaign, "red").status is AnswerStatus.RECORDED
    assert client.flush(now=True).delivered == 1
    check_valid(world, token_in(world))
    assert client.answer(world.campaign, "blue").status is AnswerStatus.ALREADY_ANSWERED
    assert [each.credential for each in world.asked] == [b""]


def test_a_lost_answer_is_asked_for_again_with_the_same_bytes(world: Issuing, make_client: Any) -> None:
    world.lost = 2
    client = make_client()
    client.join(world.campaign)
    with pytest.raises(PlanUnavailable, match="token could not be fetched"):
        client.answer(world.campaign, "red")
    assert client.account().lifetime_nano == 0
    assert client.answer(world.campaign, "red").status is AnswerStatus.RECORDED
    assert len(world.asked) == 3
    assert len({each.blinded for each in world.asked}) == 1


@pytest.mark.parametrize("problem", [Problem.TOKEN_REFUSED, Problem.RATE_LIMITED, Problem.UNAVAILABLE])
def test_an_issuer_that_gives_none_leaves_the_answer_waiting(
    world: Issuing, make_client: Any, problem: Problem
) -> None:
    world.problem_of_tokens = problem
    client = make_client()
    client.join(world.campaign)
    with pytest.raises(PlanUnavailable) as refused:
        client.answer(world.campaign, "red")
    assert (refused.value.slug, client.account().lifetime_nano) == (problem.slug, 0)
    assert not world.bodies
    world.problem_of_tokens = None
    assert client.answer(world.campaign, "red").status is AnswerStatus.RECORDED


def test_a_key_of_one_device_alone_is_refused(world: Issuing, make_client: Any, ledger: Path) -> None:
    """The server evaluates with a key of its own for this device: its token would tell it from all others."""
    world.evaluates = IssuerKey.derived(bytes(32), b"for one device")
    client = make_client()
    client.join(world.campaign)
    with pytest.raises(PlanRefused, match="proof does not hold"):
        client.answer(world.campaign, "red")
    assert client.account().lifetime_nano == 0
    with sqlite3.connect(ledger) as connection, pytest.raises(sqlite3.IntegrityError, match="tokens are final"):
        connection.execute("UPDATE tokens SET secret = zeroblob(16)")
    world.evaluates = world.key
    assert client.answer(world.campaign, "red").status is AnswerStatus.RECORDED


def test_a_manifest_with_a_key_of_one_device_alone_is_another_campaign(world: Issuing, make_client: Any) -> None:
    own = IssuerKey.derived(bytes(32), b"for one device").public
    world.manifest_content = replace(world.manifest, route=TokenRoute(Issuer(AddressGate(3), (own,)))).content
    with pytest.raises(PlanRefused, match="manifest was refused"):
        make_client().join(world.campaign)


def test_a_ledger_of_format_9_is_brought_up(world: Issuing, make_client: Any, ledger: Path) -> None:
    """Its manifests have no keys of issuers, and its tokens and tasks have one; debits and plain campaigns stay."""
    make_client().join(world.campaign)
    shuffled = Manifest.read(bytes.fromhex(SHUFFLED))
    former = {
        CampaignId(Digest.of(content)): content
        for content in (
            without_issuer(shuffled, {"kind": "shuffled"}),
            without_issuer(world.manifest, {"kind": "direct_with_tokens", "gate": {"kind": "account"}}),
        )
    }
    with sqlite3.connect(ledger) as connection:
        connection.executescript(_FORMAT_9)
        joined = "INSERT INTO campaigns (campaign, manifest, joined_at, origin) VALUES (?, ?, 0, ?)"
        connection.executemany(joined, [(bytes(each), content, ADDRESS) for each, content in former.items()])
        row = bytes(world.campaign), 0, bytes(32), bytes(16), bytes(32)
        connection.execute("INSERT INTO tokens VALUES (?, ?, ?, ?, ?, NULL)", row)
    client = make_client()
    assert {each.campaign for each in client.account().campaigns} == {str(each) for each in (world.campaign, *former)}
    assert client.answer(world.campaign, "red").status is AnswerStatus.RECORDED
    check_valid(world, (client.flush(now=True), token_in(world))[1])


_FORMAT_9 = """
DROP TRIGGER tokens_are_final;
DROP TABLE tokens;
CREATE TABLE tokens (campaign BLOB NOT NULL, round INTEGER NOT NULL, issuer_key BLOB NOT NULL, secret BLOB NOT NULL,
    blind BLOB NOT NULL, token BLOB, PRIMARY KEY (campaign, round));
CREATE TRIGGER tokens_are_final BEFORE UPDATE ON tokens WHEN NEW.issuer_key <> OLD.issuer_key
    BEGIN SELECT RAISE(ABORT, 'tokens are final'); END;
PRAGMA user_version = 9;
"""


def without_issuer(manifest: Manifest, route: dict[str, Any]) -> bytes:
    """The bytes of a manifest of format 9."""
    plain: dict[str, Any] = to_plain(manifest)
    del plain["route"]["issuer"]
    header = {"document": "manifest", "version": 1}
    return encode_value(header | plain | {"route": plain["route"] | route})


@pytest.mark.parametrize("content", [b"", b"<html>", bytes(96)])
def test_an_answer_that_is_none_is_refused(world: Issuing, make_client: Any, content: bytes) -> None:
    world.evaluated = lambda element: content  # type: ignore[method-assign]
    client = make_client()
    client.join(world.campaign)
    with pytest.raises(PlanRefused, match="token was refused"):
        client.answer(world.campaign, "red")
    assert client.account().lifetime_nano == 0


def test_a_hook_gets_the_attestation_of_the_element(make_client: Any) -> None:
    world, seen = Issuing(HookGate()), list[tuple[str, int, bytes]]()

    def attest(campaign: str, index: int, element: bytes) -> bytes:
        seen.append((campaign, index, element))
        return b"attested " + element

    make_client(world, attest=attest).join(world.campaign)
    [wanted] = world.asked
    assert wanted.credential == b"attested " + wanted.blinded
    assert seen == [(str(world.campaign), 0, wanted.blinded)]


@pytest.mark.parametrize("given", [OSError("down"), "text"])
def test_a_function_of_the_app_that_fails_costs_nothing(make_client: Any, given: Any) -> None:
    world, gives = Issuing(AccountGate()), [given, given]

    def issue(campaign: str, index: int, element: bytes) -> Any:
        if not gives:
            return world.evaluated(element)
        wrong = gives.pop()
        if isinstance(wrong, Exception):
            raise wrong
        return wrong

    client = make_client(world, issue=issue)
    client.join(world.campaign)
    with pytest.raises(PlanUnavailable, match=r"issue\(\) of the app"):
        client.answer(world.campaign, "red")
    assert client.answer(world.campaign, "red").status is AnswerStatus.RECORDED
    assert not world.asked


def test_previews_and_dry_runs_ask_for_nothing(world: Issuing, make_client: Any) -> None:
    dry = make_client(dry_run=True, ledger=":memory:")
    dry.join(world.campaign)
    assert dry.answer(world.campaign, "red").status is AnswerStatus.DRY_RUN
    assert not world.asked
    client = make_client()
    client.join(world.campaign)
    preview = client.preview(world.campaign, "red")
    client.answer(world.campaign, "red")
    client.flush(now=True)
    assert (preview.payload_bytes, preview.upload_bytes) == (1, len(world.bodies[0]))
    assert len(world.asked) == 1


def test_leaving_deletes_the_token(world: Issuing, make_client: Any, ledger: Path) -> None:
    client = make_client()
    client.join(world.campaign)
    client.opt_out(world.campaign)
    with sqlite3.connect(ledger) as connection:
        assert connection.execute("SELECT count(*) FROM tokens").fetchone() == (0,)


def test_an_answer_leaves_its_token_in_the_report_alone(world: Issuing, make_client: Any, ledger: Path) -> None:
    """The blind and the secret together would tell which of the issuer's requests the report belongs to."""
    client = make_client()
    client.join(world.campaign)
    with sqlite3.connect(ledger) as connection:
        [(secret, blind, token)] = connection.execute("SELECT secret, blind, token FROM tokens").fetchall()
    assert client.answer(world.campaign, "red").status is AnswerStatus.RECORDED
    assert blind not in ledger.read_bytes()
    assert client.flush(now=True).delivered == 1
    assert (token_in(world), token[:16]) == (token, secret)
    assert client.answer(world.campaign, "red").status is AnswerStatus.ALREADY_ANSWERED
    client.opt_out_all()
    assert secret not in ledger.read_bytes()


def test_a_refresh_gets_the_token_that_joining_did_not(world: Issuing, make_client: Any) -> None:
    """An app that answers without a connection, as `Telemetry` does, has no other time to get it."""
    world.problem_of_tokens = Problem.RATE_LIMITED
    client = make_client()
    client.join(world.campaign)
    world.problem_of_tokens = None
    client._run(client._device.refresh(world.campaign))
    world.problem_of_tokens = Problem.UNAVAILABLE
    assert client.answer(world.campaign, "red").status is AnswerStatus.RECORDED
    assert len(world.asked) == 1


def test_telemetry_asks_for_tokens_as_it_sends_alone(tmp_path: Path) -> None:
    world, called, is_down = Issuing(AccountGate()), list[tuple[str, int]](), [True]
    world.task = replace(world.task, answer_until=int(time.time()) + 86_400)

    def issue(campaign: str, index: int, element: bytes) -> bytes:
        called.append((campaign, index))
        if is_down:
            raise OSError("the backend is down")
        return world.evaluated(element)

    transport = HttpxTransport(ADDRESS, handler=httpx.MockTransport(world.handle))
    telemetry = Telemetry(
        "my-tool", server=ADDRESS, campaigns={"colour": world.campaign}, purpose="Your colour.", caps=CAPS,
        ledger=tmp_path / "ledger", transport=transport, environ={}, terminal=True, issue=issue,
    )  # fmt: skip
    telemetry.turn_on()
    telemetry.send()
    tried = len(called)
    assert set(called) == {(str(world.campaign), 0)}
    is_down.clear()
    # Without its token the answer waits, and no function of the app is called for it.
    assert telemetry.answer("colour", "red") is None
    assert len(called) == tried
    telemetry.send()
    assert len(called) == tried + 1
    answer = telemetry.answer("colour", "red")
    assert answer is not None
    assert answer.status is AnswerStatus.RECORDED
    assert len(called) == tried + 1


def test_an_attestation_that_is_too_long_costs_nothing(make_client: Any) -> None:
    world = Issuing(HookGate())
    client = make_client(world, attest=lambda campaign, index, element: bytes(MAX_CREDENTIAL + 1))
    client.join(world.campaign)
    with pytest.raises(PlanUnavailable, match=r"attest\(\) of the app gives at most 16,384 bytes, not 16,385"):
        client.answer(world.campaign, "red")
    assert client.account().lifetime_nano == 0
    assert not world.asked


def test_stores_of_many_owners_join_no_campaign_with_tokens(world: Issuing, tmp_path: Path) -> None:
    transport = HttpxTransport(ADDRESS, handler=httpx.MockTransport(world.handle))
    made = LedgerStore(tmp_path / "store", server=ADDRESS, caps=CAPS, key=bytes(32), transport=transport)
    with made as store, pytest.raises(PlanRefused, match="without tokens"):
        store.join(world.campaign)


def _killed_at_request(ledger: Path, number: int, told: Any) -> None:
    """A device that is killed as its token request of this number arrives, or just after its answer."""
    world, requests = Issuing(), iter(range(number))

    def handle(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/tokens"):
            told.send_bytes(TokenRequest.read(request.content).blinded)
            if next(requests, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)
        return world.handle(request)

    transport = HttpxTransport(ADDRESS, handler=httpx.MockTransport(handle))
    client = Client(ADDRESS, ledger=ledger, caps=CAPS, transport=transport)
    client.join(world.campaign)
    client.answer(world.campaign, "red")
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_device_that_is_killed_asks_for_the_same_token(tmp_path: Path) -> None:
    ledger, elements, context = tmp_path / "ledger", set[bytes](), multiprocessing.get_context("fork")
    for number in (0, 0, 1):
        received, told = context.Pipe(duplex=False)
        process = context.Process(target=_killed_at_request, args=(ledger, number, told))
        process.start()
        told.close()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        with suppress(EOFError):
            while True:
                elements.add(received.recv_bytes())
    assert len(elements) == 1
    with sqlite3.connect(ledger) as connection:
        assert connection.execute("SELECT count(*) FROM tokens").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM debits").fetchone() == (1,)
