"""What a worker does several times a second while a process computes for it: store progress, see if it shall stop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic

from sqlalchemy.orm import Session

from sordino_analysis.progress import Progress, ProgressCallback
from sordino_server import rounds
from sordino_server.kit import leases
from sordino_server.kit.database_errors import DatabaseError
from sordino_server.kit.db import Database
from sordino_server.models import PlanRequestRow, Release, Round, StringSearch
from sordino_server.plans import service as plans
from sordino_server.string_searches import lifecycle as searches

# Progress is for people: more often than this nobody reads it, and each time costs a commit.
_PROGRESS_EVERY_S = 0.25
# Work that nobody wants any more goes on for at most this long.
_CHECK_EVERY_S = 1.0

# Stores a fraction in a row that the owner holds.
Report = Callable[[Session, int, str, float], None]
Table = type[Round] | type[PlanRequestRow] | type[Release] | type[StringSearch]


class Stopped(Exception):
    """The worker was asked to stop while it computed; the work goes back to the queue."""


@dataclass(frozen=True)
class Watch:
    """Callbacks of the worker `owner`, which raise `Stopped` where it shall stop and `LeaseLost` within a second."""

    database: Database
    stop: threading.Event
    owner: str

    def planning(self, number: str) -> ProgressCallback:
        """Stores the progress of a plan request."""
        shown, shown_at, checked_at = Progress(0.0), 0.0, 0.0

        def progress(step: Progress) -> None:
            nonlocal shown, shown_at, checked_at
            self._check_stop()
            if step == shown or (step.stage == shown.stage and monotonic() - shown_at < _PROGRESS_EVERY_S):
                if monotonic() - checked_at >= _CHECK_EVERY_S:
                    checked_at = monotonic()
                    self._check_lease(PlanRequestRow, number)
                return
            shown, shown_at = step, monotonic()
            self.database.run(
                "report progress",
                lambda session: plans.report_progress(session, number, self.owner, step),
            )

        return progress

    def widening(self, number: int) -> ProgressCallback:
        """Stores the progress of a wider search."""
        return self._searching(StringSearch, number, searches.report_progress)

    def estimating(self, number: int) -> ProgressCallback:
        """Stores the progress of the search in the reports of a closed round."""
        return self._searching(Round, number, rounds.report_progress)

    def _searching(self, table: Table, number: int, report: Report) -> ProgressCallback:
        watch, shown = self._watching(table, number), 0.0

        def progress(step: Progress) -> None:
            nonlocal shown
            watch(step)
            if step.fraction > shown:
                shown = step.fraction
                self.database.run("report progress", lambda session: report(session, number, self.owner, shown))

        return progress

    def _watching(self, table: Table, key: int) -> ProgressCallback:
        checked_at = monotonic()

        def watch(_: Progress) -> None:
            nonlocal checked_at
            self._check_stop()
            if monotonic() - checked_at >= _CHECK_EVERY_S:
                checked_at = monotonic()
                self._check_lease(table, key)

        return watch

    def _check_stop(self) -> None:
        if self.stop.is_set():
            raise Stopped

    def _check_lease(self, table: Table, key: int | str) -> None:
        """Raise `LeaseLost` where the work was cancelled, or another worker has it."""
        with suppress(DatabaseError), self.database.read("check lease") as session:
            leases.check(session, table, key, self.owner)
