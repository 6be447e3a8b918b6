"""What a ledger keeps of populations' lists: when to look next, the number seen last, and what was joined from them."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable
from typing import Any

from sordino_client._arms import draw_arm
from sordino_client._clock import Clock, seconds
from sordino_client._config import DAY_S, Config
from sordino_client._errors import PlanRefused
from sordino_client._ledger import Ledger
from sordino_client._marks import high_water
from sordino_client._storage import Storage, blob, whole
from sordino_shared.protocol import CampaignId, Manifest, OpenCampaigns
from sordino_shared.randomness import Randomness

_NEVER_SEEN = -1


class FoundRows:
    """Lists of the server at `origin`, and the campaigns that were joined from any list."""

    def __init__(self, storage: Storage, ledger: Ledger, origin: str, config: Config, clock: Clock) -> None:
        self._storage = storage
        self._ledger = ledger
        self._origin = origin
        self._config = config
        self._clock = clock

    def seconds_until_look(self, population: str, randomness: Randomness) -> float:
        """Seconds until the list is due: uniform in the 24 hours after the first call, then once in every 24 hours.

        A time that is further away than two days is drawn again: the clock was set back.
        """
        now = seconds(self._clock)
        with self._storage.read() as connection:
            due = self._due(connection, population)
        if due is None or due > now + 2 * DAY_S:
            due = self._schedule(population, now, randomness)
        return max(0.0, due - now)

    def looked(self, population: str, randomness: Randomness) -> float:
        """Draw the next time, in the first window of 24 hours that has not begun; seconds until then."""
        now = seconds(self._clock)
        with self._storage.read() as connection:
            row = self._row(connection, "window_at", population)
        begun = now if row is None else float(row[0])
        window = begun + DAY_S * (max(0.0, now - begun) // DAY_S + 1)
        return self._schedule(population, window, randomness) - now

    def keep(self, listed: OpenCampaigns) -> None:
        """Remember the list; raises `PlanRefused` for an older one, and for another one of the same number."""
        with self._storage.write() as connection:
            with self._storage.reading_rows():
                row = self._row(connection, "number, digest", listed.population)
                number, digest = (_NEVER_SEEN, None) if row is None else (int(row[0]), row[1])
            if listed.number < number:
                raise PlanRefused("list", f"its number is {listed.number}, and {number} was seen before")
            if listed.number == number and digest != bytes(listed.digest):
                raise PlanRefused("list", f"another list had its number {number}")
            connection.execute(
                "UPDATE lists SET number = ?, digest = ? WHERE origin = ? AND population = ?",
                (listed.number, bytes(listed.digest), self._origin, listed.population),
            )

    def known(self, campaigns: Iterable[CampaignId]) -> list[Manifest]:
        """The manifests of those of the campaigns that were joined, also where the owner left them."""
        with self._storage.read() as connection:
            joined = {blob(row[0]) for row in connection.execute("SELECT campaign FROM campaigns")}
            return [self._ledger.pinned(connection, each) for each in campaigns if bytes(each) in joined]

    def serves(self, manifest: Manifest) -> bool:
        """Whether this server may take the campaign's reports: the manifest names it, or none."""
        return not manifest.receivers or manifest.receiver_at(self._origin) is not None

    def join(self, manifest: Manifest, randomness: Randomness) -> bool:
        """Pin a manifest from its population's list; False where the period has had its joins."""
        with self._storage.write() as connection:
            with self._storage.reading_rows():
                now = max(math.ceil(seconds(self._clock)), high_water(connection))
                since = now - self._config.caps.period_s
                row = connection.execute("SELECT count(*) FROM found WHERE at > ?", (since,)).fetchone()
                joined = whole(row[0])
            if joined >= self._config.joins_per_period:
                return False
            self._ledger.pin(connection, manifest, None)
            draw_arm(connection, manifest, randomness)
            connection.execute(
                "INSERT INTO found VALUES (?, ?, ?)", (bytes(manifest.campaign), manifest.population, now)
            )
        return True

    def _due(self, connection: sqlite3.Connection, population: str) -> float | None:
        row = self._row(connection, "due_at", population)
        return None if row is None else float(row[0])

    def _row(self, connection: sqlite3.Connection, columns: str, population: str) -> tuple[Any, ...] | None:
        query = f"SELECT {columns} FROM lists WHERE origin = ? AND population = ?"
        row: tuple[Any, ...] | None = connection.execute(query, (self._origin, population)).fetchone()
        return row

    def _schedule(self, population: str, window: float, randomness: Randomness) -> float:
        due = window + DAY_S * (randomness.bits(32) / 2**32)
        with self._storage.write() as connection:
            connection.execute(
                "INSERT INTO lists (origin, population, window_at, due_at) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (origin, population) DO UPDATE SET window_at = excluded.window_at,"
                " due_at = excluded.due_at",
                (self._origin, population, window, due),
            )
        return due
