"""What this process counts and measures, for Prometheus: on a port of its own, no label names a campaign or device."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from sqlalchemy.orm import Session

from sordino_server import plans, rounds
from sordino_server.kit.database_errors import DatabaseError
from sordino_server.kit.db import Database
from sordino_server.reports.ingest import Recorded
from sordino_shared.protocol import ReportOutcomes

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_REPORTS = (1, 4, 16, 64, 256, 1024, 4096)


class Metrics:
    """The figures of one server process; `registry` is what is shown."""

    def __init__(self, database: Database) -> None:
        self.registry = CollectorRegistry()
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
            "Reports by outcome: accepted, replayed, or why refused.",
            ["outcome"],
            registry=self.registry,
        )
        self._commit_seconds = Histogram(
            "sordino_commit_duration_seconds", "Group commits of uploads.", buckets=_SECONDS, registry=self.registry
        )
        self._commit_reports = Histogram(
            "sordino_commit_reports", "Reports judged in one group commit.", buckets=_REPORTS, registry=self.registry
        )
        self._queue = Gauge("sordino_queue_bytes", "Uploads that wait to be written.", registry=self.registry)
        self._counted: dict[tuple[str, str, int], Counter] = {}
        self._timed: dict[str, Histogram] = {}
        self.registry.register(_Stored(database))

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
        """Show what the function says whenever somebody looks."""
        self._queue.set_function(queued_bytes)

    @contextmanager
    def served(self, host: str, port: int) -> Iterator[None]:
        """Show the figures at http://host:port/metrics while the block runs; port 0 shows them nowhere."""
        if port == 0:
            yield
            return
        server, thread = start_http_server(port, host, self.registry)
        try:
            yield
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


class _Stored(Collector):
    """What the database holds, read when somebody looks; nothing while it does not answer."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def collect(self) -> Iterable[GaugeMetricFamily]:
        requests = GaugeMetricFamily("sordino_plan_requests", "Plan requests by state.", labels=["state"])
        opened = GaugeMetricFamily("sordino_rounds", "Rounds by state.", labels=["state"])
        try:
            with self._database.read("metrics") as session:
                counted = self._counts(session)
        except DatabaseError:
            return
        for family, states in zip((requests, opened), counted, strict=True):
            for state, count in states.items():
                family.add_metric([state], count)
            yield family

    @staticmethod
    def _counts(session: Session) -> tuple[Mapping[str, int], Mapping[str, int]]:
        return plans.count_by_state(session), rounds.count_by_state(session)
