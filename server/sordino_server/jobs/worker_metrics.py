"""What a worker counts and measures, for Prometheus."""

from __future__ import annotations

from typing import get_args

from prometheus_client import Counter, Histogram

from sordino_server.config import Retention
from sordino_server.jobs.worker import Kind, Outcome
from sordino_server.kit.clock import ServerClock
from sordino_server.kit.db import Database
from sordino_server.metrics import MetricsRegistry, connections_gauge, pool_readings

_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 3600.0)


class WorkerMetrics(MetricsRegistry):
    """The metrics of one worker process."""

    def __init__(self, database: Database, clock: ServerClock | None = None, kept: Retention = "forever") -> None:
        super().__init__(database, clock, kept)
        connections = connections_gauge(self.registry)
        for state, value in pool_readings(database).items():
            connections.labels(state).set_function(value)
        self._jobs = Counter("sordino_jobs", "Jobs by how they ended.", ["kind", "outcome"], registry=self.registry)
        self._seconds = Histogram(
            "sordino_job_duration_seconds",
            "From the claim of a job to its end, whatever that was.",
            ["kind"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        # Shown from the start: a rate misses the first failure of a counter that appears with it.
        for kind in get_args(Kind):
            self._seconds.labels(kind)
            for outcome in get_args(Outcome):
                self._jobs.labels(kind, outcome)

    def finished(self, kind: Kind, outcome: Outcome, seconds: float) -> None:
        """Count a job that ended."""
        self._jobs.labels(kind, outcome).inc()
        self._seconds.labels(kind).observe(seconds)
