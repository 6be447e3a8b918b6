"""What the ledger holds of a series beside its manifest: phase, part, and what the next answer waits for."""

from __future__ import annotations

import sqlite3

from sordino_client._session import AnswerStatus
from sordino_client._storage import blob, whole
from sordino_shared._records import dataclass, replace
from sordino_shared.protocol import CampaignId, Period, RetryWindow, Rotating


@dataclass(frozen=True, kw_only=True)
class SeriesState:
    """One device in one series.

    It answers no period before `next_period` and not before `next_at`, in Unix seconds of the device's clock: both
    follow from its last answer in this series or in the one that it replaced, and no other campaign moves them.
    `answers` counts those of the replaced series too.
    """

    phase: int
    answers: int
    next_period: int
    next_at: int
    ended: bool
    replaced_by: CampaignId | None

    def period_to_answer(self, law: Rotating, now: int) -> Period | AnswerStatus:
        """The period to answer at `now`, or why there is none."""
        if self.replaced_by is not None or self.ended:
            return AnswerStatus.NOT_OPEN
        period = law.asked_at(self.phase, now)
        if period is None:
            return AnswerStatus.NOT_THIS_PERIOD
        if self.answers >= law.answers_max or period.number == self.next_period - law.slots:
            return AnswerStatus.ALREADY_ANSWERED
        if period.number < self.next_period or now < self.next_at:
            return AnswerStatus.NOT_THIS_PERIOD
        return period

    def next_due(self, law: Rotating, now: int) -> int | None:
        """The first second from `now` on at which there is a period to answer; None if there is none any more.

        Period n of this phase may be answered from `accepted_from(n)` on, for `answering_s` seconds.
        """
        if self.replaced_by is not None or self.ended or self.answers >= law.answers_max:
            return None
        earliest = max(now, self.next_at)
        over = (earliest - law.answering_s - law.accepted_from(0)) // law.period_s
        least = max(self.next_period, over + 1, 0)
        number = least + (self.phase - least) % law.slots
        return max(earliest, law.accepted_from(number))

    def after(self, law: Rotating, period: Period, now: int) -> SeriesState:
        """The state after an answer about `period` at `now`.

        late_s is taken off: a late answer about an earlier period must not keep the device from its next one.
        """
        return replace(
            self,
            answers=self.answers + 1,
            next_period=period.number + law.slots,
            next_at=max(self.next_at, now + law.pause_s - law.late_s),
        )


def first_state(law: Rotating, drawn: int, old: tuple[Rotating, SeriesState] | None) -> SeriesState:
    """The state at joining: of phase `drawn`, or what the replaced series leaves.

    The phase is kept where the slots are. Nothing is answered before the replaced series could have been answered
    again, and its answers count.
    """
    if old is None:
        return SeriesState(phase=drawn, answers=0, next_period=0, next_at=0, ended=False, replaced_by=None)
    before, state = old
    return SeriesState(
        phase=state.phase if law.slots == before.slots else drawn,
        answers=state.answers,
        next_period=state.next_period,
        next_at=state.next_at + before.late_s if state.answers else 0,
        ended=False,
        replaced_by=None,
    )


def state_of(connection: sqlite3.Connection, campaign: CampaignId) -> SeriesState | None:
    """The state of a series; None for any other campaign."""
    row = connection.execute(
        "SELECT phase, answers, next_period, next_at, ended, replaced_by FROM series WHERE campaign = ?",
        (bytes(campaign),),
    ).fetchone()
    return None if row is None else _state(*row)


def states(connection: sqlite3.Connection) -> dict[CampaignId, SeriesState]:
    """The states of all series of the ledger."""
    rows = connection.execute("SELECT campaign, phase, answers, next_period, next_at, ended, replaced_by FROM series")
    return {CampaignId(blob(campaign)): _state(*row) for campaign, *row in rows}


def add(
    connection: sqlite3.Connection, campaign: CampaignId, state: SeriesState, part: bytes, retry: RetryWindow
) -> None:
    """Pin a series with the bytes of its device part and the retry window that its task names."""
    connection.execute(
        "INSERT INTO series (campaign, phase, answers, next_period, next_at, part, retry_min_s, retry_max_s)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            bytes(campaign),
            state.phase,
            state.answers,
            state.next_period,
            state.next_at,
            part,
            retry.min_s,
            retry.max_s,
        ),
    )


def update(connection: sqlite3.Connection, campaign: CampaignId, state: SeriesState) -> None:
    """Write what an answer changed."""
    connection.execute(
        "UPDATE series SET answers = ?, next_period = ?, next_at = ? WHERE campaign = ?",
        (state.answers, state.next_period, state.next_at, bytes(campaign)),
    )


def close(connection: sqlite3.Connection, campaign: CampaignId, replaced_by: CampaignId) -> None:
    """No further answer: another series took this one's place."""
    connection.execute("UPDATE series SET replaced_by = ? WHERE campaign = ?", (bytes(replaced_by), bytes(campaign)))


def end(connection: sqlite3.Connection, campaign: CampaignId) -> None:
    """No further answer: the server says that the series is over."""
    connection.execute("UPDATE series SET ended = 1 WHERE campaign = ?", (bytes(campaign),))


def part_of(connection: sqlite3.Connection, campaign: CampaignId) -> bytes:
    """The bytes of the device part; callers verify them again."""
    (part,) = connection.execute("SELECT part FROM series WHERE campaign = ?", (bytes(campaign),)).fetchone()
    return blob(part)


def retry_of(connection: sqlite3.Connection, campaign: CampaignId) -> RetryWindow:
    """The retry window of the task that was read last."""
    row = connection.execute(
        "SELECT retry_min_s, retry_max_s FROM series WHERE campaign = ?", (bytes(campaign),)
    ).fetchone()
    return RetryWindow(*row)


def keep_retry(connection: sqlite3.Connection, campaign: CampaignId, retry: RetryWindow) -> None:
    """Replace the retry window."""
    connection.execute(
        "UPDATE series SET retry_min_s = ?, retry_max_s = ? WHERE campaign = ?",
        (retry.min_s, retry.max_s, bytes(campaign)),
    )


def _state(
    phase: object, answers: object, next_period: object, next_at: object, ended: object, replaced_by: object
) -> SeriesState:
    return SeriesState(
        phase=whole(phase),
        answers=whole(answers),
        next_period=whole(next_period),
        next_at=whole(next_at),
        ended=bool(ended),
        replaced_by=None if replaced_by is None else CampaignId(blob(replaced_by)),
    )
