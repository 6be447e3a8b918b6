"""The background work of a collector: follow the home, close what is over, send the sums of closed rounds.

It may be killed at any moment: what was added up and not sent is added up again, to the same bytes, and the home takes
the same document once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from time import monotonic

import structlog
from sqlalchemy.orm import Session

from sordino_analysis.archive.aggregate_document import AggregateDocument
from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning.planning_request import PlanningRequest
from sordino_analysis.progress import ProgressCallback
from sordino_server import rounds
from sordino_server.campaigns.closings import note_closing
from sordino_server.collecting import mirroring, repository, sending
from sordino_server.collecting.home import Home, HomeUnreachable
from sordino_server.collecting.mirroring import Fetched
from sordino_server.config import Collecting, Settings
from sordino_server.jobs.pulse import Pulse
from sordino_server.jobs.worker import Finished, Worker
from sordino_server.kit.clock import ServerClock
from sordino_server.kit.database_errors import DatabaseError
from sordino_server.kit.db import Database
from sordino_server.models import Round
from sordino_server.rounds.round_lifecycle import close_rounds
from sordino_shared.errors import InvalidValue, SordinoError

log = structlog.get_logger(__name__)
_NO_KEY = ""


@dataclass(kw_only=True)
class _Looks:
    """When to look next, by the process's own clock; whose campaign each key is; sums that were made.

    `held` are the keys that were read last. `told` is the trouble with each of them that was logged, and under
    `_NO_KEY` that with reading them.
    """

    next_at: float = 0.0
    held: tuple[str, ...] = ()
    keys: dict[str, str] = field(default_factory=dict)
    made: dict[int, AggregateDocument] = field(default_factory=dict)
    told: dict[str, str] = field(default_factory=dict)

    def forget(self, key: str) -> None:
        """The home was asked with a key in vain: nothing is sent with it until it answers again."""
        self.keys = {campaign: held for campaign, held in self.keys.items() if held != key}

    def hold(self, keys: tuple[str, ...]) -> None:
        """These are the keys from now on."""
        for gone in set(self.held) - set(keys):
            self.forget(gone)
        self.held = keys


@dataclass(frozen=True, kw_only=True)
class Collector(Worker):
    """A worker that plans and estimates nothing; its leases, metrics and retention are those of any worker."""

    home: Home
    collecting: Collecting
    looks: _Looks = field(default_factory=_Looks)

    @classmethod
    def for_home(
        cls,
        home: Home,
        database: Database,
        clock: ServerClock,
        settings: Settings,
        finished: Finished = lambda kind, outcome, seconds: None,
        pulse: Pulse | None = None,
    ) -> Collector:
        """The collector of the settings; raises InvalidValue where they are those of another server."""
        if settings.collecting is None:
            raise InvalidValue("a collector needs SORDINO_COLLECT_FOR and SORDINO_SOURCE, and keys at its home")
        base = Worker.of(database, clock, settings, _no_plans, finished, pulse)
        return cls(**vars(base), home=home, collecting=settings.collecting)

    def step(self) -> bool:
        """Look at the home when it is time to, then do one piece of work, if there is any."""
        if monotonic() >= self.looks.next_at:
            self.looks.next_at = monotonic() + self.settings.collect_every_s
            self.look()
        return self._close_due_rounds() or self._close_silent_rounds() or self._send_a_round()

    def look(self) -> None:
        """Follow the home in every campaign; what fails with one key is told once and tried again the next time."""
        for key in self._read_keys():
            # A home that takes a connection and says nothing keeps no round open beyond its time.
            self._close_due_rounds()
            self.pulse.beat()
            try:
                fetched = mirroring.fetch(self.database, self.home, key, self.collecting.source)
                self.looks.keys[fetched.mirror.campaign] = key
                self.database.run("mirror campaign", partial(self._apply, fetched))
            except DatabaseError:
                raise
            except SordinoError as error:
                self.looks.forget(key)
                self._tell(key, str(error))
            else:
                self._tell(key, "")

    def _read_keys(self) -> tuple[str, ...]:
        """The keys as they are now; those of before while their file cannot be read."""
        try:
            self.looks.hold(self.collecting.keys())
        except InvalidValue as error:
            self._tell(_NO_KEY, str(error))
        else:
            self._tell(_NO_KEY, "")
        return self.looks.held

    def _apply(self, fetched: Fetched, session: Session) -> None:
        mirroring.apply(self.database, session, fetched, self.clock.now())

    def _tell(self, key: str, problem: str) -> None:
        if self.looks.told.get(key, "") != problem:
            shown = log.warning if problem else log.info
            shown("a look at the home failed" if problem else "looks at the home work again", problem=problem)
        if problem:
            self.looks.told[key] = problem
        else:
            self.looks.told.pop(key, None)

    def _close_silent_rounds(self) -> bool:
        """Close what the home may have closed long ago: it said nothing for too long."""
        before = self.clock.now() - self.settings.collect_offline_s
        with self.database.read("find silent rounds") as session:
            found = repository.out_of_touch(session, before)
        closed = close_rounds(self.database, found, self.clock.now(), note_closing)
        for campaign, index in closed:
            log.warning("round closed without its home, which was silent for too long", campaign=campaign, round=index)
        return bool(closed)

    def _send_a_round(self) -> bool:
        """Send the sums of a closed round, of a campaign about which the home answered when it was last asked."""
        keys = self.looks.keys
        if not keys:
            return False
        row = self.database.run("claim round", lambda session: sending.claim(session, list(keys), **self._lease()))
        if row is None:
            return False
        number, sent = row.id, False

        def fail(session: Session, text: str) -> None:
            rounds.mark_failed(session, number, self.owner, text)

        with self._work_on("round", Round, number, fail):
            try:
                self._send(row, keys[row.campaign_id])
                sent = True
            except HomeUnreachable as error:
                self.database.run("give back", lambda session: rounds.give_back(session, number, self.owner))
                self._tell(keys.pop(row.campaign_id), str(error))
        return sent

    def _send(self, row: Round, key: str) -> None:
        sums = self._made(row)
        self.home.send(key, sums)
        now = self.clock.now()
        self.database.run("note sent sums", lambda session: sending.mark_sent(session, row.id, self.owner, sums, now))
        log.info("sums sent", campaign=row.campaign_id, round=row.index, reports=sums.count, digest=str(sums.digest))

    def _made(self, row: Round) -> AggregateDocument:
        """The sums of the round, added up once though sending them may take many tries."""
        if row.id not in self.looks.made:
            processes = self.settings.processes_that_add_up
            made = sending.document_of(self.database, row, self.collecting.source, processes)
            self.looks.made.clear()
            self.looks.made[row.id] = made
        return self.looks.made[row.id]


def _no_plans(request: PlanningRequest, progress: ProgressCallback) -> FinishedPlan:
    raise InvalidValue("a collector computes no plans")
