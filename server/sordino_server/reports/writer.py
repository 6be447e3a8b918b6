"""The one thread of a process that writes reports: whatever queued while the last commit ran goes into the next.

Requests are answered after the commit. A transaction that fails fails all its requests, and counts nothing.
"""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict, deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from time import perf_counter

from sordino_analysis.evaluation.randomizers import IngestSums
from sordino_server.kit.clock import ServerClock
from sordino_server.kit.db import Database
from sordino_server.kit.logs import logger
from sordino_server.reports.ingest import Ingest, Recorded, Request, UploadAnswer
from sordino_server.reports.shards import ShardAccumulators
from sordino_server.reports.uploads import Overloaded, RefusedRequest, Upload
from sordino_shared.protocol import MAX_REPORTS, ReportOutcomes

log = logger(__name__)

# Reports of one transaction, as many as a single request may have: with more, latency grows and the rate does not.
GROUP_REPORTS = MAX_REPORTS
MAX_QUEUED_BYTES = 64 << 20
MAX_QUEUED_REQUESTS = 20_000

_Future = Future[ReportOutcomes | None] | asyncio.Future[ReportOutcomes | None]
_Queued = tuple[Request, _Future]
_Answered = tuple[_Future, UploadAnswer | BaseException]

# Hears of every group commit, with its seconds.
Committed = Callable[[Recorded, float], None]


class ReportWriter:
    """Group commit of uploads; `start` it once a process, `close` it to finish what is queued."""

    def __init__(
        self,
        database: Database,
        clock: ServerClock,
        *,
        max_queued_bytes: int = MAX_QUEUED_BYTES,
        sum_on_ingest: IngestSums = "cheap",
        committed: Committed = lambda recorded, seconds: None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._shards = ShardAccumulators()
        self._ingest = Ingest(database, self._shards, sum_on_ingest)
        self._max_queued_bytes = max_queued_bytes
        self._committed = committed
        self._queue: deque[_Queued] = deque()
        self._queued_bytes = 0
        self._changed = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="report-writer", daemon=True)

    def start(self) -> ReportWriter:
        """Begin to write."""
        self._thread.start()
        return self

    def close(self) -> None:
        """Take nothing more, write what is queued, and return when it is answered."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread.ident is not None:
            self._thread.join()

    @property
    def queued_bytes(self) -> int:
        """What waits to be written."""
        return self._queued_bytes

    def submit(self, upload: Upload) -> Future[ReportOutcomes]:
        """Queue an upload; the future holds the outcomes after the commit, or a `ServerError`.

        Raises `Overloaded` when too much is queued, or the writer is closing.
        """
        future: Future[ReportOutcomes] = Future()
        self._enqueue(upload, future)  # type: ignore[arg-type]  # only a refused request is answered with None
        return future

    def refuse(self, request: RefusedRequest) -> Future[None]:
        """Queue a refused request to be counted; the future ends after the commit."""
        future: Future[None] = Future()
        self._enqueue(request, future)  # type: ignore[arg-type]  # an upload is never answered with None
        return future

    async def write(self, upload: Upload) -> ReportOutcomes:
        """Queue an upload and wait for its outcomes; raises what `submit` or its future would."""
        return await self._answered(upload)  # type: ignore[return-value]  # as in `submit`

    async def count(self, request: RefusedRequest) -> None:
        """Queue a refused request and wait until it is counted."""
        await self._answered(request)

    async def _answered(self, request: Request) -> ReportOutcomes | None:
        future: asyncio.Future[ReportOutcomes | None] = asyncio.get_running_loop().create_future()
        self._enqueue(request, future)
        return await future

    def _enqueue(self, request: Request, future: _Future) -> None:
        size = request.size
        with self._changed:
            if self._closing:
                raise Overloaded("the server is shutting down; try again later")
            if len(self._queue) >= MAX_QUEUED_REQUESTS or self._queued_bytes + size > self._max_queued_bytes:
                raise Overloaded("too many reports are waiting to be written; try again later")
            self._queue.append((request, future))
            self._queued_bytes += size
            if len(self._queue) == 1:
                # The thread waits for nothing but an empty queue.
                self._changed.notify()

    def _run(self) -> None:
        while group := self._next_group():
            # What its sender has given up waiting for is dropped unwritten: nobody was told that it counts.
            group = [queued for queued in group if _is_awaited(queued[1])]
            if group:
                self._commit(group)

    def _next_group(self) -> list[_Queued]:
        """Wait for requests and take what fits a transaction; empty when the writer closes and nothing is left."""
        with self._changed:
            while not self._queue and not self._closing:
                self._changed.wait()
            group: list[_Queued] = []
            reports = 0
            while self._queue and (not group or reports + self._queue[0][0].count <= GROUP_REPORTS):
                request, future = self._queue.popleft()
                self._queued_bytes -= request.size
                reports += request.count
                group.append((request, future))
            return group

    def _commit(self, group: list[_Queued]) -> None:
        requests = [request for request, _ in group]
        now, start = self._clock.now(), perf_counter()
        try:
            recorded = self._database.run("record reports", lambda session: self._ingest.record(session, requests, now))
        except BaseException as error:  # the thread must outlive whatever a transaction raises, and its callers hear it
            self._shards.restart()
            _answer_all([(future, error) for _, future in group])
            return
        self._shards.keep(recorded.shards)
        try:
            self._committed(recorded, perf_counter() - start)
        except Exception as error:  # the reports count, and the thread must go on
            log.error("a commit was not measured", exc_info=error)
        _answer_all([(future, recorded.answers[request]) for request, future in group])


def _is_awaited(future: _Future) -> bool:
    return future.set_running_or_notify_cancel() if isinstance(future, Future) else not future.cancelled()


def _answer_all(answers: list[_Answered]) -> None:
    """Hand out answers; those of one event loop at once, since waking it costs as much as a request."""
    by_loop: defaultdict[asyncio.AbstractEventLoop, list[_Answered]] = defaultdict(list)
    for future, answer in answers:
        if isinstance(future, Future):
            _answer(future, answer)
        else:
            by_loop[future.get_loop()].append((future, answer))
    for loop, waiting in by_loop.items():
        # A loop that is closed has nobody left who waits.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_answer_waiting, waiting)


def _answer_waiting(answers: list[_Answered]) -> None:
    for future, answer in answers:
        if not future.cancelled():
            _answer(future, answer)


def _answer(future: _Future, answer: UploadAnswer | BaseException) -> None:
    if isinstance(answer, BaseException):
        future.set_exception(answer)
    else:
        future.set_result(answer)
