"""A device in series: which period it is asked about, and how it joins and answers. Each request is the same for all.

Whether a request is made depends on the clock and the phase, never on a value. The server's time may prevent an answer
and never cause one: a server that could move the device's clock would collect an answer for every period.
"""

from __future__ import annotations

import logging
import sqlite3
from datetime import UTC, datetime

from sordino_client import _series_rows as rows
from sordino_client._clock import LATEST_S, Clock, seconds
from sordino_client._config import Config
from sordino_client._delivery import delay_s, server_time
from sordino_client._errors import NotASuccessor, PlanUnavailable, WrongArgument
from sordino_client._fetching import fetch_plan, fetch_response
from sordino_client._flow import Flow
from sordino_client._ledger import Ledger
from sordino_client._marks import leave, left, opted_out
from sordino_client._pins import has_number, pin_number
from sordino_client._results import Answer
from sordino_client._sentences import answered
from sordino_client._series_rows import SeriesState, first_state
from sordino_client._session import AnswerStatus, Session, VerifiedPart, verify_part
from sordino_client._shuffled import check_headline
from sordino_client._spool import AnswerTerms
from sordino_client._storage import Storage
from sordino_client._transport import Response
from sordino_client._troubles import is_paused, keep_paused
from sordino_shared._records import dataclass
from sordino_shared.protocol import (
    CampaignId,
    CampaignState,
    Manifest,
    Period,
    RetryWindow,
    Rotating,
    Task,
    successor_faults,
)
from sordino_shared.randomness import Randomness

_LOG = logging.getLogger("sordino_client")


@dataclass(frozen=True)
class _Pinned:
    """What never changes of a joined series."""

    session: Session
    law: Rotating
    phase: int


class Series:
    """The series of one ledger."""

    def __init__(self, storage: Storage, ledger: Ledger, config: Config, randomness: Randomness, clock: Clock) -> None:
        self._storage = storage
        self._ledger = ledger
        self._config = config
        self._randomness = randomness
        self._clock = clock
        self._pinned: dict[CampaignId, _Pinned] = {}
        self._parts: dict[CampaignId, VerifiedPart] = {}

    def join(self, manifest: Manifest, law: Rotating) -> Flow[Session]:
        """Fetch all that the series ever needs, then pin it and draw the phase, in one transaction."""
        session = Session(manifest, None)
        task = session.read_task((yield from self._fetch_task(session)).content)
        digest = task.device_parts[0]
        content = yield from fetch_plan(digest, self._config.largest_part, self._clock)
        verified = verify_part(content, digest)
        session.check_part(verified, 0)
        check_headline(manifest, verified.part)
        with self._storage.write() as connection:
            if rows.state_of(connection, session.campaign) is None:
                old = None if law.replaces is None else self._replaced(connection, manifest, law.replaces)
                self._ledger.pin(connection, manifest, None)
                drawn = self._randomness.below(law.slots)
                rows.add(connection, session.campaign, first_state(law, drawn, old), content, task.retry)
                if law.replaces is not None:
                    rows.close(connection, law.replaces, session.campaign)
                    if opted_out(connection, law.replaces):
                        leave(connection, session.campaign, int(seconds(self._clock)))
        return session

    def due(self, campaign: CampaignId) -> Period | None:
        """The period that this device is asked about now. No request; reads the ledger in periods of its phase only."""
        pinned, now = self._known(campaign), int(seconds(self._clock))
        if pinned.law.asked_at(pinned.phase, now) is None:
            return None
        asked = self._asked(campaign, pinned.law, now)
        return asked if isinstance(asked, Period) else None

    def next_due(self, campaign: CampaignId) -> datetime | None:
        """When there is a period to answer, from now on; None if there is none any more. No request."""
        pinned, now = self._known(campaign), int(seconds(self._clock))
        with self._storage.read() as connection:
            if left(connection, campaign):
                return None
            state = rows.state_of(connection, campaign)
            if state is None:
                raise ValueError("a series without its phase")
        moment = state.next_due(pinned.law, now)
        return None if moment is None or moment > LATEST_S else datetime.fromtimestamp(moment, UTC)

    def answer(self, session: Session, law: Rotating, value: object) -> Flow[Answer]:
        """Everything is fetched and verified before the value is looked at, as for other campaigns."""
        campaign = session.campaign
        asked = self._asked(campaign, law, int(seconds(self._clock)))
        if isinstance(asked, AnswerStatus):
            return Answer(asked, campaign)
        retry = yield from self._ask_server(session, law)
        if isinstance(retry, AnswerStatus):
            return Answer(retry, campaign, asked.number)
        verified = self.part(session)
        codes = session.codes(verified, value, strict=self._config.strict)
        status = self._record(session, law, asked, verified, codes, retry)
        _LOG.info("%s", answered(campaign, f"period {asked.number}", status))
        spent = verified.proved if status is AnswerStatus.RECORDED else None
        return Answer(status, campaign, asked.number, spent)

    def part(self, session: Session) -> VerifiedPart:
        """The device part that was pinned at joining, verified again when it is first used."""
        campaign = session.campaign
        if campaign not in self._parts:
            with self._storage.read() as connection:
                content = rows.part_of(connection, campaign)
            [terms] = session.manifest.rounds
            assert terms.plan is not None
            verified = verify_part(content, terms.plan.device)
            session.check_part(verified, 0)
            self._parts[campaign] = verified
        return self._parts[campaign]

    def running(self, law: Rotating) -> int:
        """The number of the period that runs now, 0 before the first."""
        return max(law.number_at(int(seconds(self._clock))), 0)

    def _known(self, campaign: CampaignId) -> _Pinned:
        if campaign not in self._pinned:
            session = self._ledger.session(campaign)
            law = session.series
            if law is None:
                raise WrongArgument(f"campaign {campaign} is no series: it has no periods, call answer()", campaign)
            with self._storage.read() as connection:
                state = rows.state_of(connection, campaign)
                if state is None or state.phase >= law.slots:
                    raise ValueError("a series without its phase")
            self._pinned[campaign] = _Pinned(session, law, state.phase)
        return self._pinned[campaign]

    def _asked(self, campaign: CampaignId, law: Rotating, now: int) -> Period | AnswerStatus:
        with self._storage.read() as connection:
            return _judged(connection, campaign, law, now)

    def _replaced(
        self, connection: sqlite3.Connection, manifest: Manifest, replaces: CampaignId
    ) -> tuple[Rotating, SeriesState]:
        """The series whose place the new one takes; raises `NotASuccessor`, before anything is written."""
        with self._storage.reading_rows():
            state = rows.state_of(connection, replaces)
        if state is None:
            raise NotASuccessor(manifest.campaign, replaces, "this ledger never joined that one: join it first")
        if state.replaced_by is not None:
            raise NotASuccessor(manifest.campaign, replaces, f"{state.replaced_by} has replaced that one")
        old = self._ledger.pinned(connection, replaces)
        faults = successor_faults(old, manifest)
        if faults or not isinstance(old.assignment, Rotating):
            raise NotASuccessor(manifest.campaign, replaces, "; ".join(faults))
        return old.assignment, state

    def _ask_server(self, session: Session, law: Rotating) -> Flow[RetryWindow | AnswerStatus]:
        """The retry window to send by, the one that was kept without a connection; or why nothing is answered."""
        with self._storage.read() as connection:
            kept = rows.retry_of(connection, session.campaign)
        try:
            response = yield from self._fetch_task(session)
        except PlanUnavailable as error:
            if not error.offline:
                raise
            _LOG.info(
                "There is no connection: campaign %s is answered by what was fetched at joining.", session.campaign
            )
            return kept
        shown = server_time(response)
        if shown is not None and abs(shown - seconds(self._clock)) > law.period_s:
            return AnswerStatus.CLOCK_DIFFERS
        task = session.read_task(response.content)
        self._keep(task, kept)
        return AnswerStatus.NOT_OPEN if task.round is None else task.retry

    def _keep(self, task: Task, kept: RetryWindow) -> None:
        """Remember the number, the retry window and the end that a task names, in one write where any is new."""
        ended = task.state in (CampaignState.CLOSED, CampaignState.CANCELLED)
        paused = not ended and task.round is None
        with self._storage.read() as connection:
            known = has_number(connection, task) and is_paused(connection, task.campaign) == paused
        if known and not ended and task.retry == kept:
            return
        with self._storage.write() as connection:
            with self._storage.reading_rows():
                # Another process may have read a later task meanwhile.
                has_number(connection, task)
            pin_number(connection, task)
            rows.keep_retry(connection, task.campaign, task.retry)
            keep_paused(connection, task.campaign, paused, seconds(self._clock))
            if ended:
                rows.end(connection, task.campaign)

    def _record(
        self,
        session: Session,
        law: Rotating,
        period: Period,
        verified: VerifiedPart,
        codes: list[int],
        retry: RetryWindow,
    ) -> AnswerStatus:
        """Judge again, randomise and write {debit, report, what the next answer waits for} under one lock."""
        campaign, number = session.campaign, period.number
        terms = AnswerTerms(
            retry=retry,
            until=None,
            expires_at=law.accepted_until(number),
            wait_s=self._wait_s(retry, law.accepted_until(number)) if self._config.background else 0.0,
            period_start=period.start,
        )
        with self._storage.write() as connection:
            now = int(seconds(self._clock))
            with self._storage.reading_rows():
                again = _judged(connection, campaign, law, now)
                state = rows.state_of(connection, campaign)
            if isinstance(again, AnswerStatus):
                return again
            if again != period or state is None:
                # The period ended while the server was asked: the value is about the one before.
                return AnswerStatus.NOT_THIS_PERIOD
            status = self._ledger.spend(
                connection,
                session,
                number,
                verified.proved,
                terms,
                lambda: session.report(
                    verified,
                    number,
                    law.epoch(number),
                    session.randomize(verified, codes, self._randomness),
                    self._randomness,
                ),
            )
            if status is AnswerStatus.RECORDED:
                rows.update(connection, campaign, state.after(law, period, now))
        return status

    def _wait_s(self, retry: RetryWindow, expires_at: int) -> float:
        """Drawn from the retry window, within half of the time that is left: a failed upload can be tried again."""
        most = max(expires_at - int(seconds(self._clock)), 0) // 2
        return delay_s(RetryWindow(min(retry.min_s, most), min(retry.max_s, most)), 0, None, self._randomness)

    def _fetch_task(self, session: Session) -> Flow[Response]:
        return (yield from fetch_response("task", f"/v1/campaigns/{session.campaign}/task", Task.limit, self._clock))


def _judged(connection: sqlite3.Connection, campaign: CampaignId, law: Rotating, now: int) -> Period | AnswerStatus:
    if left(connection, campaign):
        return AnswerStatus.OPTED_OUT
    state = rows.state_of(connection, campaign)
    if state is None:
        raise ValueError("a series without its phase")
    return state.period_to_answer(law, now)
