"""What a device fetched and keeps, so that it can answer without a connection: the last task, and device parts."""

from __future__ import annotations

import sqlite3

from sordino_client._clock import Clock, seconds
from sordino_client._marks import high_water
from sordino_client._storage import Storage, blob
from sordino_shared._records import dataclass
from sordino_shared.protocol import CampaignId, Digest, Task

# Answering fetches a part that is not kept: none is needed for correctness.
KEPT_PARTS = 8
KEPT_PART_BYTES = 4 << 20
# A task that is older says nothing any more, whatever time it names.
MOST_OFFLINE_S = 30 * 86_400


@dataclass(frozen=True)
class KeptTask:
    """The bytes of a task, to be checked again, and the Unix second before which it lets the device answer."""

    content: bytes
    answer_until: float


@dataclass(frozen=True)
class Prefetched:
    """What was read from the server for one campaign: its task, and a part that is not kept yet, None for none."""

    task: Task
    part: tuple[Digest, bytes] | None = None


class Kept:
    """Tasks and parts in the ledger's storage."""

    def __init__(self, storage: Storage, clock: Clock) -> None:
        self._storage = storage
        self._clock = clock

    def has_task(self, connection: sqlite3.Connection, task: Task) -> bool:
        """Whether `keep_task` would change nothing."""
        found = connection.execute("SELECT content, kept_at FROM tasks WHERE campaign = ?", (bytes(task.campaign),))
        row, now = found.fetchone(), seconds(self._clock)
        if _answers_until(task, now) <= now:
            return row is None
        return row is not None and blob(row[0]) == task.content and float(row[1]) <= now

    def keep_task(self, connection: sqlite3.Connection, task: Task) -> None:
        """Keep what was read now in place of what was read before, if it allows answers without a connection.

        In the caller's transaction.
        """
        now, campaign = seconds(self._clock), bytes(task.campaign)
        until = _answers_until(task, now)
        if until <= now:
            connection.execute("DELETE FROM tasks WHERE campaign = ?", (campaign,))
        else:
            row = (campaign, task.content, now, until)
            connection.execute("INSERT OR REPLACE INTO tasks VALUES (?, ?, ?, ?)", row)

    def task(self, campaign: CampaignId) -> KeptTask | None:
        """The task to answer by without a connection.

        None where nothing was kept, where the time is over, and where the clock shows less than when the task was
        kept: it was set back, and how long ago that was is not known.
        """
        now = seconds(self._clock)
        with self._storage.read() as connection:
            row = connection.execute(
                "SELECT content, answer_until FROM tasks"
                " WHERE campaign = ? AND kept_at <= ? AND answer_until > max(?, ?)",
                (bytes(campaign), now, now, high_water(connection)),
            ).fetchone()
            return None if row is None else KeptTask(blob(row[0]), float(row[1]))

    def any_over(self, connection: sqlite3.Connection, now: float) -> bool:
        """Whether the time of a task is over."""
        return connection.execute("SELECT 1 FROM tasks WHERE answer_until <= ? LIMIT 1", (now,)).fetchone() is not None

    def expire(self, connection: sqlite3.Connection, now: float) -> None:
        """Forget the tasks whose time is over, so that setting the clock back opens no round again."""
        connection.execute("DELETE FROM tasks WHERE answer_until <= ?", (now,))

    def part(self, digest: Digest) -> bytes | None:
        """The bytes of a stored device part; callers verify them again."""
        with self._storage.read() as connection:
            row = connection.execute("SELECT content FROM parts WHERE digest = ?", (bytes(digest),)).fetchone()
            return None if row is None else blob(row[0])

    def keep_part(self, connection: sqlite3.Connection, digest: Digest, content: bytes) -> None:
        """Keep the bytes of a verified part for later, if it is small; the oldest gives way.

        In the caller's transaction.
        """
        if len(content) > KEPT_PART_BYTES:
            return
        connection.execute("INSERT OR REPLACE INTO parts (digest, content) VALUES (?, ?)", (bytes(digest), content))
        connection.execute(
            "DELETE FROM parts WHERE number NOT IN (SELECT number FROM parts ORDER BY number DESC LIMIT ?)",
            (KEPT_PARTS,),
        )


def _answers_until(task: Task, now: float) -> float:
    """The Unix second before which a task that was read `now` lets the device answer without a connection."""
    return 0.0 if task.answer_until is None else min(task.answer_until, now + MOST_OFFLINE_S)
