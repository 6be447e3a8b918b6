"""What the store promises, on every engine: reports count exactly once, closing is atomic, shards merge exactly."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np
import pytest
from sqlalchemy import Connection, event, func, select

from sordino_analysis.progress import Progress
from sordino_analysis.vectorized.arrays import array_of
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_server import aggregates, models, rounds
from sordino_server.kit.clock import ManualClock
from sordino_server.kit.database_errors import StorageFull, TransactionConflict
from sordino_server.kit.db import FOR_CHANGE, Database
from sordino_server.reports import PlanMismatch, RefusedRequest, ReportWriter, RoundNotOpen, Upload
from sordino_server.reports import repository as reports
from sordino_server.rounds import repository as rounds_repository
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import Digest, Problem, Refusal, RefusedReport, ReportOutcomes
from sordino_shared.randomizers import RandomizedResponse, SeededDirection, SubsetSelection
from tests.patience import PATIENCE_S

ONE = PureEpsilon(10**9)


def upload(stored, reports: dict[int, int], digest: Digest | None = None) -> Upload:
    """Reports by number, each saying a cell."""
    ids = [stored.report_id(number) for number in reports]
    return stored.upload(ids, stored.payloads(*reports.values()), digest)


def counts(database: Database, stored) -> dict[int, int]:
    """Counted reports by cell, from the shards; the log must say the same."""
    total = aggregates.aggregate(database, stored.id, stored.part.randomizer)
    logged = aggregates.re_aggregate(database, stored.id, stored.part.randomizer, total.count)
    assert logged.sums.tobytes() == total.sums.tobytes()
    assert total.count == int(total.sums.sum())
    return {int(cell): int(total.sums[cell]) for cell in np.flatnonzero(total.sums)}


def refusals(database: Database, stored) -> dict[str, int]:
    with database.read() as session:
        return reports.refusals(session, [stored.campaign])[stored.campaign]


def close(database: Database, stored) -> None:
    with database.write("close") as session:
        rounds.close_round(database, session, stored.campaign, 0, 1)


class StoreContract:
    """Subclasses say which engine; every test gets an empty, migrated database."""

    @pytest.fixture
    def url(self) -> str:
        raise NotImplementedError

    @pytest.fixture
    def database(self, url: str) -> Iterator[Database]:
        database = Database(url)
        yield database
        database.close()

    @pytest.fixture
    def writer(self, database: Database) -> Iterator[ReportWriter]:
        writer = ReportWriter(database, ManualClock()).start()
        yield writer
        writer.close()

    def test_new_reports_are_counted_and_kept(self, database, writer, store_round):
        stored = store_round(database)
        assert writer.submit(upload(stored, {1: 10, 2: 10, 3: 11})).result() == ReportOutcomes(3, 0, ())
        assert writer.submit(upload(stored, {4: 10})).result() == ReportOutcomes(1, 0, ())
        assert counts(database, stored) == {10: 3, 11: 1}
        with database.read() as session:
            assert session.scalar(select(func.count()).select_from(models.Report)) == 4
            assert aggregates.counts_by_round(session, [stored.id, 999]) == {stored.id: 4, 999: 0}

    def test_the_same_bytes_are_acknowledged_and_not_counted_again(self, database, writer, store_round):
        stored = store_round(database)
        writer.submit(upload(stored, {1: 10, 2: 11})).result()
        assert writer.submit(upload(stored, {2: 11, 3: 12})).result() == ReportOutcomes(1, 1, ())
        assert writer.submit(upload(stored, {1: 10, 2: 11, 3: 12})).result() == ReportOutcomes(0, 3, ())
        assert counts(database, stored) == {10: 1, 11: 1, 12: 1}
        assert refusals(database, stored) == {}

    def test_other_bytes_under_a_known_id_are_refused_and_counted_as_refused(self, database, writer, store_round):
        stored = store_round(database)
        writer.submit(upload(stored, {1: 10})).result()
        conflict = RefusedReport(1, Refusal.ID_CONFLICT)
        assert writer.submit(upload(stored, {2: 11, 1: 12})).result() == ReportOutcomes(1, 0, (conflict,))
        assert counts(database, stored) == {10: 1, 11: 1}
        assert refusals(database, stored) == {"report-id-conflict": 1}

    def test_within_one_request_the_first_of_an_id_wins(self, database, writer, store_round):
        stored = store_round(database)
        ids = [stored.report_id(number) for number in (1, 1, 1, 2)]
        request = stored.upload(ids, stored.payloads(10, 10, 11, 12))
        conflict = RefusedReport(2, Refusal.ID_CONFLICT)
        assert writer.submit(request).result() == ReportOutcomes(2, 1, (conflict,))
        assert counts(database, stored) == {10: 1, 12: 1}

    def test_across_requests_of_one_transaction_the_first_of_an_id_wins(self, database, store_round):
        stored = store_round(database)
        writer = ReportWriter(database, ManualClock())
        futures = [writer.submit(upload(stored, {1: cell})) for cell in (10, 10, 11)]
        writer.start()
        conflict = RefusedReport(0, Refusal.ID_CONFLICT)
        outcomes = [future.result() for future in futures]
        assert outcomes == [ReportOutcomes(1, 0, ()), ReportOutcomes(0, 1, ()), ReportOutcomes(0, 0, (conflict,))]
        writer.close()
        assert counts(database, stored) == {10: 1}

    def test_the_same_id_counts_once_in_each_round(self, database, writer, store_round):
        first, second = store_round(database), store_round(database)
        for stored in (first, second):
            assert writer.submit(upload(stored, {1: 10})).result().accepted == 1
        assert counts(database, first) == counts(database, second) == {10: 1}

    def test_reports_outside_the_alphabet_or_the_epoch_are_refused_one_by_one(self, database, writer, store_round):
        stored = store_round(database)
        stale = (stored.epoch + 1).to_bytes(2, "big") + bytes(14)
        ids = [stored.report_id(1), stored.report_id(2), stale, stale[:15] + b"x"]
        request = stored.upload(ids, stored.payloads(10, 200, 11, 255))
        outcomes = writer.submit(request).result()
        assert outcomes.accepted == 1
        assert [(refused.index, refused.reason) for refused in outcomes.refused] == [
            (1, Refusal.OUTSIDE_ALPHABET),
            (2, Refusal.WRONG_EPOCH),
            (3, Refusal.WRONG_EPOCH),
        ]
        assert refusals(database, stored) == {"payload-outside-alphabet": 1, "wrong-epoch": 2}
        # What was refused for its content left no trace: the id is free for a right report.
        assert writer.submit(upload(stored, {2: 12})).result().accepted == 1

    def test_epochs_begin_as_reports_are_counted_and_never_end(self, database, writer, store_round, monkeypatch):
        monkeypatch.setattr(rounds_repository, "REPORTS_PER_EPOCH", 3)
        stored = store_round(database)
        with database.write("the last epoch before the first") as session:
            session.get_one(models.Round, stored.id).epoch = 65_535

        def count(epoch: int, number: int) -> int:
            ids = [epoch.to_bytes(2, "big") + number.to_bytes(14, "big")]
            request = stored.upload(ids, stored.payloads(10))
            return writer.submit(request).result().accepted

        def current() -> int:
            with database.read() as session:
                return rounds.current_epoch(session, session.get_one(models.Round, stored.id))

        assert [current(), count(0, 1)] == [65_535, 0]
        assert [count(65_535, number) for number in (1, 2, 3)] == [1, 1, 1]
        assert [current(), count(0, 1), count(1, 1), count(65_534, 1)] == [0, 1, 0, 0]
        assert [count(65_535, 4), count(65_535, 4), count(0, 2)] == [1, 0, 1]
        assert [current(), count(1, 1)] == [1, 1]
        assert refusals(database, stored) == {"wrong-epoch": 3}

    def test_a_round_refuses_reports_before_it_reaches_the_epochs_of_another_server(
        self, database, writer, store_round, monkeypatch
    ):
        monkeypatch.setattr(rounds_repository, "REPORTS_PER_EPOCH", 2)
        stored = store_round(database)
        with database.write("two epochs") as session:
            session.get_one(models.Round, stored.id).epochs = 2

        def outcome(*numbers: int, cell: int = 10, epoch: int = stored.epoch + 1) -> ReportOutcomes:
            ids = [epoch.to_bytes(2, "big") + number.to_bytes(14, "big") for number in numbers]
            return writer.submit(stored.upload(ids, stored.payloads(*[cell] * len(ids)))).result()

        assert outcome(1, 2, epoch=stored.epoch).accepted == 2
        assert outcome(1, 2).accepted == 2
        assert outcome(3, epoch=stored.epoch + 2).refused == (RefusedReport(0, Refusal.WRONG_EPOCH),)
        full = (RefusedReport(1, Refusal.ROUND_FULL),)
        assert outcome(1, 3) == ReportOutcomes(0, 1, full)
        assert outcome(1, cell=11).refused == (RefusedReport(0, Refusal.ID_CONFLICT),)
        assert outcome(4, epoch=stored.epoch).refused == (RefusedReport(0, Refusal.ROUND_FULL),)
        assert counts(database, stored) == {10: 4}
        assert refusals(database, stored) == {"wrong-epoch": 1, "round-full": 2, "report-id-conflict": 1}

    def test_payloads_of_another_width_are_outside_the_alphabet(self, database, writer, store_round):
        stored = store_round(database)
        wide = stored.upload([stored.report_id(1)], np.zeros((1, 2), dtype=np.uint8))
        futures = [writer.submit(wide), writer.submit(upload(stored, {2: 10}))]
        assert [refused.reason for refused in futures[0].result().refused] == [Refusal.OUTSIDE_ALPHABET]
        assert futures[1].result().accepted == 1
        assert counts(database, stored) == {10: 1}

    def test_a_request_for_another_plan_is_refused_whole(self, database, writer, store_round):
        stored = store_round(database)
        with pytest.raises(PlanMismatch):
            writer.submit(upload(stored, {1: 10, 2: 11}, Digest.of(b"other"))).result()
        assert refusals(database, stored) == {"plan-mismatch": 2}
        assert counts(database, stored) == {}

    def test_an_unknown_round_is_not_found(self, database, writer, store_round):
        stored = store_round(database)
        request = upload(stored, {1: 10})
        elsewhere = Upload("0" * 64, 0, request.batch)
        with pytest.raises(rounds.RoundNotFound):
            writer.submit(elsewhere).result()
        assert writer.submit(request).result().accepted == 1

    @pytest.mark.parametrize("state", ["pending", "closed", "cancelled"])
    def test_a_round_that_is_not_open_takes_nothing(self, database, writer, store_round, state):
        stored = store_round(database, state="pending" if state == "pending" else "open")
        with database.write("end") as session:
            if state == "closed":
                rounds.close_round(database, session, stored.campaign, 0, 1)
            elif state == "cancelled":
                rounds.cancel_round(database, session, stored.campaign, 0, 1)
        with pytest.raises(RoundNotOpen) as caught:
            writer.submit(upload(stored, {1: 10, 2: 11, 3: 12})).result()
        assert caught.value.state == state
        assert refusals(database, stored) == {"round-not-open": 3}
        assert counts(database, stored) == {}

    def test_unreadable_requests_are_counted_by_reason(self, database, writer, store_round):
        stored = store_round(database)
        for reason in (Problem.MALFORMED_BODY, Problem.TOO_LARGE, Problem.MALFORMED_BODY):
            writer.refuse(RefusedRequest(stored.campaign, reason)).result()
        writer.refuse(RefusedRequest("0" * 64, Problem.TOO_LARGE)).result()
        assert refusals(database, stored) == {"malformed-body": 2, "too-large": 1}

    def test_twenty_concurrent_uploads_of_one_report_count_once(self, database, store_round):
        stored = store_round(database)
        writers = [ReportWriter(database, ManualClock()).start() for _ in range(4)]
        barrier = threading.Barrier(20)

        def send(number: int) -> ReportOutcomes:
            barrier.wait()
            return writers[number % 4].submit(upload(stored, {1: 10})).result()

        with ThreadPoolExecutor(20) as pool:
            outcomes = list(pool.map(send, range(20)))
        for writer in writers:
            writer.close()
        assert sum(outcome.accepted for outcome in outcomes) == 1
        assert sum(outcome.replayed for outcome in outcomes) == 19
        assert counts(database, stored) == {10: 1}

    def test_writers_that_insert_the_same_ids_in_other_orders_all_finish(self, database, store_round):
        stored = store_round(database, RandomizedResponse.for_guarantee(200, ONE))
        writers = [ReportWriter(database, ManualClock()).start() for _ in range(3)]
        order = np.arange(200)
        futures = []
        for repeat in range(30):
            chosen = np.random.default_rng(repeat).permutation(order)[:60]
            futures.append(writers[repeat % 3].submit(upload(stored, {int(cell): int(cell) for cell in chosen})))
        outcomes = [future.result(timeout=PATIENCE_S) for future in futures]
        for writer in writers:
            writer.close()
        assert sum(outcome.accepted + outcome.replayed for outcome in outcomes) == 30 * 60
        assert max(counts(database, stored).values()) == 1
        assert len(counts(database, stored)) == sum(outcome.accepted for outcome in outcomes)

    def test_a_report_is_in_the_aggregate_or_refused_as_late(self, database, store_round):
        stored = store_round(database)
        writers = [ReportWriter(database, ManualClock()).start() for _ in range(2)]
        first = writers[0].submit(upload(stored, {0: 0}))
        sent = threading.Event()
        futures = {}

        def send() -> None:
            for number in range(1, 200):
                futures[number] = writers[number % 2].submit(upload(stored, {number: number}))
                if number == 20:
                    sent.set()

        sender = threading.Thread(target=send)
        sender.start()
        first.result()
        sent.wait()
        close(database, stored)
        at_close = counts(database, stored)
        sender.join()
        wait(futures.values())
        accepted = {number for number, future in futures.items() if future.exception() is None}
        late = {number for number, future in futures.items() if isinstance(future.exception(), RoundNotOpen)}
        for writer in writers:
            writer.close()
        assert accepted | late == set(range(1, 200))
        assert counts(database, stored) == at_close == dict.fromkeys({0, *accepted}, 1)
        assert refusals(database, stored).get("round-not-open", 0) == len(late)

    def test_closing_waits_for_the_transaction_that_is_adding_reports(self, database, writer, store_round, monkeypatch):
        stored = store_round(database)
        entered, go = threading.Event(), threading.Event()
        add_chunk = aggregates.add_chunk

        def slow(*arguments: object) -> None:
            entered.set()
            assert go.wait(PATIENCE_S)
            add_chunk(*arguments)

        monkeypatch.setattr(aggregates, "add_chunk", slow)
        future = writer.submit(upload(stored, {1: 10}))
        assert entered.wait(PATIENCE_S)
        closing = threading.Thread(target=close, args=(database, stored))
        closing.start()
        closing.join(0.3)
        assert closing.is_alive(), "the round was closed under a transaction that had found it open"
        go.set()
        closing.join()
        assert future.result().accepted == 1
        assert counts(database, stored) == {10: 1}

    def test_reports_that_come_while_a_round_is_being_closed_are_late(self, database, writer, store_round):
        stored = store_round(database)
        with database.write("close") as session:
            rounds.close_round(database, session, stored.campaign, 0, 1)
            future = writer.submit(upload(stored, {1: 10}))
            time.sleep(0.2)
            assert not future.done()
        assert isinstance(future.exception(timeout=PATIENCE_S), RoundNotOpen)
        assert counts(database, stored) == {}

    @pytest.mark.parametrize(
        "randomizer",
        [
            RandomizedResponse.for_guarantee(300, ONE),
            SubsetSelection.for_guarantee(11, 3, ONE),
            SeededDirection(
                60,
                array_of(np.eye(4, dtype=np.int32), "<i4"),
                array_of(np.full(4, SeededDirection.largest_keep_weight(ONE), dtype=np.uint64), "<u8"),
            ),
        ],
        ids=lambda randomizer: randomizer.kind,
    )
    def test_shards_of_two_writers_merge_to_the_bytes_of_the_log(self, database, store_round, randomizer):
        stored = store_round(database, randomizer)
        payloads = randomize_many(randomizer, np.arange(120) % randomizer.size, SeededRandomness(1))
        writers = [ReportWriter(database, ManualClock()).start() for _ in range(2)]
        for number in range(0, 120, 8):
            ids = [stored.report_id(number + offset) for offset in range(8)]
            request = stored.upload(ids, payloads[number : number + 8])
            assert writers[number // 8 % 2].submit(request).result().accepted == 8
        for writer in writers:
            writer.close()
        with database.read() as session:
            assert session.scalar(select(func.count()).select_from(models.Accumulator)) == 2
        whole = aggregates.aggregate(database, stored.id, randomizer)
        steps: list[Progress] = []
        logged = aggregates.re_aggregate(database, stored.id, randomizer, 120, steps.append)
        assert (whole.count, whole.sums.tobytes()) == (120, logged.sums.tobytes())
        assert steps[-1].fraction == 1.0

    def test_a_log_that_was_tampered_with_is_noticed(self, database, writer, store_round):
        stored = store_round(database)
        writer.submit(upload(stored, {1: 10, 2: 11})).result()
        with pytest.raises(aggregates.AggregateMismatch) as caught:
            aggregates.re_aggregate(database, stored.id, stored.part.randomizer, 3)
        assert (caught.value.counted, caught.value.logged) == (3, 2)

    def test_a_failed_transaction_fails_all_its_requests_and_counts_nothing(self, database, store_round, monkeypatch):
        stored = store_round(database)
        writer = ReportWriter(database, ManualClock())
        futures = [writer.submit(upload(stored, {number: number})) for number in range(3)]
        with monkeypatch.context() as broken:
            broken.setattr(aggregates, "put_shard", _full)
            writer.start()
            assert all(isinstance(future.exception(timeout=PATIENCE_S), StorageFull) for future in futures)
        assert counts(database, stored) == {}
        assert writer.submit(upload(stored, {0: 0, 1: 1})).result().accepted == 2
        writer.close()
        assert counts(database, stored) == {0: 1, 1: 1}

    def test_a_transaction_that_is_run_again_after_a_conflict_counts_once(self, database, writer, store_round):
        """The first attempt has done all its work when the engine sacrifices it, the writer's share included."""
        stored = store_round(database)
        assert writer.submit(upload(stored, {1: 10})).result().accepted == 1
        attempts: list[Connection] = []

        def conflict_at_first(connection: Connection) -> None:
            attempts.append(connection)
            if len(attempts) == 1:
                raise TransactionConflict("the transaction lost against others")

        event.listen(database.engine, "commit", conflict_at_first)
        assert writer.submit(upload(stored, {2: 10, 3: 11})).result(timeout=PATIENCE_S).accepted == 2
        assert writer.submit(upload(stored, {3: 11, 4: 12})).result() == ReportOutcomes(1, 1, ())
        assert len(attempts) == 3
        assert counts(database, stored) == {10: 2, 11: 1, 12: 1}

    def test_a_commit_whose_answer_was_lost_is_neither_lost_nor_doubled(self, database, store_round, monkeypatch):
        stored = store_round(database)
        writer = ReportWriter(database, ManualClock()).start()
        assert writer.submit(upload(stored, {1: 10})).result().accepted == 1
        run = database.run

        def commit_then_fail(name, work):
            run(name, work)
            raise StorageFull("the connection broke after the commit")

        with monkeypatch.context() as broken:
            broken.setattr(database, "run", commit_then_fail)
            assert isinstance(writer.submit(upload(stored, {2: 11})).exception(timeout=PATIENCE_S), StorageFull)
        assert writer.submit(upload(stored, {2: 11, 3: 12})).result() == ReportOutcomes(1, 1, ())
        writer.close()
        assert counts(database, stored) == {10: 1, 11: 1, 12: 1}


def _full(*_: object) -> None:
    raise StorageFull("full")


class TestSqliteStore(StoreContract):
    @pytest.fixture
    def url(self, migrated_sqlite_url: str) -> str:
        return migrated_sqlite_url


class TestPostgresStore(StoreContract):
    @pytest.fixture
    def url(self, migrated_postgres_url: str) -> str:
        return migrated_postgres_url

    def test_a_campaign_that_is_being_changed_does_not_block_its_reports(self, database, writer, store_round):
        """Closing waits for the reports of a round: if they waited for the campaign's row, both would wait for ever."""
        stored = store_round(database)
        with database.write("change") as session:
            session.get(models.Campaign, stored.campaign, with_for_update=FOR_CHANGE)
            assert len(writer.submit(upload(stored, {1: 10, 2: 255})).result(timeout=PATIENCE_S).refused) == 1
            rounds.close_round(database, session, stored.campaign, 0, 1)
        assert counts(database, stored) == {10: 1}


class TestOlderPostgresStore(TestPostgresStore):
    @pytest.fixture
    def url(self, migrated_older_postgres_url: str) -> str:
        return migrated_older_postgres_url
