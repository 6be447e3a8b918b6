"""Background work: plans, estimates of closed rounds and releases, each under a lease and each stored once.

A worker may be killed at any moment. Its lease then runs out, another worker takes the row, and whatever the first one
might still store is refused, since every result is stored in a transaction that first checks the lease.

The mathematics of a job is imported by the first job of its kind, so that a worker starts soon.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import Literal, TypedDict

from sqlalchemy.orm import Session

from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning.planning_request import PlanningRequest
from sordino_analysis.progress import ProgressCallback
from sordino_analysis.requests import StoredRequest
from sordino_server import rounds
from sordino_server.campaigns import retention
from sordino_server.campaigns.closings import close_due
from sordino_server.campaigns.retention import OldReports
from sordino_server.config import Settings
from sordino_server.datasets.sealing import sealer_of
from sordino_server.experiments.repository import due as looks_are_due
from sordino_server.jobs.audit_chores import AuditChores
from sordino_server.jobs.pulse import Pulse
from sordino_server.jobs.search_process import SearchKilled, SearchProcess
from sordino_server.jobs.watch import Stopped, Table, Watch
from sordino_server.kit import leases
from sordino_server.kit.clock import ServerClock
from sordino_server.kit.database_errors import DatabaseError
from sordino_server.kit.db import Database
from sordino_server.kit.leases import LeaseLost
from sordino_server.kit.logs import logger
from sordino_server.models import PlanRequestRow, Release, Round, StringSearch
from sordino_server.plans import service as plans
from sordino_server.plans.schemas import PlanOrder
from sordino_server.releases import service as releases
from sordino_server.rounds.round_lifecycle import finish
from sordino_server.shuffled.key_ends import delete_ended_keys
from sordino_server.shuffled.round_keys import RoundKeys
from sordino_server.string_searches import lifecycle as searches
from sordino_server.tokens.ends import forget_ended
from sordino_server.workloads import service as workloads
from sordino_shared.errors import SordinoError

log = logger(__name__)

_RENEWALS_A_LEASE = 3
_PURGE_EVERY_S = 600.0


ComputePlan = Callable[[PlanningRequest, ProgressCallback], FinishedPlan]


# A round goes on to the next one or to its estimate; a purge is of one round's reports.
Kind = Literal["plan", "round", "release", "search", "purge"]
# A job is done or failed permanently; or its lease was lost, the worker was stopped, the database failed: then another
# worker has it, or will.
Outcome = Literal["done", "failed", "lost", "stopped", "interrupted"]
# Hears of every job that ended, with its seconds.
Finished = Callable[[Kind, Outcome, float], None]


class Lease(TypedDict):
    """Who holds a row, from when on and for how long."""

    owner: str
    now: int
    seconds: int


@dataclass(frozen=True, kw_only=True)
class Worker:
    """One worker; `run` it in a process of its own, or `step` it in tests.

    `compute` makes a plan; it reports its progress several times a second, also where nothing is new.
    """

    database: Database
    clock: ServerClock
    settings: Settings
    compute: ComputePlan
    stop: threading.Event
    owner: str
    finished: Finished
    pulse: Pulse
    search: SearchProcess | None
    chores: AuditChores = field(default_factory=AuditChores)

    @classmethod
    def of(
        cls,
        database: Database,
        clock: ServerClock,
        settings: Settings,
        compute: ComputePlan,
        finished: Finished = lambda kind, outcome, seconds: None,
        pulse: Pulse | None = None,
        search: SearchProcess | None = None,
    ) -> Worker:
        """A worker under a name that no other one has; without `search` it searches by itself."""
        return cls(
            database=database,
            clock=clock,
            settings=settings,
            compute=compute,
            stop=threading.Event(),
            owner=uuid.uuid4().hex,
            finished=finished,
            pulse=pulse or Pulse(),
            search=search,
        )

    def run(self) -> None:
        """Work until `stop` is set; a database that fails for a while is waited for."""
        log.info("worker started", owner=self.owner)
        purge_at = monotonic()
        while not self.stop.is_set():
            try:
                worked = self.step()
                self.pulse.beat()
            except DatabaseError as error:
                log.warning("the database failed; the worker tries again", problem=str(error))
                worked = False
            if not worked and monotonic() >= purge_at:
                with self.pulse.beating():
                    self.purge()
                purge_at = monotonic() + _PURGE_EVERY_S
            if not worked:
                self.stop.wait(self.settings.worker_poll_s)
        log.info("worker stopped", owner=self.owner)

    def purge(self) -> None:
        """Delete the reports that are kept no longer, if there is a limit; what fails is tried again the next time."""
        self._delete_ended_keys()
        self._forget_tokens()
        now, begun = self.clock.now(), monotonic()
        self.chores.run(self.database, self.settings.raw_report_retention_days, now, self.pulse.beat)
        try:
            with self.database.read("retention") as session:
                days = retention.days_kept(session, self.settings.raw_report_retention_days)
            for old in () if days is None else retention.old_reports(self.database, days, now):
                self._purge_round(old, now)
        except DatabaseError as error:
            self.finished("purge", "interrupted", monotonic() - begun)
            log.error("reports could not be purged", problem=str(error))

    def _purge_round(self, old: OldReports, now: int) -> None:
        """Delete the reports of a round; what is wrong with it keeps no other round from being purged."""
        begun = monotonic()
        try:
            retention.purge(self.database, old, now)
        except DatabaseError:
            raise
        except SordinoError as error:
            self.finished("purge", "failed", monotonic() - begun)
            log.error("reports could not be purged", campaign=old.campaign, round=old.index, problem=str(error))
            return
        retention.record_purge(self.database, old, now)
        self.finished("purge", "done", monotonic() - begun)
        log.info("reports purged", campaign=old.campaign, round=old.index, reports=old.reports, bytes=old.bytes)

    def step(self) -> bool:
        """Do one piece of work, if there is any; estimates are waited for by people, so they go first."""
        return (
            self._close_due_rounds()
            or self._look_at_experiments()
            or self._estimate_a_round()
            or self._make_a_release()
            or self._compute_a_plan()
            or self._search_strings()
        )

    def _close_due_rounds(self) -> bool:
        now = self.clock.now()
        closed = close_due(self.database, now)
        for campaign, index in closed:
            log.info("round closed by its rule", campaign=campaign, round=index)
        return bool(closed)

    def _look_at_experiments(self) -> bool:
        with self.database.read("are there experiments") as session:
            if not looks_are_due(session, self.clock.now()):
                return False
        from sordino_server.experiments import looking

        made = looking.make_due_looks(self.database, self.clock.now())
        for each in made:
            log.info("look made", campaign=each.campaign, day=each.day)
        return bool(made)

    def _estimate_a_round(self) -> bool:
        row = self.database.run("claim round", lambda session: rounds.claim_closed_round(session, **self._lease()))
        if row is None:
            return False
        number = row.id

        def fail(session: Session, text: str) -> None:
            rounds.mark_failed(session, number, self.owner, text)

        with self._work_on("round", Round, number, fail):
            from sordino_server.jobs.round_outcomes import outcome_of

            watch = self._watch.estimating(number)
            try:
                outcome = outcome_of(self.database, self.settings, self.search, number, self.clock.now(), watch)
            except Stopped:
                self.database.run("give back", lambda session: rounds.give_back(session, number, self.owner))
                raise
            except SearchKilled:
                now = self.clock.now()
                self.database.run("abandon", lambda session: rounds.abandon(session, number, self.owner, now))
                raise
            self.database.run(
                "publish outcome",
                lambda session: finish(self.database, session, number, self.owner, outcome, self.clock.now()),
            )
            log.info("round estimated", campaign=row.campaign_id, round=row.index)
        self._delete_ended_keys()
        self._forget_tokens()
        return True

    def _delete_ended_keys(self) -> None:
        """What nobody opens any more stays sealed; a folder that cannot be changed is tried again the next time."""
        if self.settings.round_keys is None:
            return
        try:
            for campaign in delete_ended_keys(self.database, RoundKeys(self.settings.round_keys), self.clock.now()):
                log.info("key deleted", campaign=campaign)
        except (DatabaseError, OSError) as error:
            log.error("keys could not be deleted", problem=str(error))

    def _forget_tokens(self) -> None:
        """Keys and tokens of rounds that are over; tried again the next time."""
        try:
            for campaign, index in forget_ended(self.database):
                log.info("tokens forgotten", campaign=campaign, round=index)
        except DatabaseError as error:
            log.error("tokens could not be forgotten", problem=str(error))

    def _make_a_release(self) -> bool:
        row = self.database.run("claim release", lambda session: releases.begin(session, **self._lease()))
        if row is None:
            return False
        number = row.id

        def fail(session: Session, text: str) -> None:
            releases.fail(session, number, self.owner, text, self.clock.now())

        with self._work_on("release", Release, number, fail):
            from sordino_server.releases.making import ReleaseTask

            sealer = sealer_of(self.settings.dataset_key)
            task = ReleaseTask(database=self.database, clock=self.clock, sealer=sealer, owner=self.owner)
            try:
                task.make(number, self._stopping(monotonic() + self.settings.planning_time_limit_s))
            except Stopped:
                self.database.run("give back", lambda session: releases.give_back(session, number, self.owner))
                raise
            log.info("released", release=number)
        return True

    def _stopping(self, latest: float) -> Callable[[], bool]:
        """Whether a search ends with what it has; raises `Stopped` where the worker was asked to stop."""

        def stopping() -> bool:
            if self.stop.is_set():
                raise Stopped
            return monotonic() >= latest

        return stopping

    def _compute_a_plan(self) -> bool:
        row = self.database.run("claim plan request", lambda session: plans.begin(session, **self._lease()))
        if row is None:
            return False
        number = row.id

        def fail(session: Session, text: str) -> None:
            plans.fail(session, number, self.owner, text, self.clock.now())

        with self._work_on("plan", PlanRequestRow, number, fail):
            try:
                with self.database.read("read plan request") as session:
                    options = PlanOrder.model_validate_json(row.request).options()
                    question = workloads.get(session, row.workload_id).specification
                plan = self.compute(StoredRequest(question, options), self._watch.planning(number))
            except Stopped:
                self.database.run("give back", lambda session: plans.give_back(session, number, self.owner))
                raise
            self.database.run(
                "publish plan", lambda session: plans.publish(session, number, self.owner, plan, self.clock.now())
            )
            log.info("plan computed", request=number, seconds=plan.summary.seconds)
        return True

    def _search_strings(self) -> bool:
        row = self.database.run("claim search", lambda session: searches.begin(session, **self._lease()))
        if row is None:
            return False
        number = row.id

        def fail(session: Session, text: str) -> None:
            searches.fail(session, number, self.owner, text)

        with self._work_on("search", StringSearch, number, fail):
            from sordino_server.jobs.round_outcomes import paths_of

            try:
                content = paths_of(self.database, self.search, number, self._watch.widening(number))
            except Stopped:
                self.database.run("give back", lambda session: searches.give_back(session, number, self.owner))
                raise
            except SearchKilled:
                self.database.run("abandon", lambda session: searches.abandon(session, number, self.owner))
                raise
            self.database.run("publish", lambda session: searches.publish(session, number, self.owner, content))
        return True

    @property
    def _watch(self) -> Watch:
        return Watch(self.database, self.stop, self.owner)

    @contextmanager
    def _work_on(
        self,
        kind: Kind,
        table: Table,
        key: int | str,
        fail: Callable[[Session, str], None],
    ) -> Iterator[None]:
        """Keep the lease while the block runs; an error of the block becomes the row's, unless it may pass."""
        begun = monotonic()
        outcome: Outcome = "interrupted"
        try:
            with self._renewing(table, key):
                yield
            outcome = "done"
        except Stopped:
            outcome = "stopped"
        except SearchKilled as error:
            log.warning("a search begins again", table=table.__tablename__, key=key, problem=str(error))
        except LeaseLost:
            log.warning(
                "the lease was lost: the request was cancelled, or another worker has it",
                table=table.__tablename__,
                key=key,
            )
            outcome = "lost"
        except DatabaseError:
            raise
        except SordinoError as error:
            outcome = self._end(fail, str(error))
        except Exception as error:
            log.error("bug", table=table.__tablename__, key=key, exc_info=error)
            outcome = self._end(fail, f"the computation failed ({type(error).__name__}); the worker's log says where")
        finally:
            self.finished(kind, outcome, monotonic() - begun)

    def _end(self, fail: Callable[[Session, str], None], text: str) -> Outcome:
        try:
            self.database.run("store failure", lambda session: fail(session, text))
        except LeaseLost:
            log.warning("the lease was lost before the failure was stored", problem=text)
            return "lost"
        return "failed"

    @contextmanager
    def _renewing(self, table: Table, key: int | str) -> Iterator[None]:
        """Renew the lease from a thread until the block ends: a long computation has no moment to do it itself."""
        done = threading.Event()

        def renew() -> None:
            while not done.wait(self.settings.lease_s / _RENEWALS_A_LEASE):
                try:
                    self.database.run("renew lease", lambda session: leases.renew(session, table, key, **self._lease()))
                    self.pulse.beat()
                except LeaseLost:
                    return
                except DatabaseError as error:
                    log.warning("the lease could not be renewed", problem=str(error))

        thread = threading.Thread(target=renew, name="lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _lease(self) -> Lease:
        return {"owner": self.owner, "now": self.clock.now(), "seconds": self.settings.lease_s}
