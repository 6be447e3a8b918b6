"""The ε ledger: what this device joined, spent and left. A debit and its randomised report are one transaction."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from sordino_client._accounting import Spending, check_budget
from sordino_client._clock import LATEST_S, Clock, seconds
from sordino_client._config import Config
from sordino_client._errors import NotJoined, PlanRefused, ServedElsewhere
from sordino_client._session import AnswerStatus, Session, draw_assignment, pin_manifest
from sordino_client._spool import Spool
from sordino_client._storage import Storage, blob
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import CampaignId, Digest, DrawOneRound, Manifest, ReportBatch, RetryWindow, Task
from sordino_shared.randomness import Randomness

# Device parts that are kept so that answering need not fetch them again; none is needed for correctness.
KEPT_PARTS = 8
KEPT_PART_BYTES = 4 << 20
STATES = ("spooled", "delivered", "refused", "deleted")
_HIGH_WATER = "high_water"


@dataclass(frozen=True, kw_only=True)
class Debit:
    """One row of the account: ε spent on a round at a time in Unix seconds, and what became of the report.

    `payloads` is the randomised report, while it is kept.
    """

    campaign: CampaignId
    round: int
    guarantee: PureEpsilon
    at: int
    state: str
    reason: str | None
    payloads: bytes | None


@dataclass(frozen=True)
class Joined:
    """A pinned manifest, the address it was joined at (None: not kept), and whether the owner left."""

    manifest: Manifest
    origin: str | None
    opted_out: bool


class Ledger:
    """Campaigns, debits and opt-outs in one storage. Debits are never changed, deleted or refunded.

    Every campaign belongs to the server that it was joined at; this ledger's client speaks for `origin`.
    """

    def __init__(self, storage: Storage, spool: Spool, origin: str, config: Config, clock: Clock) -> None:
        self._storage = storage
        self._spool = spool
        self._origin = origin
        self._config = config
        self._clock = clock

    def join(self, manifest: Manifest, randomness: Randomness) -> Session:
        """Pin the manifest and draw this device's round, once; a second join only adds a missing server address."""
        with self._storage.write() as connection:
            connection.execute(
                "INSERT INTO campaigns (campaign, manifest, assigned_round, joined_at, origin) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (campaign) DO UPDATE SET origin = excluded.origin WHERE origin IS NULL",
                (
                    bytes(manifest.campaign),
                    manifest.content,
                    draw_assignment(manifest.assignment, randomness),
                    int(seconds(self._clock)),
                    self._origin,
                ),
            )
        return self.session(manifest.campaign)

    def rehome(self, manifest: Manifest) -> None:
        """Have this ledger's server serve a joined campaign from now on; its reports that wait may go at once."""
        campaign = bytes(manifest.campaign)
        with self._storage.write() as connection:
            connection.execute("UPDATE campaigns SET origin = ? WHERE campaign = ?", (self._origin, campaign))
            connection.execute(
                "UPDATE reports SET failures = 0, postponed_at = 0, not_before = 0"
                " WHERE campaign = ? AND state = 'spooled'",
                (campaign,),
            )

    def session(self, campaign: CampaignId) -> Session:
        """The session of a campaign joined at this server, its pinned manifest checked again.

        Raises `NotJoined`, and `ServedElsewhere` for another server's campaign.
        """
        session, origin = self._joined(campaign)
        if origin != self._origin:
            raise ServedElsewhere(campaign, origin, self._origin)
        return session

    def knows(self, campaign: CampaignId) -> bool:
        """Whether the campaign was joined, at any server; raises `LedgerUnavailable` where its manifest is damaged."""
        try:
            self._joined(campaign)
        except NotJoined:
            return False
        return True

    def _joined(self, campaign: CampaignId) -> tuple[Session, str | None]:
        with self._storage.read() as connection:
            row = connection.execute(
                "SELECT manifest, assigned_round, origin FROM campaigns WHERE campaign = ?", (bytes(campaign),)
            ).fetchone()
            if row is None:
                raise NotJoined(campaign)
            content, assigned, origin = row
            session = Session(self._pinned(content, campaign), assigned)
            if (assigned is None) is isinstance(session.manifest.assignment, DrawOneRound) or assigned not in (
                None,
                0,
                1,
            ):
                raise ValueError("a round that nobody draws")
        return session, origin

    def pin_plans(self, session: Session, task: Task) -> None:
        """Remember the digests that the task names, by round; raises `PlanRefused` where one was another before.

        A round has one plan for all devices, permanently: a server that names two can distinguish devices by them.
        """
        named = dict(enumerate(map(bytes, task.device_parts)))
        with self._storage.read() as connection:
            if named.items() <= _pinned_plans(connection, session.campaign).items():
                return
        with self._storage.write() as connection:
            with self._storage.reading_rows():
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
            answered = _rounds(connection, session.campaign)
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
            if index in _rounds(connection, session.campaign):
                return AnswerStatus.ALREADY_ANSWERED
            with self._storage.reading_rows():
                now = self._advance(connection)
                spending = self._spending(connection, session.campaign, now)
            check_budget(spending, proved, session.manifest, self._config.caps)
            self._spool.check_room(connection)
            report = randomize()
            connection.execute(
                "INSERT INTO debits VALUES (?, ?, ?, ?)", (bytes(session.campaign), index, proved.nano, now)
            )
            self._spool.add(connection, session.campaign, index, report, retry)
        return AnswerStatus.RECORDED

    def opt_out(self, campaign: CampaignId) -> None:
        """Delete the campaign's reports and payloads permanently; its debits stay, and it is never answered again."""
        with self._storage.write() as connection:
            connection.execute(
                "INSERT INTO opt_outs VALUES (?, ?) ON CONFLICT DO NOTHING",
                (bytes(campaign), int(seconds(self._clock))),
            )
            connection.execute("DELETE FROM reports WHERE campaign = ?", (bytes(campaign),))

    def kept_part(self, digest: Digest) -> bytes | None:
        """The bytes of a stored device part; callers verify them again."""
        with self._storage.read() as connection:
            row = connection.execute("SELECT content FROM parts WHERE digest = ?", (bytes(digest),)).fetchone()
            return None if row is None else blob(row[0])

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

    def statement(self) -> tuple[list[Debit], dict[CampaignId, Joined], Spending]:
        """Debits in the order they were made, the campaigns they belong to and totals, in one consistent view."""
        with self._storage.read() as connection:
            debits = connection.execute(
                "SELECT campaign, round, nano, at, coalesce(state, 'deleted'), reason, body"
                " FROM debits LEFT JOIN reports USING (campaign, round) ORDER BY debits.rowid"
            )
            campaigns = connection.execute(
                "SELECT campaign, manifest, origin, opt_outs.at IS NOT NULL"
                " FROM campaigns LEFT JOIN opt_outs USING (campaign) ORDER BY campaigns.rowid"
            )
            now = max(math.ceil(seconds(self._clock)), _high_water(connection))
            return (
                [_debit(*row) for row in debits],
                {CampaignId(blob(campaign)): self._listed(campaign, *row) for campaign, *row in campaigns},
                self._spending(connection, None, now),
            )

    def _listed(self, campaign: bytes, manifest: bytes, origin: str | None, opted_out: int) -> Joined:
        return Joined(self._pinned(manifest, CampaignId(campaign)), origin, bool(opted_out))

    def _pinned(self, content: bytes, campaign: CampaignId) -> Manifest:
        try:
            return pin_manifest(blob(content), campaign)
        except PlanRefused as error:
            raise self._storage.damaged("a pinned manifest is not the one its digest names") from error

    def _advance(self, connection: sqlite3.Connection) -> int:
        """The ledger's time: the highest the clock ever showed at a debit, so that setting it back frees nothing."""
        now = max(math.ceil(seconds(self._clock)), _high_water(connection))
        connection.execute("INSERT OR REPLACE INTO marks VALUES (?, ?)", (_HIGH_WATER, now))
        return now

    def _spending(self, connection: sqlite3.Connection, campaign: CampaignId | None, now: int) -> Spending:
        row = connection.execute(
            "SELECT coalesce(sum(nano) FILTER (WHERE campaign = ?), 0), coalesce(sum(nano) FILTER (WHERE at > ?), 0),"
            " coalesce(sum(nano), 0) FROM debits",
            (campaign and bytes(campaign), now - self._config.caps.period_s),
        ).fetchone()
        return Spending(*(_whole(nano) for nano in row))


def _debit(
    campaign: bytes, index: int, nano: int, at: int, state: str, reason: str | None, body: bytes | None
) -> Debit:
    if state not in STATES or not isinstance(reason, str | None):
        raise ValueError("a state that is none")
    payloads = None if body is None else ReportBatch.read(blob(body)).payloads
    guarantee, when = PureEpsilon(_whole(nano)), _whole(at, LATEST_S)
    return Debit(
        campaign=CampaignId(blob(campaign)),
        round=_whole(index),
        guarantee=guarantee,
        at=when,
        state=state,
        reason=reason,
        payloads=payloads,
    )


def _whole(value: object, most: int = 2**63) -> int:
    """A count from a row, which may be damaged."""
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError("a number out of its range")
    return value


def _high_water(connection: sqlite3.Connection) -> int:
    row = connection.execute("SELECT value FROM marks WHERE name = ?", (_HIGH_WATER,)).fetchone()
    return 0 if row is None else _whole(row[0], LATEST_S)


def _opted_out(connection: sqlite3.Connection, campaign: CampaignId) -> bool:
    return connection.execute("SELECT 1 FROM opt_outs WHERE campaign = ?", (bytes(campaign),)).fetchone() is not None


def _rounds(connection: sqlite3.Connection, campaign: CampaignId) -> set[int]:
    return {index for (index,) in connection.execute("SELECT round FROM debits WHERE campaign = ?", (bytes(campaign),))}


def _pinned_plans(connection: sqlite3.Connection, campaign: CampaignId) -> dict[int, bytes]:
    rows = connection.execute("SELECT round, digest FROM pinned_plans WHERE campaign = ?", (bytes(campaign),))
    return {index: blob(digest) for index, digest in rows}


def _check_same_plan(campaign: CampaignId, index: int, pinned: bytes, named: bytes) -> None:
    if named != pinned:
        reason = f"it names plan {named.hex()} for round {index}, where an earlier one named {pinned.hex()}"
        raise PlanRefused("task", reason, campaign)
