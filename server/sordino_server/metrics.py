"""What a process counts and measures, for Prometheus: on a port of its own, no label names a campaign or a device."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import sleep

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector
from sqlalchemy.orm import Session

from sordino_server import __version__, aggregates, keys, plans, releases, rounds
from sordino_server.campaigns import retention
from sordino_server.config import Retention
from sordino_server.kit.clock import ServerClock, WallClock
from sordino_server.kit.database_errors import DatabaseError
from sordino_server.kit.db import Database
from sordino_server.kit.logs import logger
from sordino_server.kit.single_flight import SingleFlight
from sordino_server.reports.ingest import Recorded
from sordino_server.shuffled import repository as shuffled
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import ReportOutcomes

log = logger(__name__)
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
# Scrapers usually give up after ten seconds and then have no metric at all.
_STORED_WITHIN_S = 2.0
_WRITE_EVERY_S = 1.0
# Where this is set when prometheus_client is imported, processes keep their figures in files of this folder.
MULTIPROCESS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
_REPORTS = (1, 4, 16, 64, 256, 1024, 4096)


class MetricsRegistry:
    """What every process shows: `registry`, with what the database holds in it."""

    def __init__(self, database: Database, clock: ServerClock | None = None, kept: Retention = "forever") -> None:
        self.registry = CollectorRegistry()
        self.registry.register(_Stored(database, clock or WallClock(), kept))
        self.registry.register(_Build())

    @contextmanager
    def served(self, host: str, port: int) -> Iterator[None]:
        """Serve the metrics at http://host:port/metrics while the block runs; port 0 disables it.

        Raises InvalidValue where the port cannot be had.
        """
        if port == 0:
            yield
            return
        try:
            server, thread = start_http_server(port, host, self.registry)
        except OSError as error:
            raise InvalidValue(
                f"metrics cannot be served on port {port} of {host}: {error.strerror}; choose another port", port
            ) from error
        # By itself it prints a traceback, with the scraper's address.
        vars(server)["handle_error"] = _note_failed_scrape
        try:
            yield
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def _note_failed_scrape(*_: object) -> None:
    error = sys.exc_info()[0]
    log.info("a scrape of the metrics broke off", error=None if error is None else error.__name__)


class MergedMetrics(MetricsRegistry):
    """The metrics of several server processes that share `folder`; a counter never falls when one of them dies."""

    def __init__(self, database: Database, folder: str, kept: Retention = "forever") -> None:
        super().__init__(database, kept=kept)
        self._folder = folder
        MultiProcessCollector(self.registry, path=folder)  # type: ignore[no-untyped-call]  # it has no types

    def forget(self, process: int) -> None:
        """Leave out what a process that died had at that moment, such as its queue; what it counted stays."""
        mark_process_dead(process, self._folder)  # type: ignore[no-untyped-call]  # it has no types


class Metrics(MetricsRegistry):
    """The metrics of one server process."""

    def __init__(self, database: Database, clock: ServerClock | None = None, kept: Retention = "forever") -> None:
        super().__init__(database, clock, kept)
        self._requests = Counter(
            "sordino_http_requests", "Answered requests.", ["method", "route", "status"], registry=self.registry
        )
        self._seconds = Histogram(
            "sordino_http_request_duration_seconds",
            "From the head of a request to the end of its answer.",
            ["route"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._reports = Counter(
            "sordino_reports",
            "Reports by outcome: accepted, replayed, or why refused; an upload refused unread counts as one.",
            ["outcome"],
            registry=self.registry,
        )
        self._commit_seconds = Histogram(
            "sordino_commit_duration_seconds", "Group commits of uploads.", buckets=_SECONDS, registry=self.registry
        )
        self._commit_reports = Histogram(
            "sordino_commit_reports",
            "Reports in one group commit.",
            buckets=_REPORTS,
            registry=self.registry,
        )
        self._queue = Gauge(
            "sordino_queue_bytes",
            "Uploads that wait to be written.",
            registry=self.registry,
            multiprocess_mode="livesum",
        )
        connections = connections_gauge(self.registry)
        self._watched = [(connections.labels(state), value) for state, value in pool_readings(database).items()]
        self._counted: dict[tuple[str, str, int], Counter] = {}
        self._timed: dict[str, Histogram] = {}

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        # Looking a child up by its labels costs several times as much as counting.
        count = self._counted.get((method, route, status))
        if count is None:
            count = self._counted[method, route, status] = self._requests.labels(method, route, status)
        timed = self._timed.get(route)
        if timed is None:
            timed = self._timed[route] = self._seconds.labels(route)
        count.inc()
        timed.observe(seconds)

    def committed(self, recorded: Recorded, seconds: float) -> None:
        """Count what a group commit has recorded."""
        outcomes = [answer for answer in recorded.answers.values() if isinstance(answer, ReportOutcomes)]
        accepted, replayed = sum(each.accepted for each in outcomes), sum(each.replayed for each in outcomes)
        self._reports.labels("accepted").inc(accepted)
        self._reports.labels("replayed").inc(replayed)
        for (_, reason), count in recorded.refusals.items():
            self._reports.labels(reason).inc(count)
        self._commit_reports.observe(accepted + replayed + sum(recorded.refusals.values()))
        self._commit_seconds.observe(seconds)

    def watch_queue(self, queued_bytes: Callable[[], int]) -> None:
        """Show what waits, and the connections, at each scrape; among several processes, as of the last second."""
        watched = [*self._watched, (self._queue, queued_bytes)]
        if MULTIPROCESS_FOLDER not in os.environ:
            for gauge, value in watched:
                gauge.set_function(value)
            return
        threading.Thread(target=_write, args=(watched,), name="watched metrics", daemon=True).start()


def _write(watched: Sequence[tuple[Gauge, Callable[[], float]]]) -> None:
    while True:
        for gauge, value in watched:
            gauge.set(value())
        sleep(_WRITE_EVERY_S)


def connections_gauge(registry: CollectorRegistry) -> Gauge:
    """The connections of a process to its database, by what they are."""
    return Gauge(
        "sordino_database_connections",
        "Connections to the database: in use, and the most that there may be.",
        ["state"],
        registry=registry,
        multiprocess_mode="livesum",
    )


def pool_readings(database: Database) -> dict[str, Callable[[], float]]:
    """How many connections are in use, and how many may be, as of when a function is called."""
    return {"in_use": lambda: float(database.connections_in_use), "limit": lambda: float(database.connections)}


class _Stored(Collector):
    """What the database holds, read when somebody looks; nothing while it does not answer in time."""

    def __init__(self, database: Database, clock: ServerClock, kept: Retention) -> None:
        self._database = database
        self._clock = clock
        self._kept = kept
        self._reading: SingleFlight[list[GaugeMetricFamily]] = SingleFlight()

    def collect(self) -> Iterable[GaugeMetricFamily]:
        try:
            return self._reading.outcome(self._read).result(_STORED_WITHIN_S)
        except (DatabaseError, TimeoutError):
            return ()

    def _read(self) -> list[GaugeMetricFamily]:
        now = self._clock.now()
        with self._database.read("metrics") as session:
            waiting = {
                "plan": plans.oldest_waiting(session, now),
                "release": releases.oldest_waiting(session, now),
                "round": rounds.oldest_waiting(session, now),
            }
            return [
                _gauge("sordino_plan_requests", "Plan requests by state.", "state", plans.count_by_state(session)),
                _gauge("sordino_rounds", "Rounds by state.", "state", rounds.count_by_state(session)),
                _gauge("sordino_batches", "Batches of shufflers by state.", "state", shuffled.count_by_state(session)),
                _gauge(
                    "sordino_batch_reports",
                    "Reports of counted batches: devices and random by the shufflers' statements, and those refused.",
                    "kind",
                    shuffled.reports_by_kind(session),
                ),
                _number(
                    "sordino_oldest_missing_batch_age_seconds",
                    "Since the oldest round closed whose shuffler has not handed on its batch; 0 if there is none.",
                    0 if (since := shuffled.oldest_missing(session)) is None else max(now - since, 0),
                ),
                _gauge(
                    "sordino_oldest_waiting_job_age_seconds",
                    "Since the oldest job that nobody works on could be begun; 0 if there is none.",
                    "kind",
                    {kind: 0 if since is None else max(now - since, 0) for kind, since in waiting.items()},
                ),
                _number(
                    "sordino_keys_ending",
                    "Keys of people in use that end within 30 days.",
                    len(keys.ending_before(session, now, now + keys.WARNED_S)),
                ),
                _number(
                    "sordino_rounds_overdue_for_purge",
                    "Rounds whose reports should have been deleted an hour ago or before.",
                    retention.overdue(session, self._kept, now),
                ),
                _number(
                    "sordino_last_report_age_seconds",
                    "Since the last report came that is in the log; left out where there is none.",
                    None if (last := aggregates.newest_at(session)) is None else max(now - last, 0),
                ),
                _gauge(
                    "sordino_database_bytes",
                    "Disk of the whole database, and of ids and log of reports where the engine can say.",
                    "kind",
                    {"all": self._database.bytes_on_disk(session)} | self._log(session),
                ),
            ]

    def _log(self, session: Session) -> dict[str, int]:
        return {} if self._database.is_sqlite else {"log": aggregates.bytes_on_disk(session)}


class _Build(Collector):
    """Which software this process is."""

    def collect(self) -> Iterable[GaugeMetricFamily]:
        return (_gauge("sordino_build_info", "1, with the version of the software.", "version", {__version__: 1}),)


def _number(name: str, description: str, value: int | None) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, description, value=value)


def _gauge(name: str, description: str, label: str, values: Mapping[str, int]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, description, labels=[label])
    for value, count in values.items():
        family.add_metric([value], count)
    return family
