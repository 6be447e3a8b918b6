"""Tokens at a shuffler: devices get theirs by address, the blanket has one each, and no issuer makes it smaller."""

from __future__ import annotations

import pytest

from sordino_shared.protocol import AccountGate, AddressGate, Arm, Gate, HookGate, TokenEvaluations, TokenRequest
from sordino_shared.protocol.tokens import SECRET_BYTES, TOKEN_BYTES, token_of
from sordino_shared.randomness import ShakeRandomness
from sordino_shared.tokens import IssuerKey, blind, finalize, redeem
from sordino_shuffler.store import State
from tests.shuffler.conftest import END, Answered, Collecting, LocalShuffler
from tests.shuffler.small_collector import BLANKET, SmallCollector

pytestmark = pytest.mark.asyncio
OTHER = IssuerKey(8)


def element(number: int) -> bytes:
    return blind(bytes([number]) * SECRET_BYTES, ShakeRandomness(number))[1]


async def ask(shuffler: LocalShuffler, collector: SmallCollector, *asked: bytes, credential: bytes = b"") -> Answered:
    path = f"/v1/campaigns/{collector.campaign}/rounds/0/tokens"
    return await shuffler.ask("POST", path, TokenRequest(b"".join(asked), credential).content)


def slug(answer: Answered) -> tuple[int, str]:
    return answer.status, answer.content.partition(b"/problems/")[2].partition(b'"')[0].decode()


async def fill(shuffler: LocalShuffler, collector: SmallCollector) -> None:
    """The reports of twelve devices, each with a token behind its payload."""
    for number in range(12):
        secret = bytes([number]) * SECRET_BYTES
        shown = token_of(secret, redeem(collector.issuer_key, secret))
        assert (await shuffler.upload(collector, collector.sealed(value=3, token=shown))).status == 200


async def test_an_address_gets_its_tokens_of_a_day(shuffler: LocalShuffler, collecting: Collecting) -> None:
    async with collecting(gate=AddressGate(2)) as collector:
        secret, randomness = bytes(SECRET_BYTES), ShakeRandomness(5)
        scalar, first = blind(secret, randomness)
        answer = TokenEvaluations.read((await ask(shuffler, collector, first)).content)
        public = collector.issuer_key.public
        assert finalize([secret], [scalar], answer.elements(), answer.proof, public)[0] == redeem(IssuerKey(7), secret)
        # A lost answer is asked for again; no element and no credential use up nothing.
        assert (await ask(shuffler, collector, first)).status == 200
        assert slug(await ask(shuffler, collector, bytes(32))) == (422, "invalid-request")
        assert slug(await ask(shuffler, collector, element(1), element(2))) == (422, "invalid-request")
        assert slug(await ask(shuffler, collector, element(1), credential=b"x")) == (422, "invalid-request")
        assert (await ask(shuffler, collector, element(1))).status == 200
        refused = await ask(shuffler, collector, element(2))
        assert slug(refused) == (429, "rate-limited")
        assert 0 < int(refused.headers[b"retry-after"]) <= 86_400
        # The issuer is told elements alone.
        assert {each.credential for each in collector.asked} == {b""}
        assert len(collector.asked) == 3
        shuffler.now[0] = END
        assert slug(await ask(shuffler, collector, first)) == (409, "round-not-open")


@pytest.mark.parametrize(
    ("gate", "credential", "told"),
    [
        (None, b"", (409, "wrong-route")),
        (AccountGate(), b"ada", (409, "wrong-route")),
        # The issuer would take it for that of a random report.
        (HookGate(), b"", (403, "token-refused")),
    ],
)
async def test_what_a_shuffler_passes_to_no_issuer(
    shuffler: LocalShuffler, collecting: Collecting, gate: Gate | None, credential: bytes, told: tuple[int, str]
) -> None:
    async with collecting(gate=gate) as collector:
        assert slug(await ask(shuffler, collector, element(1), credential=credential)) == told
        assert collector.asked == []


async def test_what_the_issuer_says_reaches_the_device(shuffler: LocalShuffler, collecting: Collecting) -> None:
    async with collecting(gate=HookGate()) as collector:
        collector.failures = [(403, "token-refused"), (401, "unauthorized"), (429, "rate-limited")]
        told = [slug(await ask(shuffler, collector, element(1), credential=b"device")) for _ in range(4)]
        assert told == [(403, "token-refused"), (503, "unavailable"), (429, "rate-limited"), (200, "")]
        assert collector.asked[0].credential == b"device"


async def test_each_random_report_has_a_token_of_its_own(shuffler: LocalShuffler, collecting: Collecting) -> None:
    arms = (Arm("A", 32768), Arm("B", 32768))
    async with collecting(gate=AddressGate(5), arms=arms) as collector:
        await fill(shuffler, collector)
        await shuffler.tick(END)
        statement, opened = collector.statements[0], collector.opened()
        assert (statement.received, statement.blanket) == (12, 2 * BLANKET)
        assert [len(each.elements()) for each in collector.asked] == [2 * BLANKET]
        shown = [each[-TOKEN_BYTES:] for each in opened if each is not None]
        assert len(set(shown)) == len(opened) == 12 + 2 * BLANKET
        assert all(token_of(each[:16], redeem(collector.issuer_key, each[:16])) == each for each in shown)


async def test_a_token_of_another_length_than_the_payload_says_is_refused(
    shuffler: LocalShuffler, collecting: Collecting
) -> None:
    async with collecting(gate=AddressGate(5)) as collector:
        assert slug(await shuffler.upload(collector, collector.sealed())) == (422, "invalid-request")
        assert (await shuffler.upload(collector, collector.sealed(token=bytes(TOKEN_BYTES)))).status == 200


@pytest.mark.parametrize("problem", ["token-refused", "round-not-open", "another key"])
async def test_an_issuer_that_gives_no_tokens_for_the_blanket_gets_no_batch(
    shuffler: LocalShuffler, collecting: Collecting, problem: str
) -> None:
    """Without tokens, or with those of a key of their own, random reports could be told from those of devices."""
    async with collecting(gate=AddressGate(5)) as collector:
        await fill(shuffler, collector)
        if problem == "another key":
            collector.issuer_key = OTHER
        else:
            collector.failures = [(409, problem)]
        await shuffler.tick(END)
        row, statement = await shuffler.round(collector), collector.statements[0]
        assert (row.state, statement.ended, statement.reports) == (State.MISSED, "missed", 0)
        assert collector.pages == {}
        await shuffler.rounds.clean()
        assert await shuffler.writer.run(lambda store: store.count(row)) == 0


async def test_an_issuer_that_is_down_gets_the_batch_later(shuffler: LocalShuffler, collecting: Collecting) -> None:
    async with collecting(gate=AddressGate(5)) as collector:
        await fill(shuffler, collector)
        collector.failures = [(503, "unavailable"), (401, "unauthorized")]
        await shuffler.tick(END)
        assert "503 (unavailable)" in shuffler.troubles(collector)
        await shuffler.tick(END + 1)
        assert "401" in shuffler.troubles(collector)
        assert (await shuffler.round(collector)).state is State.COLLECTING
        await shuffler.tick(END + 60)
        assert collector.statements[0].reports == 12 + BLANKET
        assert shuffler.troubles(collector) == ""
