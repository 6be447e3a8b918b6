"""The bounded queue of randomised reports. A report waits as the exact bytes of its request and is resent as such."""

from __future__ import annotations

import sqlite3

from sordino_client._clock import Clock, seconds
from sordino_client._delivery import MOST_DELAY_S, Refused, RetryLater, delay_s
from sordino_client._errors import SpoolFull
from sordino_client._session import Report
from sordino_client._storage import Storage, blob
from sordino_client._troubles import forget, forget_over, note, noted
from sordino_shared._records import dataclass
from sordino_shared.protocol import CampaignId, RetryWindow
from sordino_shared.randomness import Randomness

_LONGEST_REASON = 300
# Reports are sent at once, whatever their time, at most so often.
HURRY_S = 60.0
_RETRY_AFTER = "retry-after "
_DUE = "(not_before <= :now OR postponed_at > :now)"
# A clock set back would make a postponed report wait endlessly: a report postponed "later than now" is due.
_WAIT = f"CASE WHEN {_DUE} THEN 0 ELSE not_before - :now END"
_OVER = "state = 'spooled' AND expires_at <= :now"
_IN_TIME = "(expires_at IS NULL OR expires_at > :now)"
_OWN = f"state = 'spooled' AND {_IN_TIME} AND campaign IN (SELECT campaign FROM campaigns WHERE origin = :origin)"
_CHOSEN = f"{_OWN} AND (:only IS NULL OR campaign = :only)"


@dataclass(frozen=True, kw_only=True)
class SpooledReport:
    """A report that waits: `body` is what goes over the wire, whenever and however often it does.

    `answered_at` is when it was made, in Unix seconds.
    """

    campaign: CampaignId
    round: int
    body: bytes
    retry: RetryWindow
    failures: int
    answered_at: int


@dataclass(frozen=True, kw_only=True)
class Queue:
    """How many reports wait, the seconds until one may be sent (None: none waits), and what the last try met.

    `tried_at` is in Unix seconds; None, as `trouble` is, where none of them was tried.
    """

    waiting: int
    due_in_s: float | None
    tried_at: float | None
    trouble: str | None


@dataclass(frozen=True, kw_only=True)
class AnswerTerms:
    """How an answer is recorded: before `until` (None: any time), its report due in `wait_s` seconds.

    The report expires at `expires_at` (None: never). `period_start` is that of the period of a series; the caps do not
    look at it, since the manifest names it. Times are Unix seconds.
    """

    retry: RetryWindow
    until: float | None
    expires_at: int | None
    wait_s: float
    period_start: int | None = None


class Spool:
    """Reports by state: spooled until the server has settled them, then delivered or refused permanently.

    A report that still waits when no report of its round counts any more is expired: its payload is deleted.

    Only reports of campaigns that were joined at `origin` are sent, waited for and counted as waiting: another server
    would refuse them permanently. The limit is for all that the ledger holds.
    """

    def __init__(self, storage: Storage, origin: str, limit: int, clock: Clock) -> None:
        self._storage = storage
        self._origin = origin
        self._limit = limit
        self._clock = clock

    def check_room(self, connection: sqlite3.Connection) -> None:
        """Raise `SpoolFull` if no further report may wait."""
        (count,) = connection.execute("SELECT count(*) FROM reports WHERE state = 'spooled'").fetchone()
        if count >= self._limit:
            raise SpoolFull(self._limit)

    def add(
        self,
        connection: sqlite3.Connection,
        campaign: CampaignId,
        index: int,
        report: Report,
        terms: AnswerTerms,
    ) -> None:
        """Put a report in line, in the transaction of its debit."""
        now, wait_s = seconds(self._clock), terms.wait_s
        connection.execute(
            "INSERT INTO reports (campaign, round, body, state, retry_min_s, retry_max_s, postponed_at, not_before,"
            " expires_at) VALUES (?, ?, ?, 'spooled', ?, ?, ?, ?, ?)",
            (
                bytes(campaign),
                index,
                report.content,
                terms.retry.min_s,
                terms.retry.max_s,
                now if wait_s else 0.0,
                now + wait_s if wait_s else 0.0,
                terms.expires_at,
            ),
        )

    def any_over(self, connection: sqlite3.Connection, now: float) -> bool:
        """Whether a waiting report came to the end of its time."""
        found = connection.execute(f"SELECT 1 FROM reports WHERE {_OVER} LIMIT 1", {"now": now})
        return found.fetchone() is not None

    def expire(self, connection: sqlite3.Connection, now: float) -> int:
        """Delete the payloads of waiting reports whose time is over, and say of how many; their debits stay."""
        statement = f"UPDATE reports SET state = 'expired', body = NULL, finished_at = :now WHERE {_OVER}"
        return connection.execute(statement, {"now": int(now)}).rowcount

    def next(self, only: CampaignId | None = None) -> tuple[float, SpooledReport] | None:
        """The report to send first, of one campaign or of all, and the seconds until it may be; None when none waits.

        Of those that may be sent now it is the one that has waited longest.
        """
        with self._storage.read() as connection:
            row = connection.execute(
                f"SELECT {_WAIT} AS wait, campaign, round, body, retry_min_s, retry_max_s, failures, at"
                " FROM reports LEFT JOIN debits USING (campaign, round)"
                f" WHERE {_CHOSEN} ORDER BY wait, not_before, reports.rowid LIMIT 1",
                self._now(only),
            ).fetchone()
            if row is None:
                return None
            wait, campaign, index, body, least, most, failures, at = row
            return float(wait), SpooledReport(
                campaign=CampaignId(blob(campaign)),
                round=int(index),
                body=blob(body),
                retry=RetryWindow(least, most),
                failures=int(failures),
                answered_at=int(at),
            )

    def queue(self) -> Queue:
        """How many reports wait, for how long, and what the last try met."""
        with self._storage.read() as connection:
            count, wait = connection.execute(
                f"SELECT count(*), min({_WAIT}) FROM reports WHERE {_OWN}", self._now()
            ).fetchone()
            tried = connection.execute(
                f"SELECT tried_at, trouble FROM reports WHERE {_OWN} AND trouble IS NOT NULL"
                " ORDER BY tried_at DESC LIMIT 1",
                self._now(),
            ).fetchone()
            return Queue(
                waiting=int(count),
                due_in_s=None if wait is None else float(wait),
                tried_at=None if tried is None else float(tried[0]),
                trouble=None if tried is None else str(tried[1]),
            )

    def seconds_until_due(self) -> float | None:
        """Seconds until some report may be sent; None when none waits."""
        return self.queue().due_in_s

    def delivered(self, report: SpooledReport) -> None:
        """The server has counted it."""
        self._finish(report, "delivered", None)

    def refused(self, report: SpooledReport, refusal: Refused) -> None:
        """The server will never count it; the debit stays."""
        self._finish(report, "refused", refusal.reason)

    def due_campaigns(self) -> list[CampaignId]:
        """The campaigns that have a report to send now, the one that was due first in front."""
        with self._storage.read() as connection:
            rows = connection.execute(
                f"SELECT campaign FROM reports WHERE {_OWN} AND {_DUE} GROUP BY campaign ORDER BY min(not_before)",
                self._now(),
            )
            return [CampaignId(blob(campaign)) for (campaign,) in rows]

    def seconds_until_over(self) -> float | None:
        """Seconds until a waiting report expires; None when none does."""
        with self._storage.read() as connection:
            found = "SELECT min(expires_at) - :now FROM reports WHERE state = 'spooled'"
            (wait,) = connection.execute(found, {"now": seconds(self._clock)}).fetchone()
            return None if wait is None else max(float(wait), 0.0)

    def put_off(self, campaign: CampaignId, randomness: Randomness) -> None:
        """Send the reports of a campaign together at another time, drawn from its retry window."""
        found = self.next(campaign)
        if found is None or found[0] > 0:
            return
        _, report = found
        now = seconds(self._clock)
        until = now + delay_s(report.retry, 0, None, randomness)
        with self._storage.write() as connection:
            connection.execute(
                f"UPDATE reports SET postponed_at = :now, not_before = :until WHERE {_CHOSEN}",
                self._now(campaign) | {"now": now, "until": until},
            )

    def postpone(
        self, report: SpooledReport, trouble: RetryLater, randomness: Randomness, only: CampaignId | None = None
    ) -> None:
        """Wait with this report, or with all of them (of the campaign `only`) where the trouble is the server's."""
        now = seconds(self._clock)
        until = now + delay_s(report.retry, report.failures, trouble.after_s, randomness)
        with self._storage.write() as connection:
            connection.execute(
                "UPDATE reports SET failures = failures + 1, tried_at = ?, trouble = ?"
                " WHERE campaign = ? AND round = ?",
                (now, _one_line(trouble.reason), bytes(report.campaign), report.round),
            )
            forget_over(connection, _RETRY_AFTER, now, now + MOST_DELAY_S)
            if trouble.after_s is not None:
                about = self._origin if trouble.everything else f"{report.campaign} {report.round}"
                note(connection, _RETRY_AFTER + about, now + trouble.after_s)
            connection.execute(
                f"UPDATE reports SET postponed_at = :now, not_before = :until WHERE {_CHOSEN}"
                " AND (:every OR (campaign = :campaign AND round = :round))",
                {
                    "now": now,
                    "origin": self._origin,
                    "only": only and bytes(only),
                    "until": until,
                    "every": trouble.everything,
                    "campaign": bytes(report.campaign),
                    "round": report.round,
                },
            )

    def hurry(self) -> None:
        """Let reports be sent now, but for those tried within a minute and those that a server said to wait with.

        At most once a minute: an owner who presses a button again and again sends no storm.
        """
        now = seconds(self._clock)
        with self._storage.write() as connection:
            with self._storage.reading_rows():
                hurried = noted(connection, f"hurried {self._origin}")
                until = noted(connection, _RETRY_AFTER + self._origin)
            if _is_within(hurried, now - HURRY_S, now) or _is_within(until, now, now + MOST_DELAY_S):
                return
            found = connection.execute(
                f"UPDATE reports SET not_before = 0, postponed_at = 0 WHERE {_OWN} AND NOT {_DUE}"
                " AND (tried_at IS NULL OR tried_at <= :now - :pause OR tried_at > :now)"
                " AND NOT EXISTS (SELECT 1 FROM trouble WHERE at > :now AND at <= :now + :most"
                " AND code = :code || lower(hex(campaign)) || ' ' || round)",
                self._now() | {"pause": HURRY_S, "most": MOST_DELAY_S, "code": _RETRY_AFTER},
            )
            if found.rowcount:
                note(connection, f"hurried {self._origin}", now)

    def _finish(self, report: SpooledReport, state: str, reason: str | None) -> None:
        # A report may expire while it is on its way: what the server says of it counts.
        now = seconds(self._clock)
        with self._storage.write() as connection:
            forget(connection, f"{_RETRY_AFTER}{report.campaign} {report.round}")
            forget_over(connection, _RETRY_AFTER, now, now + MOST_DELAY_S)
            connection.execute(
                "UPDATE reports SET state = ?, reason = ?, finished_at = ?"
                " WHERE campaign = ? AND round = ? AND state IN ('spooled', 'expired')",
                (state, reason, int(now), bytes(report.campaign), report.round),
            )

    def _now(self, only: CampaignId | None = None) -> dict[str, object]:
        return {"now": seconds(self._clock), "origin": self._origin, "only": only and bytes(only)}


def _is_within(at: float | None, after: float, until: float) -> bool:
    # A time that is too far off is that of a clock that was set back.
    return at is not None and after < at <= until


def _one_line(reason: str) -> str:
    """What the account shows on a line of its own: a server has a say in it, so that it is short and printable."""
    return "".join(character if character.isprintable() else " " for character in reason)[:_LONGEST_REASON]
