"""What a shuffler answers: documents that it has checked, and a problem for all that is wrong."""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sordino_client.testing._fake_log import FakeLog
from sordino_shared.protocol import (
    Arm,
    LogEntry,
    Manifest,
    OpenCampaigns,
    PrivacyClaim,
    Problem,
    ReportBatch,
    SealedOutcomes,
    SealedReports,
    Task,
)
from sordino_shared.protocol.log_entries import LoggedKey
from sordino_shuffler.app import read_reports
from sordino_shuffler.documents import read_log
from sordino_shuffler.errors import DocumentRefused
from sordino_shuffler.problems import RequestRefused
from sordino_shuffler.statements import SigningKey
from tests.shuffler.conftest import END, Collecting, LocalShuffler, local_shuffler
from tests.shuffler.small_collector import PART, SmallCollector, true_claims, upload_body
from tests.vectors.strings import STRINGS

pytestmark = pytest.mark.asyncio
WIDTH = PART.randomizer.payload_bytes + 48


def _problem(content: bytes) -> str:
    found: str = json.loads(content)["type"].removeprefix("/problems/")
    return found


async def test_documents_are_those_of_the_collector(shuffler: LocalShuffler, collecting: Collecting):
    async with collecting() as collector:
        base = f"/v1/campaigns/{collector.campaign}"
        assert (await shuffler.ask("GET", base)).content == collector.manifest.content
        assert (await shuffler.ask("GET", f"{base}/task")).content == collector.task.content
        assert (await shuffler.ask("GET", f"/v1/plans/{PART.digest}")).content == PART.content
        assert _problem((await shuffler.ask("GET", f"{base}/signature")).content) == "not-found"
        listed = await shuffler.ask("GET", "/v1/populations/travellers/open")
        assert OpenCampaigns.read(listed.content).campaigns == (collector.campaign,)
        assert OpenCampaigns.read((await shuffler.ask("GET", "/v1/populations/others/open")).content).campaigns == ()
        assert (await shuffler.ask("GET", "/health")).status == 200
        asked = len(collector.requests)
        await shuffler.ask("GET", f"{base}/task")
        assert len(collector.requests) == asked


async def test_a_list_says_that_a_campaign_ended_and_its_number_grows(shuffler: LocalShuffler, collecting: Collecting):
    async with collecting() as collector:
        path = "/v1/populations/travellers/open"
        before = OpenCampaigns.read((await shuffler.ask("GET", path)).content)
        collector.task = collector.signed(2, round=None, accept_until=None)
        await shuffler.refresh()
        after = OpenCampaigns.read((await shuffler.ask("GET", path)).content)
        assert (after.campaigns, after.number > before.number) == ((), True)


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda c: {"signature": bytes(64)}, "not signed by the key"),
        (lambda c: {"number": 0, "signature": None}, "not signed by the key"),
        (lambda c: {"campaign": type(c.campaign)(bytes(32))}, "one of campaign"),
    ],
)
async def test_a_task_that_is_not_the_collectors_is_not_served(
    shuffler: LocalShuffler, collecting: Collecting, spoil: Any, why: str
):
    async with collecting() as collector:
        good = collector.task
        collector.task = replace(collector.signed(2), **spoil(collector))
        await shuffler.refresh()
        assert why in shuffler.troubles(collector)
        answer = await shuffler.ask("GET", f"/v1/campaigns/{collector.campaign}/task")
        assert Task.read(answer.content) == good
        # It is a mistake of the network perhaps: the round goes on.
        assert (await shuffler.upload(collector, collector.sealed())).status == 200


async def test_numbers_of_tasks_neither_fall_nor_repeat(shuffler: LocalShuffler, collecting: Collecting):
    async with collecting() as collector:
        first = collector.task
        collector.task = collector.signed(3)
        await shuffler.refresh()
        served = collector.task.content
        for task, why in ((first, "number 3 was served before"), (collector.signed(3, epoch=1), "two tasks have")):
            collector.task = task
            await shuffler.refresh()
            assert why in shuffler.troubles(collector)
            answer = await shuffler.ask("GET", f"/v1/campaigns/{collector.campaign}/task")
            assert answer.content == served


async def test_a_claim_that_is_smaller_than_the_truth_is_served_by_nobody(
    shuffler: LocalShuffler, collecting: Collecting
):
    true, last = true_claims(30, 500_000_000, 1_000_000_000)
    lie = PrivacyClaim(last.nano_epsilon, int(last.atto_delta * 0.99))
    async with collecting(claims=(true, lie)) as collector:
        assert "proves less" in shuffler.troubles(collector)
        answer = await shuffler.ask("GET", f"/v1/campaigns/{collector.campaign}")
        assert (answer.status, _problem(answer.content)) == (503, "unavailable")
        assert (await shuffler.upload(collector, collector.sealed())).status == 503
        assert (await shuffler.ask("GET", "/health")).status == 503


async def test_a_blanket_of_one_report_less_does_not_prove_the_claims(shuffler: LocalShuffler, collecting: Collecting):
    async with collecting(blanket=29, claims=true_claims(30, 1_000_000_000)) as collector:
        assert "proves less" in shuffler.troubles(collector)


async def test_another_shufflers_campaign_is_refused(shuffler: LocalShuffler):
    stranger = SigningKey(b"\x08" * 32)
    collector = SmallCollector(stranger.public)
    with collector.running() as address:
        shuffler.add(collector, address)
        await shuffler.refresh()
    assert stranger.public.hex() in shuffler.troubles(collector)
    assert shuffler.mirrors[collector.campaign].documents is None


async def test_a_key_of_another_campaign_keeps_the_batch_here(shuffler: LocalShuffler):
    collector = SmallCollector(shuffler.key.public)
    with collector.running() as address:
        shuffler.add(collector, address, key="sdo_shuffler_of_another")
        await shuffler.refresh()
        await shuffler.upload(collector, *(collector.sealed() for _ in range(12)))
        await shuffler.tick(END)
        assert "401 (unauthorized)" in shuffler.troubles(collector)
        assert collector.pages == {}
        # The right key is written into the file of campaigns.
        shuffler.add(collector, address)
        await shuffler.refresh()
        await shuffler.tick(END + 10)
        assert 0 in collector.statements


async def test_a_collector_that_is_down_leaves_devices_served(tmp_path: Path, key: SigningKey):
    collector = SmallCollector(key.public)
    with collector.running() as address, local_shuffler(tmp_path / "folder", key=key) as first:
        first.add(collector, address)
        await first.refresh()
    with local_shuffler(tmp_path / "folder", key=key) as again:
        again.add(collector, address)
        await again.refresh()
        assert "gives no answer" in again.troubles(collector)
        assert (await again.ask("GET", f"/v1/campaigns/{collector.campaign}")).status == 200
        assert (await again.ask("GET", f"/v1/campaigns/{collector.campaign}/task")).status == 200
        assert (await again.upload(collector, collector.sealed())).status == 200


BAD_BODIES = [
    (b"", Problem.MALFORMED_BODY),
    (b"\xff" * 100, Problem.MALFORMED_BODY),
    (SealedOutcomes(1, 0).content, Problem.MALFORMED_BODY),
    (ReportBatch(PART.digest, bytes(16), b"\0").content, Problem.MALFORMED_BODY),
    (SealedReports(bytes(WIDTH + 1), 1).content, Problem.INVALID_REQUEST),
    # One report, and a count of two.
    (SealedReports(bytes(WIDTH), 1).content.replace(b"count\x01", b"count\x02"), Problem.MALFORMED_BODY),
    (SealedReports(bytes(3 * WIDTH + 3), 3).content, Problem.INVALID_REQUEST),
    (bytes(SealedReports.limit + 1), Problem.TOO_LARGE),
]


@pytest.mark.parametrize("number", range(len(BAD_BODIES)))
async def test_a_bad_body_is_a_problem_and_nothing_is_kept(
    shuffler: LocalShuffler, collecting: Collecting, number: int
):
    body, problem = BAD_BODIES[number]
    async with collecting() as collector:
        answer = await shuffler.ask("POST", f"/v1/campaigns/{collector.campaign}/rounds/0/sealed", body)
        assert (answer.status, _problem(answer.content)) == (problem.status, problem.slug)
        assert await shuffler.writer.run(lambda store: store.count(store.rounds()[0])) == 0


async def test_wrong_requests_get_the_problem_that_says_what_is_wrong(shuffler: LocalShuffler, collecting: Collecting):
    async with collecting() as collector:
        base, body = f"/v1/campaigns/{collector.campaign}", upload_body(collector.sealed())
        other = f"/v1/campaigns/{'0' * 64}"
        for method, path, slug in (
            ("POST", f"{base}/rounds/0/reports", "wrong-route"),
            ("POST", f"{base}/rounds/1/sealed", "round-not-open"),
            ("POST", f"{other}/rounds/0/sealed", "not-found"),
            ("GET", f"{base}/rounds/0/sealed", "method-not-allowed"),
            ("POST", base, "method-not-allowed"),
            ("GET", other, "not-found"),
            ("GET", f"/v1/plans/{'0' * 64}", "not-found"),
            ("GET", "/", "not-found"),
            ("GET", f"{base}/status", "not-found"),
            ("GET", "/v1/populations/a\u202eb/open", "invalid-request"),
        ):
            answer = await shuffler.ask(method, path, body)
            assert _problem(answer.content) == slug, path
        for headers in (
            (),
            ((b"content-type", b"text/plain"),),
            ((b"content-type", b"application/cbor"), (b"content-encoding", b"gzip")),
        ):
            answer = await shuffler.ask("POST", f"{base}/rounds/0/sealed", body, headers=headers)
            assert _problem(answer.content) == "unsupported-media-type"


async def test_every_flipped_bit_is_a_report_of_its_own_that_opens_to_nothing(
    shuffler: LocalShuffler, collecting: Collecting
):
    """The shuffler cannot tell; the collector can."""
    async with collecting(floor=1) as collector:
        report = collector.sealed()
        flipped = [
            bytes(byte ^ (1 << bit if place == at else 0) for place, byte in enumerate(report))
            for at in range(0, len(report), 7)
            for bit in range(8)
        ]
        await shuffler.upload(collector, report, *flipped)
        await shuffler.tick(END)
        opened = dict(zip(collector.batch(), collector.opened(), strict=True))
        assert [opened[each] for each in flipped] == [None] * len(flipped)
        assert opened[report] == b"\0"


async def test_addresses_have_a_rate_and_a_forged_header_changes_nothing(tmp_path: Path, key: SigningKey):
    collector = SmallCollector(key.public)
    with collector.running() as address, local_shuffler(tmp_path / "folder", key=key, uploads_per_s=1) as limited:
        limited.add(collector, address)
        await limited.refresh()
        statuses = []
        for number in range(4):
            headers = (
                (b"content-type", b"application/cbor"),
                (b"x-forwarded-for", f"198.51.100.{number}".encode()),
            )
            path = f"/v1/campaigns/{collector.campaign}/rounds/0/sealed"
            answer = await limited.ask("POST", path, upload_body(collector.sealed()), headers=headers)
            statuses.append(answer.status)
        assert statuses == [200, 200, 429, 429]
        assert int(answer.headers[b"retry-after"]) >= 1


async def test_a_body_that_breaks_off_or_is_late_is_answered(
    shuffler: LocalShuffler, collecting: Collecting, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("sordino_shuffler.app._BODY_S", 0.02)
    async with collecting() as collector:
        path = f"/v1/campaigns/{collector.campaign}/rounds/0/sealed"

        async def gone() -> dict[str, Any]:
            return {"type": "http.disconnect"}

        async def late() -> dict[str, Any]:
            await asyncio.sleep(60)
            raise AssertionError("nobody waits so long")

        assert _problem((await shuffler.ask("POST", path, receive=gone)).content) == "malformed-body"
        assert _problem((await shuffler.ask("POST", path, receive=late)).content) == "request-timeout"


@pytest.mark.parametrize("cases", [400, pytest.param(100_000, marks=pytest.mark.slow)])
async def test_no_fuzzed_upload_is_a_mistake_of_the_program(
    shuffler: LocalShuffler, collecting: Collecting, cases: int
):
    chosen = random.Random(cases)
    async with collecting(floor=1) as collector:
        path = f"/v1/campaigns/{collector.campaign}/rounds/0/sealed"
        whole = upload_body(collector.sealed(), collector.sealed())
        for _ in range(cases):
            body = bytearray(whole)
            for _ in range(chosen.randrange(1, 6)):
                place = chosen.randrange(len(body))
                match chosen.randrange(3):
                    case 0:
                        body[place] = chosen.randrange(256)
                    case 1:
                        del body[place : place + chosen.randrange(1, 40)]
                    case _:
                        body[place:place] = chosen.randbytes(chosen.randrange(1, 40))
                if not body:
                    break
            answer = await shuffler.ask("POST", path, bytes(body))
            assert answer.status in (200, 400, 422), answer
        await shuffler.tick(END)
        kept = await shuffler.writer.run(lambda store: store.count(store.rounds()[0]))
        assert kept == len(collector.batch())


async def test_metrics_name_no_campaign_and_no_address(shuffler: LocalShuffler, collecting: Collecting):
    async with collecting() as collector:
        await shuffler.upload(collector, collector.sealed())
        await shuffler.ask("GET", "/nothing")
        counts = shuffler.app._counts
        states = await shuffler.writer.run(lambda store: [row.state for row in store.rounds()])
        text = counts.text(states, 0, shuffler.writer.waiting_bytes)
        assert 'sordino_shuffler_reports_total{outcome="accepted"} 1' in text
        assert 'sordino_shuffler_refused_total{problem="not-found"} 1' in text
        assert 'sordino_shuffler_rounds{state="collecting"} 1' in text
        assert str(collector.campaign) not in text
        assert "192.0.2.1" not in text


async def test_a_manifest_of_another_way_is_refused(shuffler: LocalShuffler, collecting: Collecting):
    from sordino_shared.protocol import DirectRoute

    async with collecting() as collector:
        direct = replace(collector.manifest, route=DirectRoute())
        assert isinstance(direct, Manifest)
        collector.manifest, collector.campaign = direct, direct.campaign
        with collector.running() as address:
            shuffler.add(collector, address)
            await shuffler.refresh()
        assert "has no shuffler" in shuffler.troubles(collector)


async def test_a_manifest_with_what_is_not_built_is_served_to_nobody(shuffler: LocalShuffler, collecting: Collecting):
    async with collecting() as collector:
        unbuilt = replace(collector.manifest, domain=STRINGS, arms=(Arm("A", 1 << 15), Arm("B", 1 << 15)))
        assert isinstance(unbuilt, Manifest)
        collector.manifest, collector.campaign = unbuilt, unbuilt.campaign
        with collector.running() as address:
            shuffler.add(collector, address)
            await shuffler.refresh()
        assert "not built yet in this version: strings in an experiment" in shuffler.troubles(collector)


@pytest.mark.parametrize("width", [49, 81, 255, 256, 257, 0xA700, 0xFFFF, 0x10000, 0xA70000 >> 4])
async def test_one_report_is_read_as_any_number_is(width: int):
    report = random.Random(width).randbytes(width)
    assert read_reports(upload_body(report), width) == [report]
    spoiled = upload_body(report).replace(b"sealed_reports", b"sealed_report_")
    with pytest.raises(RequestRefused):
        read_reports(spoiled, width)


async def test_the_proof_of_the_collectors_log_is_served_with_its_days(
    shuffler: LocalShuffler, collecting: Collecting
) -> None:
    log = FakeLog("https://collector.example")
    async with collecting(log=log) as collector:
        path = f"/v1/campaigns/{collector.campaign}/log-proof"
        for _ in range(2):
            proof, days = await shuffler.ask("GET", path), await shuffler.ask("GET", "/v1/log/days")
            assert {path: proof.content.decode(), "/v1/log/days": days.content.decode()} == collector.log_texts()
            assert proof.headers[b"content-type"] == days.headers[b"content-type"] == b"text/plain; charset=utf-8"
            # The log grows: both change at the next look.
            log.add(LogEntry(collector.created_at, bytes(32), LoggedKey()))
            await shuffler.refresh()
        assert _problem((await shuffler.ask("GET", f"{path}x")).content) == "not-found"
        assert _problem((await shuffler.ask("POST", "/v1/log/days")).content) == "method-not-allowed"


async def test_each_campaign_has_the_days_of_its_own_log(shuffler: LocalShuffler, collecting: Collecting) -> None:
    async with (
        collecting(log=FakeLog("https://one.example")) as one,
        collecting(log=FakeLog("https://two.example")) as two,
        collecting(created_at=7) as none,
    ):
        for collector in (one, two):
            found = await shuffler.ask("GET", f"/v1/log/days?campaign={collector.campaign}")
            assert found.content.decode() == collector.log_texts()["/v1/log/days"]
        for path, slug in (
            ("/v1/log/days", "invalid-request"),
            ("/v1/log/days?campaign=7", "invalid-request"),
            (f"/v1/log/days?campaign={'0' * 64}", "not-found"),
            (f"/v1/log/days?campaign={none.campaign}", "not-found"),
            (f"/v1/campaigns/{none.campaign}/log-proof", "not-found"),
        ):
            assert _problem((await shuffler.ask("GET", path)).content) == slug


async def test_a_proof_that_is_not_the_manifests_is_not_served(shuffler: LocalShuffler, collecting: Collecting) -> None:
    """Devices would refuse it; the operator reads it in the status."""
    async with collecting() as collector:
        other = SmallCollector(shuffler.key.public, created_at=7, log=FakeLog("https://collector.example"))
        texts = [text.encode() for text in other.log_texts().values()]
        with pytest.raises(DocumentRefused, match="about another thing"):
            read_log(texts[0], texts[1], collector.manifest)
        with pytest.raises(DocumentRefused, match="refused"):
            read_log(b"", texts[1], collector.manifest)
        assert read_log(texts[0], texts[1], other.manifest) is not None
        assert other.log is not None
        other.log.add(LogEntry(7, bytes(32), LoggedKey()))
        assert read_log(texts[0], other.log.days().encode(), other.manifest) is None


async def test_a_restarted_shuffler_has_the_proof_while_the_collector_is_down(tmp_path: Path, key: SigningKey) -> None:
    collector = SmallCollector(key.public, log=FakeLog("https://collector.example"))
    with local_shuffler(tmp_path / "folder", key=key) as before, collector.running() as address:
        before.add(collector, address)
        await before.refresh()
    with local_shuffler(tmp_path / "folder", key=key) as after:
        after.add(collector, "http://127.0.0.1:9")
        await after.refresh()
        for path, text in collector.log_texts().items():
            assert (await after.ask("GET", path)).content.decode() == text
