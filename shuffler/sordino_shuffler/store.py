"""Sealed reports and the rounds that they belong to, in one SQLite file that tells nothing of when or whence they came.

A row of a sealed report is keyed by the digest of its bytes, which are random, so the file orders reports as every
other shuffler would. No column holds a time of arrival, an address, or a count within a time.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from sordino_shuffler.errors import PlanChanged, RoundUnknown, StoreInUse, StoreOfAnotherVersion

T = TypeVar("T")

ID_BYTES = 16
FORMAT = 1
# Longer than any transaction of this program.
_BUSY_TIMEOUT_S = 60.0
# For those who read, before the log stays as it is for now.
_LOG_WAIT_MS = 100

_SCHEMA = """
CREATE TABLE rounds (
    round_id INTEGER PRIMARY KEY,
    campaign BLOB NOT NULL CHECK (length(campaign) = 32),
    number INTEGER NOT NULL CHECK (number >= 0),
    device BLOB NOT NULL CHECK (length(device) = 32),
    ends_at INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('collecting', 'mixed', 'delivered', 'missed', 'deleted')),
    received INTEGER,
    statement BLOB,
    sent_to BLOB,
    stated INTEGER NOT NULL DEFAULT 0,
    delete_at INTEGER,
    UNIQUE (campaign, number),
    CHECK ((statement IS NULL) = (state = 'collecting')),
    CHECK ((received IS NULL) = (state = 'collecting'))
);
CREATE TABLE sealed (
    round_id INTEGER NOT NULL,
    id BLOB NOT NULL CHECK (length(id) = 16),
    body BLOB,
    PRIMARY KEY (round_id, id)
) WITHOUT ROWID;
CREATE TABLE campaigns (
    campaign BLOB PRIMARY KEY,
    population TEXT NOT NULL,
    manifest BLOB NOT NULL,
    part BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE tasks (campaign BLOB PRIMARY KEY, number INTEGER NOT NULL, content BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE trouble (
    campaign BLOB NOT NULL,
    about TEXT NOT NULL,
    sentence TEXT NOT NULL,
    PRIMARY KEY (campaign, about)
) WITHOUT ROWID;
"""
# Beside the tables of every store of this format: files of before it have none.
_LOG_TEXTS = (
    "CREATE TABLE IF NOT EXISTS log_texts (campaign BLOB PRIMARY KEY, proof BLOB NOT NULL, days BLOB NOT NULL)"
    " WITHOUT ROWID"
)


class State(StrEnum):
    """States of a round. A round never opens again."""

    COLLECTING = "collecting"
    MIXED = "mixed"
    DELIVERED = "delivered"
    MISSED = "missed"
    DELETED = "deleted"


# From each state, the states that may follow it.
MOVES = {
    State.COLLECTING: {State.MIXED, State.MISSED},
    State.MIXED: {State.DELIVERED, State.MISSED},
    State.DELIVERED: {State.DELETED},
    State.MISSED: {State.DELETED},
    State.DELETED: set(),
}


@dataclass(frozen=True, kw_only=True)
class StoredRound:
    """A round as it is stored; times are Unix seconds of what the manifest says, never of an arrival."""

    round_id: int
    campaign: bytes
    number: int
    device: bytes
    ends_at: int
    state: State
    received: int | None
    statement: bytes | None
    sent_to: bytes | None
    stated: bool
    delete_at: int | None


@dataclass(frozen=True)
class Added:
    """Sealed reports of one request: new ones, and those that were here before."""

    accepted: int
    replayed: int


def id_of(body: bytes) -> bytes:
    """The id of a sealed report: the first 16 bytes of SHA-256 of its bytes."""
    return hashlib.sha256(body).digest()[:ID_BYTES]


class Store:
    """The shuffler's file. One thread writes uploads; what takes long has a store of its own (`apart`)."""

    def __init__(self, path: Path) -> None:
        """Open the file, or make it.

        Raises:
            StoreOfAnotherVersion: the file has another format, or is no store of a shuffler.
            StoreInUse: another program holds a lock on it for longer than a minute.
        """
        self._path = path
        self._added: Counter[int] = Counter()
        new = not path.exists()
        self._connection = sqlite3.connect(path, timeout=_BUSY_TIMEOUT_S, isolation_level=None)
        try:
            self._prepare(new)
        except sqlite3.DatabaseError as error:
            self._connection.close()
            if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
                raise StoreInUse(path) from error
            raise StoreOfAnotherVersion(path, str(error)) from error
        except StoreOfAnotherVersion:
            self._connection.close()
            raise

    def _prepare(self, new: bool) -> None:
        run = self._connection.execute
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = FULL")
        # Deleted reports are overwritten, not only forgotten.
        run("PRAGMA secure_delete = ON")
        (version,) = run("PRAGMA user_version").fetchone()
        (tables,) = run("SELECT count(*) FROM sqlite_master").fetchone()
        if version == 0 and tables == 0:
            if new:
                self._path.chmod(0o600)
            self._connection.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {FORMAT}; COMMIT;")
        elif version != FORMAT:
            raise StoreOfAnotherVersion(self._path, f"format {version}, this program has {FORMAT}")
        run(_LOG_TEXTS)

    def close(self) -> None:
        """Close the file; the write-ahead log, which shows the order of arrival, is emptied first."""
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.leave()

    def leave(self) -> None:
        """Close the file, whose log another store empties: emptying it waits for all readers, and no one writes."""
        self._connection.close()

    def truncate_log(self) -> None:
        """Empty the write-ahead log: it holds rows in the order of their commits.

        While a large round is read in another thread it cannot be: uploads do not wait for that, and the next time
        comes within a minute.
        """
        run = self._connection.execute
        run(f"PRAGMA busy_timeout = {_LOG_WAIT_MS}")
        run("PRAGMA wal_checkpoint(TRUNCATE)")
        run(f"PRAGMA busy_timeout = {int(1000 * _BUSY_TIMEOUT_S)}")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """One write transaction, rolled back where the block raises."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    # Rounds

    def pin(self, campaign: bytes, number: int, device: bytes, ends_at: int) -> StoredRound:
        """The round, made where it is not here yet, with the plan and the end that it keeps.

        Raises:
            PlanChanged: the round is here with another plan or end. A collector that names one plan to a first device
                and another to the next would leave the blanket, sealed for one of them, to the other's devices.
        """
        self._connection.execute(
            "INSERT OR IGNORE INTO rounds (campaign, number, device, ends_at, state) VALUES (?, ?, ?, ?, 'collecting')",
            (campaign, number, device, ends_at),
        )
        row = self.round(campaign, number)
        if (row.device, row.ends_at) != (device, ends_at):
            raise PlanChanged(row.round_id, number)
        return row

    def round(self, campaign: bytes, number: int) -> StoredRound:
        """The round; raises RoundUnknown."""
        rows = self._rounds("campaign = ? AND number = ?", campaign, number)
        if not rows:
            raise RoundUnknown(number)
        return rows[0]

    def rounds(self) -> list[StoredRound]:
        """All rounds, by campaign and number."""
        return self._rounds("1")

    def rounds_to_do(self) -> list[StoredRound]:
        """Rounds that collect, or whose statement was not taken yet."""
        return self._rounds("state IN ('collecting', 'mixed') OR (state = 'missed' AND NOT stated)")

    def last_number(self, campaign: bytes) -> int | None:
        """The largest number of a campaign's rounds; None before the first."""
        question = "SELECT max(number) FROM rounds WHERE campaign = ?"
        found: int | None = self._connection.execute(question, (campaign,)).fetchone()[0]
        return found

    def _rounds(self, where: str, *values: object) -> list[StoredRound]:
        names = tuple(StoredRound.__annotations__)
        rows = self._connection.execute(
            f"SELECT {', '.join(names)} FROM rounds WHERE {where} ORDER BY campaign, number", values
        ).fetchall()
        found = [dict(zip(names, row, strict=True)) for row in rows]
        return [StoredRound(**row | {"state": State(row["state"]), "stated": bool(row["stated"])}) for row in found]

    def move(self, row: StoredRound, to: State, **changes: object) -> None:
        """Change the state of a round, and other columns with it; raises AssertionError for a move that is none."""
        assert to in MOVES[row.state], f"a round does not go from {row.state} to {to}"
        columns = {"state": to.value, **changes}
        done = self._connection.execute(
            f"UPDATE rounds SET {', '.join(f'{name} = ?' for name in columns)} WHERE round_id = ? AND state = ?",
            (*columns.values(), row.round_id, row.state.value),
        )
        assert done.rowcount == 1, "the state of a round changed under its own lock"

    def note_sent(self, row: StoredRound, last: bytes) -> None:
        """Remember how far a batch was delivered: the last id of a page."""
        self._connection.execute("UPDATE rounds SET sent_to = ? WHERE round_id = ?", (last, row.round_id))

    def note_stated(self, row: StoredRound, delete_at: int) -> None:
        """The statement was taken: the round's ids are deleted at `delete_at`."""
        self._connection.execute(
            "UPDATE rounds SET stated = 1, delete_at = ? WHERE round_id = ?", (delete_at, row.round_id)
        )

    # Sealed reports

    def add(self, row: StoredRound, bodies: Sequence[bytes]) -> Added:
        """Keep the sealed reports that are new; `row` is collecting."""
        rows = sorted((row.round_id, id_of(body), body) for body in bodies)
        accepted = self._connection.executemany("INSERT OR IGNORE INTO sealed VALUES (?, ?, ?)", rows).rowcount
        self._added[row.round_id] += accepted
        return Added(accepted, len(bodies) - accepted)

    def added(self, row: StoredRound) -> int:
        """How many reports of a round this store has added: nothing came where the number is the same."""
        return self._added[row.round_id]

    def known(self, row: StoredRound, bodies: Sequence[bytes]) -> int:
        """How many of these sealed reports are here."""
        question = "SELECT count(*) FROM sealed WHERE round_id = ? AND id = ?"
        return sum(self._connection.execute(question, (row.round_id, id_of(body))).fetchone()[0] for body in bodies)

    def count(self, row: StoredRound) -> int:
        """The sealed reports of a round."""
        (count,) = self._connection.execute(
            "SELECT count(*) FROM sealed WHERE round_id = ?", (row.round_id,)
        ).fetchone()
        return int(count)

    def ids(self, row: StoredRound) -> Iterator[bytes]:
        """Ids of a round's sealed reports, ascending: the order of the batch."""
        rows = self._connection.execute("SELECT id FROM sealed WHERE round_id = ? ORDER BY id", (row.round_id,))
        return (identity for (identity,) in rows)

    def page(self, row: StoredRound, after: bytes | None, size: int) -> list[tuple[bytes, bytes]]:
        """(id, body) of the next `size` sealed reports after an id, ascending."""
        return self._connection.execute(
            "SELECT id, body FROM sealed WHERE round_id = ? AND id > ? ORDER BY id LIMIT ?",
            (row.round_id, after or b"", size),
        ).fetchall()

    def count_up_to(self, row: StoredRound, last: bytes) -> int:
        """How many sealed reports of a round have an id up to `last`."""
        question = "SELECT count(*) FROM sealed WHERE round_id = ? AND id <= ?"
        return int(self._connection.execute(question, (row.round_id, last)).fetchone()[0])

    def forget_bodies(self, row: StoredRound, after: bytes, size: int) -> bytes | None:
        """Delete the bytes of the next `size` reports after an id, and keep the ids, so that a device's retry is known.

        Returns the last of these ids; None where none is left.
        """
        last: bytes | None = self._connection.execute(
            "SELECT max(id) FROM (SELECT id FROM sealed WHERE round_id = ? AND id > ? ORDER BY id LIMIT ?)",
            (row.round_id, after, size),
        ).fetchone()[0]
        if last is not None:
            self._connection.execute(
                "UPDATE sealed SET body = NULL WHERE round_id = ? AND id > ? AND id <= ?", (row.round_id, after, last)
            )
        return last

    def forget(self, row: StoredRound, size: int = -1) -> int:
        """Delete a round's reports with their ids, or `size` of them; returns how many."""
        found = "SELECT id FROM sealed WHERE round_id = ? ORDER BY id LIMIT ?"
        return self._connection.execute(
            f"DELETE FROM sealed WHERE round_id = ? AND id IN ({found})", (row.round_id, row.round_id, size)
        ).rowcount

    # Documents and troubles

    def documents(self, campaign: bytes) -> tuple[bytes, bytes] | None:
        """(manifest, device part) of a campaign whose claims were proved here; None before."""
        found = self._connection.execute("SELECT manifest, part FROM campaigns WHERE campaign = ?", (campaign,))
        row: tuple[bytes, bytes] | None = found.fetchone()
        return row

    def keep_log(self, campaign: bytes, proof: bytes, days: bytes) -> None:
        """Keep proof and days of the collector's public log, in place of earlier ones."""
        self._connection.execute("INSERT OR REPLACE INTO log_texts VALUES (?, ?, ?)", (campaign, proof, days))

    def log_texts(self, campaign: bytes) -> tuple[bytes, bytes] | None:
        """(proof, days) of the collector's public log; None where there were none yet."""
        question = "SELECT proof, days FROM log_texts WHERE campaign = ?"
        found: tuple[bytes, bytes] | None = self._connection.execute(question, (campaign,)).fetchone()
        return found

    def keep_documents(self, campaign: bytes, population: str, manifest: bytes, part: bytes) -> None:
        """Keep documents whose claims are proved, so that a restart proves nothing again."""
        self._connection.execute(
            "INSERT OR REPLACE INTO campaigns VALUES (?, ?, ?, ?)", (campaign, population, manifest, part)
        )

    def task(self, campaign: bytes) -> tuple[int, bytes] | None:
        """(number, content) of the last task that was served; None before the first."""
        found = self._connection.execute("SELECT number, content FROM tasks WHERE campaign = ?", (campaign,))
        row: tuple[int, bytes] | None = found.fetchone()
        return row

    def note_task(self, campaign: bytes, number: int, content: bytes) -> None:
        """Remember a task before it is served: its number never falls."""
        self._connection.execute(
            "INSERT INTO tasks VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET number = excluded.number,"
            " content = excluded.content WHERE excluded.number > number",
            (campaign, number, content),
        )

    def changes_of(self, population: str) -> int:
        """A number that grows with every task of a campaign of the population."""
        question = "SELECT coalesce(sum(number), 0) FROM tasks JOIN campaigns USING (campaign) WHERE population = ?"
        return int(self._connection.execute(question, (population,)).fetchone()[0])

    def note_trouble(self, campaign: bytes, about: str, sentence: str | None) -> None:
        """Keep what is wrong with a campaign's documents or with a round, for `status`; None where nothing is."""
        if sentence is None:
            self._connection.execute("DELETE FROM trouble WHERE campaign = ? AND about = ?", (campaign, about))
        else:
            self._connection.execute("INSERT OR REPLACE INTO trouble VALUES (?, ?, ?)", (campaign, about, sentence))

    def troubles(self) -> dict[tuple[bytes, str], str]:
        """What is wrong, by campaign and what it is about."""
        rows = self._connection.execute("SELECT campaign, about, sentence FROM trouble").fetchall()
        return {(campaign, about): sentence for campaign, about, sentence in rows}


def apart(path: Path, act: Callable[[Store], T]) -> T:
    """What `act` finds in a store of its own, in another thread than the one that writes uploads."""
    store = Store(path)
    try:
        return act(store)
    finally:
        store.leave()
