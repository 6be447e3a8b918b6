"""A round from its first report to the collector: ended by time alone, mixed once, handed on until it is taken."""

from __future__ import annotations

import asyncio
import random
import shutil
import sqlite3
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sordino_shared.protocol import Arm, BatchStatement, Rotating, SealedOutcomes, ValueOf
from sordino_shuffler.errors import StoreOfAnotherVersion
from sordino_shuffler.mixing import KEEP_IDS_S, root_of
from sordino_shuffler.statements import SigningKey
from sordino_shuffler.store import State, Store, StoredRound, id_of
from tests.shuffler.conftest import END, Collecting, LocalShuffler, local_shuffler, stored
from tests.shuffler.small_collector import BLANKET, SmallCollector

pytestmark = pytest.mark.asyncio


async def test_a_batch_holds_every_report_and_the_blanket(shuffler: LocalShuffler, collecting: Collecting):
    async with collecting() as collector:
        reports = [collector.sealed(value=3) for _ in range(20)]
        for report in reports:
            answer = await shuffler.upload(collector, report)
            assert SealedOutcomes.read(answer.content) == SealedOutcomes(1, 0)
        again = await shuffler.upload(collector, *reports)
        assert SealedOutcomes.read(again.content) == SealedOutcomes(0, 20)
        await shuffler.tick(END - 1)
        assert collector.statements == {}
        await shuffler.tick(END)
        statement = collector.statements[0]
        assert (statement.received, statement.blanket, statement.reports) == (20, BLANKET, 20 + BLANKET)
        assert set(reports) <= set(collector.batch())
        opened = collector.opened()
        assert None not in opened
        assert opened.count(b"\x03") >= 20
        assert len({len(report) for report in collector.batch()}) == 1
        assert (await shuffler.round(collector)).state is State.DELIVERED


async def test_each_arm_has_a_blanket_of_its_own(shuffler: LocalShuffler, collecting: Collecting):
    """m of each arm, whatever its weight: the collector reads the arm, and hides a device among reports of it alone."""
    arms = (Arm("A", 60_000), Arm("B", 5_000), Arm("C", 536))
    async with collecting(arms=arms) as collector:
        reports = [collector.sealed(value=3, arm=0) for _ in range(12)]
        await shuffler.upload(collector, *reports)
        await shuffler.tick(END)
        statement = collector.statements[0]
        assert (statement.received, statement.blanket, statement.reports) == (12, 3 * BLANKET, 12 + 3 * BLANKET)
        opened = collector.opened()
        assert None not in opened
        assert Counter(report[0] for report in opened if report) == {0: 12 + BLANKET, 1: BLANKET, 2: BLANKET}
        # One arm and one value in each, and one length for devices' and random ones.
        assert {len(report) for report in opened if report} == {2}
        assert len({len(report) for report in collector.batch()}) == 1


async def test_a_report_without_its_arm_has_the_wrong_length(shuffler: LocalShuffler, collecting: Collecting):
    async with collecting(arms=(Arm("A", 32768), Arm("B", 32768))) as collector:
        report = collector.sealed()
        assert (await shuffler.upload(collector, report[:-1])).status == 422
        assert (await shuffler.upload(collector, report)).status == 200


async def test_uploads_are_answered_while_a_round_is_counted(
    shuffler: LocalShuffler, collecting: Collecting, monkeypatch: pytest.MonkeyPatch
):
    """Ten million reports take seconds; a report that comes between the count and the end is in the batch."""
    import sordino_shuffler.rounds as module

    count, counting, go_on = module.counted, threading.Event(), threading.Event()

    def slow(*given: Any) -> Any:
        found = count(*given)
        counting.set()
        assert go_on.wait(60)
        return found

    monkeypatch.setattr(module, "counted", slow)
    async with collecting() as collector:
        await shuffler.upload(collector, *(collector.sealed() for _ in range(12)))
        ending = asyncio.create_task(shuffler.tick(END))
        assert await asyncio.to_thread(counting.wait, 60)
        # The clock is set back: the round takes reports again, until it is mixed.
        shuffler.now[0] = END - 1
        assert (await asyncio.wait_for(shuffler.upload(collector, collector.sealed()), 60)).status == 200
        go_on.set()
        await ending
        statement = collector.statements[0]
        assert (statement.received, statement.reports) == (13, 13 + BLANKET)
        assert bytes(statement.root) == root_of(map(id_of, collector.batch()))


async def test_a_known_report_is_counted_after_the_end_and_a_new_one_is_not(
    shuffler: LocalShuffler, collecting: Collecting
):
    async with collecting() as collector:
        reports = [collector.sealed() for _ in range(12)]
        await shuffler.upload(collector, *reports)
        await shuffler.tick(END)
        assert (await shuffler.upload(collector, *reports)).status == 200
        late = await shuffler.upload(collector, collector.sealed())
        assert (late.status, b"round-not-open" in late.content) == (409, True)
        await shuffler.tick(END + KEEP_IDS_S)
        await shuffler.rounds.clean()
        assert (await shuffler.upload(collector, *reports)).status == 409


async def test_below_its_floor_a_round_is_deleted_and_says_so_in_tens(shuffler: LocalShuffler, collecting: Collecting):
    async with collecting(floor=30) as collector:
        await shuffler.upload(collector, *(collector.sealed() for _ in range(29)))
        await shuffler.tick(END)
        statement = collector.statements[0]
        assert (statement.ended, statement.received, statement.reports) == ("missed", 20, 0)
        assert collector.pages == {}
        assert await shuffler.writer.run(lambda store: store.count(store.rounds()[0])) == 0


async def test_a_collector_that_is_down_gets_the_same_batch_later(shuffler: LocalShuffler, collecting: Collecting):
    async with collecting() as collector:
        await shuffler.upload(collector, *(collector.sealed() for _ in range(12)))
        collector.failures = [(503, "unavailable"), (401, "unauthorized")]
        await shuffler.tick(END)
        assert "503 (unavailable)" in shuffler.troubles(collector)
        mixed = await shuffler.round(collector)
        assert mixed.state is State.MIXED
        # Not before its time, and then again and again.
        await shuffler.tick(END + 0.5)
        assert len(collector.failures) == 1
        await shuffler.tick(END + 1)
        assert "401" in shuffler.troubles(collector)
        await shuffler.tick(END + 86_400)
        assert collector.statements[0].content == mixed.statement
        assert shuffler.troubles(collector) == ""


async def test_a_collector_that_is_away_until_a_day_after_the_end_gets_the_batch_of_that_end(
    tmp_path: Path, key: SigningKey
):
    """Nothing listens at its address meanwhile, the shuffler is started again, and the round takes nothing new."""
    collector = SmallCollector(key.public)
    folder, reports = tmp_path / "folder", [collector.sealed() for _ in range(12)]
    with collector.running() as address, local_shuffler(folder, key=key) as first:
        first.add(collector, address)
        await first.refresh()
        await first.upload(collector, *reports)
    for at in (END, END + 43_200):
        with local_shuffler(folder, key=key) as away:
            away.add(collector, address)
            away.now[0] = at
            await away.refresh()
            await away.tick()
            assert "gives no answer" in away.troubles(collector)
            assert (await away.upload(collector, *reports)).status == 200
            assert (await away.upload(collector, collector.sealed())).status == 409
            mixed = await away.round(collector)
            assert mixed.state is State.MIXED
    assert not collector.pages
    with collector.running(int(address.rpartition(":")[2])), local_shuffler(folder, key=key) as back:
        back.add(collector, address)
        back.now[0] = END + 86_400
        await back.refresh()
        await back.tick()
        assert (await back.round(collector)).state is State.DELIVERED
    assert collector.statements[0].content == mixed.statement
    assert collector.statements[0].received == 12
    assert set(reports) < set(collector.batch())
    assert None not in collector.opened()


async def test_two_campaigns_whose_manifests_name_one_key_have_a_batch_each(
    shuffler: LocalShuffler, collecting: Collecting
):
    """What is sealed for the one and sent to the other is in that one's batch, where it opens to nothing."""
    async with collecting(created_at=1) as one, collecting(created_at=2, secrets=one.secrets) as other:
        assert one.campaign != other.campaign
        assert one.manifest.route == other.manifest.route
        stray = one.sealed()
        await shuffler.upload(one, *(one.sealed() for _ in range(12)))
        await shuffler.upload(other, stray, *(other.sealed() for _ in range(10)))
        await shuffler.tick(END)
        assert one.statements[0].received == 12
        assert None not in one.opened()
        assert other.statements[0].received == 11
        unopened = [report for report, payload in zip(other.batch(), other.opened(), strict=True) if payload is None]
        assert unopened == [stray]
        assert not set(one.batch()) & set(other.batch())


async def test_a_round_that_the_collector_wants_no_more_is_not_stated_for_ever(
    shuffler: LocalShuffler, collecting: Collecting
):
    """It was cancelled there, or is a period after the end of its series."""
    async with collecting() as collector:
        await shuffler.upload(collector, collector.sealed())
        collector.failures[:] = [(409, "illegal-transition")]
        await shuffler.tick(END)
        row = await shuffler.round(collector)
        assert (row.state, row.stated, collector.failures) == (State.MISSED, True, [])
        assert shuffler.troubles(collector) == ""


async def test_a_batch_that_the_collector_will_never_take_is_deleted(shuffler: LocalShuffler, collecting: Collecting):
    """Its round was cancelled there after the batch was mixed: trying again every ten minutes would last for ever."""
    async with collecting() as collector:
        await shuffler.upload(collector, *(collector.sealed() for _ in range(12)))
        collector.failures[:] = [(409, "illegal-transition")] * 2
        await shuffler.tick(END)
        row = await shuffler.round(collector)
        assert (row.state, row.stated, collector.failures) == (State.MISSED, True, [])
        assert row.statement is not None
        assert BatchStatement.read(row.statement).ended == "abandoned"
        assert await shuffler.writer.run(lambda store: store.count(row)) == 0
        assert shuffler.troubles(collector) == ""


async def test_another_batch_at_the_collector_is_tried_again_in_an_hour_only(
    shuffler: LocalShuffler, collecting: Collecting
):
    async with collecting() as collector:
        await shuffler.upload(collector, *(collector.sealed() for _ in range(12)))
        collector.failures = [(409, "batch-conflict")]
        await shuffler.tick(END)
        asked = len(collector.requests)
        await shuffler.tick(END + 3599)
        assert len(collector.requests) == asked
        await shuffler.tick(END + 3600)
        assert 0 in collector.statements


async def test_pages_go_on_where_they_broke_off(
    shuffler: LocalShuffler, collecting: Collecting, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("sordino_shuffler.rounds._MOST_OF_PAGE", 8)
    async with collecting() as collector:
        await shuffler.upload(collector, *(collector.sealed() for _ in range(20)))
        # The third page is taken, and its answer lost.
        take = collector.take_page
        lost: list[int] = []

        def losing(number: int, index: int, content: bytes, key: str | None) -> tuple[int, str]:
            taken = take(number, index, content, key)
            if index == 2 and not lost:
                lost.append(index)
                return 500, "internal-error"
            return taken

        monkeypatch.setattr(collector, "take_page", losing)
        await shuffler.tick(END)
        assert len(collector.pages[0]) == 3
        await shuffler.tick(END + 10)
        assert [len(page.reports()) for page in collector.pages[0].values()] == [8] * 6 + [2]
        pushed = [request.rpartition("/")[2] for request in collector.requests if request.startswith("POST")]
        assert pushed == ["0", "1", "2", "2", "3", "4", "5", "6"]
        assert 0 in collector.statements


async def test_a_process_that_ends_while_it_forgets_goes_on_and_sends_nothing_again(
    shuffler: LocalShuffler, collecting: Collecting, monkeypatch: pytest.MonkeyPatch
):
    import sordino_shuffler.rounds as module

    monkeypatch.setattr(module, "SLICE", 16)
    forget, allowed = Store.forget_bodies, [True, False]

    def failing(store: Store, row: StoredRound, after: bytes, size: int) -> bytes | None:
        if allowed and not allowed.pop(0):
            raise sqlite3.OperationalError("disk I/O error")
        return forget(store, row, after, size)

    monkeypatch.setattr(Store, "forget_bodies", failing)
    async with collecting() as collector:
        await shuffler.upload(collector, *(collector.sealed() for _ in range(12)))
        await shuffler.tick(END)
        row = await shuffler.round(collector)
        assert row.state is State.MIXED
        bodies = await shuffler.writer.run(lambda store: [body for _, body in store.page(row, None, 100)])
        assert [body is None for body in bodies] == [True] * 16 + [False] * (12 + BLANKET - 16)
        sent = len(collector.requests)
        await shuffler.tick(END + 60)
        assert (await shuffler.round(collector)).state is State.DELIVERED
        # The statement once more, and no page.
        assert [each.partition(" ")[0] for each in collector.requests[sent:]] == ["PUT"]
        assert not any(body for _, body in await shuffler.writer.run(lambda store: store.page(row, None, 100)))
        assert len(collector.batch()) == 12 + BLANKET


@pytest.mark.parametrize("when", ["collecting", "mixed"])
async def test_a_folder_restored_to_before_it_mixed_sends_no_page(tmp_path: Path, key: SigningKey, when: str):
    """A second batch of the round would have other blanket reports: what both have in common is the devices'."""
    collector = SmallCollector(key.public)
    with collector.running() as address:
        with local_shuffler(tmp_path / "folder", key=key, released=tmp_path / "released") as first:
            first.add(collector, address)
            await first.refresh()
            await first.upload(collector, *(collector.sealed() for _ in range(15)))
            await first.rounds.clean()
            shutil.copytree(tmp_path / "folder", tmp_path / "copy")
            if when == "mixed":
                # The copy mixes before it knows of the first batch.
                store = stored(tmp_path / "copy")
                store._connection.execute("UPDATE rounds SET ends_at = 1")
                store.close()
                other = tmp_path / "elsewhere"
                with local_shuffler(tmp_path / "copy", key=key, released=other) as twin:
                    collector.failures = [(503, "unavailable")]
                    twin.add(collector, address)
                    await twin.refresh()
                    await twin.tick(END)
                    assert (await twin.round(collector)).state is State.MIXED
            await first.tick(END)
            assert 0 in collector.statements
        sent = dict(collector.pages[0])
        collector.statements.clear()
        with local_shuffler(tmp_path / "copy", key=key, released=tmp_path / "released") as restored:
            restored.add(collector, address)
            await restored.refresh()
            await restored.tick(END + 86_400)
            await restored.tick(END + 2 * 86_400)
            row = await restored.round(collector)
            assert row.state is State.MISSED
            assert await restored.writer.run(lambda store: store.count(row)) == 0
        assert collector.pages[0] == sent
        assert collector.statements[0].reports == 0


async def test_a_plan_changed_in_mid_round_gives_the_round_up(shuffler: LocalShuffler, collecting: Collecting):
    async with collecting() as collector:
        await shuffler.upload(collector, *(collector.sealed() for _ in range(15)))
        good = collector.task
        collector.task = collector.signed(2, device_parts=(type(good.device_parts[0])(b"\x01" * 32),))
        await shuffler.refresh()
        assert "another plan" in shuffler.troubles(collector)
        served = await shuffler.ask("GET", f"/v1/campaigns/{collector.campaign}/task")
        assert served.content == good.content
        assert (await shuffler.upload(collector, collector.sealed())).status == 409
        await shuffler.tick()
        assert collector.statements[0].ended == "missed"
        await shuffler.tick(END)
        assert collector.pages == {}


async def test_an_end_that_is_moved_gives_the_round_up(shuffler: LocalShuffler, collecting: Collecting):
    async with collecting() as collector:
        collector.task = collector.signed(2, accept_until=END - 50)
        await shuffler.refresh()
        assert (await shuffler.round(collector)).state is State.MISSED


async def test_periods_of_a_series_end_one_by_one(shuffler: LocalShuffler, collecting: Collecting):
    law = Rotating(
        start=END - 100, period_s=50, slots=1, answers_max=4, value_of=ValueOf.CURRENT, late_s=10, replaces=None
    )
    async with collecting(law=law, end=None) as collector:
        await shuffler.tick()
        for number in (0, 1):
            at = law.period(number).start
            await shuffler.tick(at)
            answer = await shuffler.upload(collector, *(collector.sealed(number) for _ in range(12)), number=number)
            assert answer.status == 200
        assert (await shuffler.upload(collector, collector.sealed(9), number=9)).status == 409
        await shuffler.tick(law.accepted_until(0))
        assert list(collector.statements) == [0]
        # The shuffler did not run for a while: each period that passed gets its statement.
        await shuffler.tick(law.accepted_until(5))
        assert {number: each.ended for number, each in collector.statements.items()} == {
            0: "time",
            1: "time",
            **dict.fromkeys((2, 3, 4, 5), "missed"),
        }
        assert None not in collector.opened(1)
        assert len(collector.opened(1)) == 12 + BLANKET


async def test_a_full_disk_at_the_end_makes_the_round_wait_and_loses_nothing(
    shuffler: LocalShuffler, collecting: Collecting, monkeypatch: pytest.MonkeyPatch
):
    async with collecting() as collector:
        await shuffler.upload(collector, *(collector.sealed() for _ in range(12)))
        drawn: list[int] = []

        def full(*_: object) -> None:
            drawn.append(1)
            raise sqlite3.OperationalError("database or disk is full")

        monkeypatch.setattr("sordino_shuffler.rounds.mix", full)
        for seconds in (0, 1, 30, 59):
            await shuffler.tick(END + seconds)
        assert drawn == [1]
        assert (await shuffler.round(collector)).state is State.COLLECTING
        monkeypatch.undo()
        # The clock is set back by a year and forward again: the round goes on.
        shuffler.now[0] = END - 86_400 * 365
        await shuffler.tick()
        await shuffler.tick(END + 60)
        assert collector.statements[0].received == 12


async def test_a_store_that_cannot_be_opened_makes_the_round_wait(
    shuffler: LocalShuffler, collecting: Collecting, monkeypatch: pytest.MonkeyPatch
):
    """What counts a round opens the file for itself, and says of a bad disk that it is no store."""
    async with collecting() as collector:
        await shuffler.upload(collector, *(collector.sealed() for _ in range(12)))
        tried: list[int] = []

        def broken(path: Path, _: object) -> None:
            tried.append(1)
            raise StoreOfAnotherVersion(path, "disk I/O error")

        monkeypatch.setattr("sordino_shuffler.rounds.apart", broken)
        for seconds in (0, 1, 30, 59):
            await shuffler.tick(END + seconds)
        assert tried == [1]
        monkeypatch.undo()
        await shuffler.tick(END + 60)
        assert collector.statements[0].received == 12


@pytest.mark.parametrize("seed", range(3))
async def test_whatever_happens_each_report_is_in_the_batch_once(tmp_path: Path, key: SigningKey, seed: int):
    """Devices post and repeat, the shuffler restarts, the collector fails, pages are lost, in any order."""
    chosen = random.Random(seed)
    collector = SmallCollector(key.public, floor=5)
    posted: list[bytes] = []
    with collector.running() as address:
        for life in range(6):
            with local_shuffler(tmp_path / "folder", key=key, released=tmp_path / "released") as shuffler:
                shuffler.add(collector, address)
                await shuffler.refresh()
                for _ in range(12):
                    at = END + (life - 3) * 1000 + chosen.randrange(1000)
                    match chosen.randrange(5):
                        case 0 | 1:
                            report = collector.sealed()
                            shuffler.now[0] = at
                            answer = await shuffler.upload(collector, report)
                            if answer.status == 200:
                                posted.append(report)
                            else:
                                assert at >= END or 0 in collector.statements
                        case 2 if posted:
                            answer = await shuffler.upload(collector, *chosen.choices(posted, k=3))
                            assert SealedOutcomes.read(answer.content) == SealedOutcomes(0, 3)
                        case 3:
                            collector.failures += [chosen.choice(((500, "internal-error"), (503, "unavailable")))]
                        case _:
                            await shuffler.tick(at)
                await shuffler.rounds.stop()
        collector.failures.clear()
        with local_shuffler(tmp_path / "folder", key=key, released=tmp_path / "released") as shuffler:
            shuffler.add(collector, address)
            await shuffler.refresh()
            await shuffler.tick(END + 86_400)
            batch, statement = collector.batch(), collector.statements[0]
            assert len(batch) == len(set(batch)) == statement.reports
            assert statement.ended == "time"
            assert set(posted) <= set(batch)
            assert len(batch) == len(posted) + BLANKET
            assert None not in collector.opened()
