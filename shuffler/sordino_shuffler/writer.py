"""The one thread that writes: what waits is committed together, and answered after the commit."""

from __future__ import annotations

import asyncio
import queue
import shutil
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sordino_shuffler.errors import LeastFree, RoundOver, RoundUnknown, ShufflerError, TooMuchWaits
from sordino_shuffler.store import Added, State, Store, StoredRound

T = TypeVar("T")

# Sealed bytes that may wait for a commit; more are refused until some are written.
MAX_WAITING_BYTES = 64 << 20
_MOST_TOGETHER = 256
_MB = 1 << 20


# Rounds that were read in this transaction.
_Rows = dict[tuple[bytes, int], StoredRound]


@dataclass(eq=False)
class _Job:
    """Work for the thread, and where its result goes."""

    run: Callable[[Store, _Rows], Any]
    done: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop
    # An upload shares its transaction with others; other work begins its own.
    upload: bool

    def settle(self, result: Any, error: BaseException | None) -> None:
        """Hand over a result, in the loop; a caller that went away waits for none."""
        if self.done.done():
            return
        if error is None:
            self.done.set_result(result)
        else:
            self.done.set_exception(error)


_Settled = tuple[_Job, Any, BaseException | None]


def _answer(settled: list[_Settled]) -> None:
    """Hand over results of one loop together: waking it costs more than a result. One that ended needs none."""

    def settle() -> None:
        for job, result, error in settled:
            job.settle(result, error)

    with suppress(RuntimeError):
        settled[0][0].loop.call_soon_threadsafe(settle)


class Writer:
    """Takes sealed reports and other changes of the store from the event loop."""

    def __init__(self, path: Path, least_free_mb: int) -> None:
        """Start the thread on the store at `path`; `least_free_mb` MB of its disk are left alone."""
        self.path = path
        self._least_free_mb = least_free_mb
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        # Taken from the queue, and not done yet.
        self._taken: deque[_Job | None] = deque()
        self._waiting = 0
        self._thread = threading.Thread(target=self._work, name="writer", daemon=True)
        self._thread.start()

    async def add(self, campaign: bytes, number: int, bodies: Sequence[bytes], now: int) -> Added:
        """Keep sealed reports of an open round; known ones are replayed also after its end.

        Raises:
            RoundOver: the round is over, or not collected here, and the reports are not known.
            TooMuchWaits: too much waits to be written.
            LeastFree: the disk is nearly full; nothing was counted.
        """
        size = sum(map(len, bodies))
        if self._waiting + size > MAX_WAITING_BYTES:
            raise TooMuchWaits
        self._waiting += size
        try:
            added: Added = await self._put(partial(_add, campaign, number, bodies, now), upload=True)
            return added
        finally:
            self._waiting -= size

    @property
    def waiting_bytes(self) -> int:
        """Sealed bytes that wait for their commit."""
        return self._waiting

    async def run(self, change: Callable[[Store], T]) -> T:
        """The result of a change, which begins its own transactions, after all that waited before it."""
        result: T = await self._put(lambda store, _: change(store), upload=False)
        return result

    def close(self) -> None:
        """Write what waits and end the thread."""
        self._jobs.put(None)
        self._thread.join()

    async def _put(self, run: Callable[[Store, _Rows], Any], *, upload: bool) -> Any:
        loop = asyncio.get_running_loop()
        job = _Job(run, loop.create_future(), loop, upload)
        self._jobs.put(job)
        return await job.done

    def _work(self) -> None:
        store = Store(self.path)
        try:
            while (job := self._next()) is not None:
                if job.upload:
                    self._commit_together(store, job)
                else:
                    _answer([(job, *_tried(job, store, {}))])
        finally:
            store.close()

    def _next(self) -> _Job | None:
        """The job that waits longest; None for the end."""
        return self._taken.popleft() if self._taken else self._jobs.get()

    def _group(self, first: _Job) -> list[_Job]:
        """This upload and those that wait right behind it; what follows them is taken next."""
        group = [first]
        while len(group) < _MOST_TOGETHER and not self._taken:
            try:
                waiting = self._jobs.get_nowait()
            except queue.Empty:
                break
            if waiting is not None and waiting.upload:
                group.append(waiting)
            else:
                self._taken.append(waiting)
        return group

    def _commit_together(self, store: Store, first: _Job) -> None:
        group = self._group(first)
        results: list[_Settled] = []
        rows: _Rows = {}
        try:
            self._check_disk()
            with store.transaction():
                for job in group:
                    results.append((job, *_tried(job, store, rows)))
        except (ShufflerError, sqlite3.Error, OSError) as error:
            results = [(job, None, error) for job in group]
        _answer(results)

    def _check_disk(self) -> None:
        free = shutil.disk_usage(self.path.parent).free // _MB
        if free < self._least_free_mb:
            raise LeastFree(free, self._least_free_mb)


def _tried(job: _Job, store: Store, rows: _Rows) -> tuple[Any, BaseException | None]:
    try:
        return job.run(store, rows), None
    except Exception as error:  # handed to the caller that waits for it
        if job.upload and not isinstance(error, ShufflerError):
            raise
        return None, error


def _add(campaign: bytes, number: int, bodies: Sequence[bytes], now: int, store: Store, rows: _Rows) -> Added:
    row = rows.get((campaign, number))
    try:
        row = rows[campaign, number] = row or store.round(campaign, number)
    except RoundUnknown as error:
        raise RoundOver(number) from error
    if row.state is State.COLLECTING and now < row.ends_at:
        return store.add(row, bodies)
    # The reports of a missed round, some of which may be here still, count nowhere.
    if row.state is not State.MISSED and store.known(row, bodies) == len(bodies):
        return Added(0, len(bodies))
    raise RoundOver(number)
