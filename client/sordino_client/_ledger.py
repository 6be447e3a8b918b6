"""The ε ledger: what this device joined, spent and left. A debit and its randomised report are one transaction."""

from __future__ import annotations

import logging
import math
import sqlite3
from collections.abc import Callable
from typing import Any

from sordino_client._accounting import Spending, check_budget
from sordino_client._arms import checked_arm, draw_arm
from sordino_client._clock import LATEST_S, Clock, seconds
from sordino_client._config import Config
from sordino_client._delivery import read_sent
from sordino_client._errors import NotJoined, OptedOut, ServedElsewhere
from sordino_client._former import read_kept_manifest
from sordino_client._kept import Kept, Prefetched
from sordino_client._ledger_view import Debit, Joined, LedgerView
from sordino_client._log_marks import LedgerRows
from sordino_client._log_marks import proofs as logged_proofs
from sordino_client._marks import come_back, high_water, leave, leave_all, left, left_all, left_all_at, set_high_water
from sordino_client._pins import is_pinned, pin_task, pinned_plans
from sordino_client._series_rows import SeriesState, states
from sordino_client._servers import check_pinned, check_same_server, source_at
from sordino_client._session import AnswerStatus, Report, Session, draw_assignment
from sordino_client._spool import AnswerTerms, Spool
from sordino_client._storage import Storage, blob, whole
from sordino_client._troubles import paused_among
from sordino_shared.errors import ProtocolError
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import CampaignId, Digest, DrawOneRound, Manifest, SealedReports, Task
from sordino_shared.quantities import quantity
from sordino_shared.randomness import Randomness

STATES = ("spooled", "delivered", "refused", "expired", "deleted")
_LOG = logging.getLogger("sordino_client")


class Ledger:
    """Campaigns, debits and opt-outs in one storage. Debits are never changed, deleted or refunded.

    Every campaign belongs to the server that it was joined at; this ledger's client speaks for `origin`.
    """

    def __init__(self, storage: Storage, spool: Spool, kept: Kept, origin: str, config: Config, clock: Clock) -> None:
        self._storage = storage
        self._spool = spool
        self._kept = kept
        self._origin = origin
        self._config = config
        self._clock = clock

    def join(self, manifest: Manifest, randomness: Randomness, fetched: Prefetched | None) -> Session:
        """Pin the manifest, draw this device's round once, and keep what was fetched, in one transaction.

        A second join only adds a missing server address. Raises `PlanRefused` for a task that contradicts an earlier
        one.
        """
        with self._storage.write() as connection:
            self.pin(connection, manifest, draw_assignment(manifest.assignment, randomness))
            draw_arm(connection, manifest, randomness)
            if fetched is not None:
                self._keep(connection, fetched)
            with self._storage.reading_rows():
                joined = self._read_joined(connection, manifest.campaign, manifest)
        return self._served_here(*joined)

    def keep(self, fetched: Prefetched) -> None:
        """Pin what the task of a joined campaign names, and keep it and its part; writes only what is new.

        Raises `PlanRefused` for a task that contradicts an earlier one.
        """
        with self._storage.read() as connection:
            if fetched.part is None and self._knows(connection, fetched.task):
                return
        with self._storage.write() as connection:
            self._keep(connection, fetched)

    def keep_part(self, digest: Digest, content: bytes) -> None:
        """Keep the bytes of a verified part."""
        with self._storage.write() as connection:
            self._kept.keep_part(connection, digest, content)

    def _knows(self, connection: sqlite3.Connection, task: Task) -> bool:
        return is_pinned(connection, task) and self._kept.has_task(connection, task)

    def _keep(self, connection: sqlite3.Connection, fetched: Prefetched) -> None:
        # Another process may have read a task meanwhile: what is pinned is looked at again.
        with self._storage.reading_rows():
            known = self._knows(connection, fetched.task)
        if not known:
            pin_task(connection, fetched.task)
            self._kept.keep_task(connection, fetched.task)
        if fetched.part is not None:
            self._kept.keep_part(connection, *fetched.part)

    def pin(self, connection: sqlite3.Connection, manifest: Manifest, assigned: int | None) -> None:
        """Write manifest, server and the round drawn, in the caller's transaction.

        Raises `OptedOut`, and `PlanRefused` where the manifest names servers and this one is none of them.
        """
        if left_all(connection):
            raise OptedOut
        connection.execute(
            "INSERT INTO campaigns (campaign, manifest, assigned_round, joined_at, origin, source)"
            " VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (campaign) DO UPDATE SET origin = excluded.origin WHERE origin IS NULL",
            (
                bytes(manifest.campaign),
                manifest.content,
                assigned,
                int(seconds(self._clock)),
                self._origin,
                source_at(manifest, self._origin),
            ),
        )

    def pinned(self, connection: sqlite3.Connection, campaign: CampaignId) -> Manifest:
        """The manifest of a joined campaign, checked again, in the caller's transaction."""
        (content,) = connection.execute(
            "SELECT manifest FROM campaigns WHERE campaign = ?", (bytes(campaign),)
        ).fetchone()
        return self._pinned(content, campaign)

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

        Raises `NotJoined`, and `ServedElsewhere` for another server's campaign: `ServerChanged` where the manifest
        names its servers and this is another one than the device keeps to.
        """
        return self._served_here(*self._joined(campaign))

    def session_of_any(self, campaign: CampaignId) -> Session:
        """The session, whichever server took it; raises `NotJoined`, `ServerChanged` where it may not move here."""
        session, origin, source = self._joined(campaign)
        check_same_server(session.manifest, source, origin, self._origin)
        return session

    def _joined(self, campaign: CampaignId) -> tuple[Session, str | None, str | None]:
        """The session, the address that the campaign was joined at, and the one of its servers that is kept to."""
        with self._storage.read() as connection:
            return self._read_joined(connection, campaign, None)

    def _read_joined(
        self, connection: sqlite3.Connection, campaign: CampaignId, manifest: Manifest | None
    ) -> tuple[Session, str | None, str | None]:
        """What `_joined` says, in the caller's transaction; `manifest` where it was pinned in this one."""
        row = connection.execute(
            "SELECT manifest, assigned_round, arm, origin, source FROM campaigns WHERE campaign = ?", (bytes(campaign),)
        ).fetchone()
        if row is None:
            raise NotJoined(campaign)
        content, assigned, arm, origin, source = row
        manifest = manifest or self._pinned(content, campaign)
        session = Session(manifest, assigned, checked_arm(manifest, arm))
        if (assigned is None) is isinstance(session.manifest.assignment, DrawOneRound) or assigned not in (
            None,
            *range(len(session.manifest.rounds)),
        ):
            raise ValueError("a round that nobody draws")
        check_pinned(session.manifest, source, origin)
        return session, origin, source

    def _served_here(self, session: Session, origin: str | None, source: str | None) -> Session:
        check_same_server(session.manifest, source, origin, self._origin)
        if origin != self._origin:
            raise ServedElsewhere(session.campaign, origin, self._origin)
        return session

    def named_plans(self, session: Session) -> dict[int, Digest]:
        """The device parts that tasks have named so far, by round."""
        with self._storage.read() as connection:
            return {index: Digest(plan) for index, plan in pinned_plans(connection, session.campaign).items()}

    def settled(self, session: Session) -> AnswerStatus | None:
        """Why no request is needed any more: the owner left, or every round of this device is answered."""
        with self._storage.read() as connection:
            if left(connection, session.campaign):
                return AnswerStatus.OPTED_OUT
            answered = _rounds(connection, session.campaign)
        return AnswerStatus.ALREADY_ANSWERED if answered.issuperset(session.rounds()) else None

    def opted_out(self, campaign: CampaignId) -> bool:
        """Whether the owner left this campaign, or all."""
        with self._storage.read() as connection:
            return left(connection, campaign)

    def record(
        self,
        session: Session,
        index: int,
        proved: PureEpsilon,
        terms: AnswerTerms,
        randomize: Callable[[], Report],
    ) -> AnswerStatus:
        """Check, randomise and commit {debit + report} under one exclusive lock, so nobody can do it twice.

        Raises `BudgetExceeded` or `SpoolFull` before anything is randomised. A dry run ends there.
        """
        with self._storage.write() as connection:
            if left(connection, session.campaign):
                return AnswerStatus.OPTED_OUT
            if index in _rounds(connection, session.campaign):
                return AnswerStatus.ALREADY_ANSWERED
            status = self.spend(connection, session, index, proved, terms, randomize)
            if status is AnswerStatus.RECORDED:
                # The report has its token. The blind beside it would tell who issued it which report it is in.
                connection.execute(
                    "DELETE FROM tokens WHERE campaign = ? AND round = ?", (bytes(session.campaign), index)
                )
            return status

    def spend(
        self,
        connection: sqlite3.Connection,
        session: Session,
        index: int,
        proved: PureEpsilon,
        terms: AnswerTerms,
        randomize: Callable[[], Report],
    ) -> AnswerStatus:
        """Check time, caps and room, randomise, and write debit and report, in the caller's transaction."""
        clock = seconds(self._clock)
        if terms.until is not None and clock >= terms.until:
            return AnswerStatus.NOT_OPEN
        with self._storage.reading_rows():
            now = max(math.ceil(clock), high_water(connection))
            spending = self._spending(connection, session.campaign, now)
        check_budget(spending, proved, session.manifest, self._config.caps)
        self._spool.check_room(connection)
        if self._config.dry_run:
            return AnswerStatus.DRY_RUN
        set_high_water(connection, now)
        report = randomize()
        # A debit counts when it is made: a time that a manifest or a task names would let a server empty the caps.
        connection.execute(
            "INSERT INTO debits (campaign, round, nano, at, period_start) VALUES (?, ?, ?, ?, ?)",
            (bytes(session.campaign), index, proved.nano, now, terms.period_start),
        )
        self._spool.add(connection, session.campaign, index, report, terms)
        return AnswerStatus.RECORDED

    def left_all(self) -> bool:
        """Whether the owner left all campaigns of this ledger."""
        with self._storage.read() as connection:
            return left_all(connection)

    def opt_out_all(self) -> None:
        """Delete every report and refuse to join, answer and send, until `opt_in`; debits stay."""
        with self._storage.write() as connection:
            leave_all(connection, int(seconds(self._clock)))
            connection.execute("DELETE FROM reports")

    def opt_in(self) -> None:
        """End what `opt_out_all` began; campaigns that were left one by one stay left."""
        with self._storage.write() as connection:
            come_back(connection)

    def opt_out(self, campaign: CampaignId) -> None:
        """Delete the campaign's reports and payloads permanently; its debits stay, and it is never answered again."""
        with self._storage.write() as connection:
            leave(connection, campaign, int(seconds(self._clock)))
            for table in ("reports", "tokens"):
                connection.execute(f"DELETE FROM {table} WHERE campaign = ?", (bytes(campaign),))

    def expire(self) -> None:
        """End what the clock has passed, permanently: waiting reports lose their payload, kept tasks are forgotten."""
        now = seconds(self._clock)
        with self._storage.read() as connection:
            if not self._spool.any_over(connection, now) and not self._kept.any_over(connection, now):
                return
        with self._storage.write() as connection:
            self._kept.expire(connection, now)
            reports = self._spool.expire(connection, now)
        if reports:
            _LOG.info("%s expired while waiting: payloads are deleted, debits stay.", quantity(reports, "report"))

    def statement(self) -> LedgerView:
        """Everything that the account says, in one consistent view."""
        with self._storage.read() as connection:
            debits = connection.execute(
                "SELECT campaign, round, nano, at, period_start, coalesce(state, 'deleted'),"
                " CASE WHEN state = 'spooled' THEN trouble ELSE reason END, body"
                " FROM debits LEFT JOIN reports USING (campaign, round) ORDER BY debits.rowid"
            )
            campaigns = connection.execute(
                "SELECT campaign, manifest, origin, opt_outs.at IS NOT NULL, found.population, arm,"
                " assigned_round FROM campaigns"
                " LEFT JOIN opt_outs USING (campaign) LEFT JOIN found USING (campaign) ORDER BY campaigns.rowid"
            )
            now = max(math.ceil(seconds(self._clock)), high_water(connection))
            series, paused = states(connection), paused_among(connection)
            return LedgerView(
                debits=[_debit(*row) for row in debits],
                joined={
                    CampaignId(blob(campaign)): self._listed(series, paused, campaign, *row)
                    for campaign, *row in campaigns
                },
                spending=self._spending(connection, None, now),
                left_all_at=left_all_at(connection),
                logged=logged_proofs(LedgerRows(connection)),
            )

    def _listed(
        self, series: dict[CampaignId, SeriesState], paused: set[CampaignId], row: bytes, manifest: bytes, *rest: Any
    ) -> Joined:
        campaign, (origin, opted_out, found, arm, assigned) = CampaignId(row), rest
        pinned = self._pinned(manifest, campaign)
        return Joined(
            manifest=pinned,
            assigned_round=None if assigned is None else whole(assigned),
            arm=checked_arm(pinned, arm),
            origin=origin,
            opted_out=bool(opted_out),
            series=series.get(campaign),
            found=found,
            paused=campaign in paused,
        )

    def _pinned(self, content: bytes, campaign: CampaignId) -> Manifest:
        try:
            return read_kept_manifest(blob(content), campaign)
        except ProtocolError as error:
            raise self._storage.damaged("a pinned manifest is not the one its digest names") from error

    def _spending(self, connection: sqlite3.Connection, campaign: CampaignId | None, now: int) -> Spending:
        row = connection.execute(
            "SELECT coalesce(sum(nano) FILTER (WHERE campaign = ?), 0), coalesce(sum(nano) FILTER (WHERE at > ?), 0),"
            " coalesce(sum(nano), 0) FROM debits",
            (campaign and bytes(campaign), now - self._config.caps.period_s),
        ).fetchone()
        return Spending(*(whole(nano) for nano in row))


def _debit(
    campaign: bytes,
    index: int,
    nano: int,
    at: int,
    period_start: int | None,
    state: str,
    reason: str | None,
    body: bytes | None,
) -> Debit:
    if state not in STATES or not isinstance(reason, str | None):
        raise ValueError("a state that is none")
    sent = None if body is None else read_sent(blob(body))
    payloads = None if sent is None else sent.sealed if isinstance(sent, SealedReports) else sent.payloads
    guarantee, when = PureEpsilon(whole(nano)), whole(at, LATEST_S)
    return Debit(
        campaign=CampaignId(blob(campaign)),
        round=whole(index),
        guarantee=guarantee,
        at=when,
        period_start=None if period_start is None else whole(period_start),
        state=state,
        reason=reason,
        payloads=payloads,
        sealed=isinstance(sent, SealedReports),
    )


def _rounds(connection: sqlite3.Connection, campaign: CampaignId) -> set[int]:
    return {index for (index,) in connection.execute("SELECT round FROM debits WHERE campaign = ?", (bytes(campaign),))}
