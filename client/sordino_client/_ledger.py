"""The ε ledger: what this device joined, spent and left. A debit and its randomised report are one transaction."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from sordino_client._accounting import Spending, check_budget
from sordino_client._clock import Clock
from sordino_client._config import Config
from sordino_client._errors import NotJoined, PlanRefused
from sordino_client._session import AnswerStatus, Session, draw_assignment, pin_manifest
from sordino_client._spool import Spool
from sordino_client._storage import Storage
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import CampaignId, Digest, Manifest, ReportBatch, RetryWindow, Task
from sordino_shared.randomness import Randomness

# Device parts that are kept so that answering need not fetch them again; none is needed for correctness.
KEPT_PARTS = 8
KEPT_PART_BYTES = 4 << 20
_HIGH_WATER = "high_water"


@dataclass(frozen=True)
class Debit:
    """One row of the account: ε spent on a round at a time in Unix seconds, and what became of the report."""

    campaign: CampaignId
    round: int
    guarantee: PureEpsilon
    at: int
    state: str
    reason: str | None
    report: bytes | None


class Ledger:
    """Campaigns, debits and opt-outs in one storage. Debits are never changed, deleted or refunded."""

    def __init__(self, storage: Storage, spool: Spool, config: Config, clock: Clock) -> None:
        self._storage = storage
        self._spool = spool
        self._config = config
        self._clock = clock

    def join(self, manifest: Manifest, randomness: Randomness) -> Session:
        """Pin the manifest and draw this device's round, once: a second join changes nothing."""
        with self._storage.write() as connection:
            connection.execute(
                "INSERT INTO campaigns VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (
                    bytes(manifest.campaign),
                    manifest.content,
                    draw_assignment(manifest.assignment, randomness),
                    int(self._clock.now()),
                ),
            )
        return self.session(manifest.campaign)

    def session(self, campaign: CampaignId) -> Session:
        """The session of a joined campaign, its pinned manifest checked again; raises `NotJoined`."""
        with self._storage.read() as connection:
            row = connection.execute(
                "SELECT manifest, assigned_round FROM campaigns WHERE campaign = ?", (bytes(campaign),)
            ).fetchone()
        if row is None:
            raise NotJoined(campaign)
        return Session(self._pinned(row[0], campaign), row[1])

    def pin_plans(self, session: Session, task: Task) -> None:
        """Remember the digests that the task names, by round; raises `PlanRefused` where one was another before.

        A round has one plan for everybody and for good: a server that names two tells devices apart by them.
        """
        named = dict(enumerate(map(bytes, task.device_parts)))
        with self._storage.read() as connection:
            if named.items() <= _pinned_plans(connection, session.campaign).items():
                return
        with self._storage.write() as connection:
            pinned = _pinned_plans(connection, session.campaign)
            for index in named.keys() & pinned.keys():
                _check_same_plan(session.campaign, index, pinned[index], named[index])
            new = [(bytes(session.campaign), index, named[index]) for index in sorted(named.keys() - pinned.keys())]
            connection.executemany("INSERT INTO pinned_plans VALUES (?, ?, ?)", new)

    def settled(self, session: Session) -> AnswerStatus | None:
        """Why no request is needed any more: the owner left, or every round of this device is answered."""
        with self._storage.read() as connection:
            if _opted_out(connection, session.campaign):
                return AnswerStatus.OPTED_OUT
            answered = {round_ for (round_,) in _rounds(connection, session.campaign)}
        return AnswerStatus.ALREADY_ANSWERED if answered.issuperset(session.rounds()) else None

    def opted_out(self, campaign: CampaignId) -> bool:
        """Whether the owner left this campaign."""
        with self._storage.read() as connection:
            return _opted_out(connection, campaign)

    def record(
        self,
        session: Session,
        index: int,
        proved: PureEpsilon,
        retry: RetryWindow,
        randomize: Callable[[], ReportBatch],
    ) -> AnswerStatus:
        """Check, randomise and commit {debit + report} under one exclusive lock, so nobody can do it twice.

        Raises `BudgetExceeded` or `SpoolFull` before anything is randomised.
        """
        with self._storage.write() as connection:
            if _opted_out(connection, session.campaign):
                return AnswerStatus.OPTED_OUT
            if (index,) in _rounds(connection, session.campaign):
                return AnswerStatus.ALREADY_ANSWERED
            now = self._advance(connection)
            check_budget(self._spending(connection, session.campaign, now), proved, session.manifest, self._config.caps)
            self._spool.check_room(connection)
            report = randomize()
            connection.execute(
                "INSERT INTO debits VALUES (?, ?, ?, ?)", (bytes(session.campaign), index, proved.nano, now)
            )
            self._spool.add(connection, session.campaign, index, report, retry)
        return AnswerStatus.RECORDED

    def opt_out(self, campaign: CampaignId) -> None:
        """Delete the campaign's reports and payloads for good; its debits stay, and it is never answered again."""
        with self._storage.write() as connection:
            connection.execute(
                "INSERT INTO opt_outs VALUES (?, ?) ON CONFLICT DO NOTHING", (bytes(campaign), int(self._clock.now()))
            )
            connection.execute("DELETE FROM reports WHERE campaign = ?", (bytes(campaign),))

    def kept_part(self, digest: Digest) -> bytes | None:
        """The bytes of a device part kept earlier; whoever takes them verifies them again."""
        with self._storage.read() as connection:
            row = connection.execute("SELECT content FROM parts WHERE digest = ?", (bytes(digest),)).fetchone()
        return None if row is None else bytes(row[0])

    def keep_part(self, digest: Digest, content: bytes) -> None:
        """Keep the bytes of a verified part for later, if it is small; the oldest gives way."""
        if len(content) > KEPT_PART_BYTES:
            return
        with self._storage.write() as connection:
            connection.execute("INSERT OR REPLACE INTO parts (digest, content) VALUES (?, ?)", (bytes(digest), content))
            connection.execute(
                "DELETE FROM parts WHERE number NOT IN (SELECT number FROM parts ORDER BY number DESC LIMIT ?)",
                (KEPT_PARTS,),
            )

    def statement(self) -> tuple[list[Debit], dict[CampaignId, Manifest], set[CampaignId], Spending]:
        """Debits in the order they were made, pinned manifests, opt-outs and totals, in one consistent view."""
        with self._storage.read() as connection:
            debits = connection.execute(
                "SELECT campaign, round, nano, at, coalesce(state, 'deleted'), reason, body"
                " FROM debits LEFT JOIN reports USING (campaign, round) ORDER BY debits.rowid"
            ).fetchall()
            campaigns = connection.execute("SELECT campaign, manifest FROM campaigns ORDER BY rowid").fetchall()
            opted_out = connection.execute("SELECT campaign FROM opt_outs").fetchall()
            now = max(math.ceil(self._clock.now()), _high_water(connection))
            spending = self._spending(connection, None, now)
        return (
            [Debit(CampaignId(c), r, PureEpsilon(nano), at, *rest) for c, r, nano, at, *rest in debits],
            {CampaignId(campaign): self._pinned(manifest, CampaignId(campaign)) for campaign, manifest in campaigns},
            {CampaignId(campaign) for (campaign,) in opted_out},
            spending,
        )

    def _pinned(self, content: bytes, campaign: CampaignId) -> Manifest:
        try:
            return pin_manifest(content, campaign)
        except PlanRefused as error:
            raise self._storage.damaged("a pinned manifest is not the one its digest names") from error

    def _advance(self, connection: sqlite3.Connection) -> int:
        """The ledger's time: the highest the clock ever showed at a debit, so that setting it back frees nothing."""
        now = max(math.ceil(self._clock.now()), _high_water(connection))
        connection.execute("INSERT OR REPLACE INTO marks VALUES (?, ?)", (_HIGH_WATER, now))
        return now

    def _spending(self, connection: sqlite3.Connection, campaign: CampaignId | None, now: int) -> Spending:
        row = connection.execute(
            "SELECT coalesce(sum(nano) FILTER (WHERE campaign = ?), 0), coalesce(sum(nano) FILTER (WHERE at > ?), 0),"
            " coalesce(sum(nano), 0) FROM debits",
            (campaign and bytes(campaign), now - self._config.caps.period_s),
        ).fetchone()
        return Spending(*row)


def _high_water(connection: sqlite3.Connection) -> int:
    row = connection.execute("SELECT value FROM marks WHERE name = ?", (_HIGH_WATER,)).fetchone()
    return 0 if row is None else int(row[0])


def _opted_out(connection: sqlite3.Connection, campaign: CampaignId) -> bool:
    return connection.execute("SELECT 1 FROM opt_outs WHERE campaign = ?", (bytes(campaign),)).fetchone() is not None


def _rounds(connection: sqlite3.Connection, campaign: CampaignId) -> list[tuple[int]]:
    return connection.execute("SELECT round FROM debits WHERE campaign = ?", (bytes(campaign),)).fetchall()


def _pinned_plans(connection: sqlite3.Connection, campaign: CampaignId) -> dict[int, bytes]:
    rows = connection.execute("SELECT round, digest FROM pinned_plans WHERE campaign = ?", (bytes(campaign),))
    return {index: bytes(digest) for index, digest in rows}


def _check_same_plan(campaign: CampaignId, index: int, pinned: bytes, named: bytes) -> None:
    if named != pinned:
        reason = f"it names plan {named.hex()} for round {index}, where an earlier one named {pinned.hex()}"
        raise PlanRefused("task", reason, campaign)
