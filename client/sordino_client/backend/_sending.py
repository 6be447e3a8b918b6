"""What waits in a store goes in batches of one campaign, round and arm, in the order of random ids."""

from __future__ import annotations

from itertools import groupby

from sordino_client._clock import Clock, seconds
from sordino_client._delivery import Counted, Refused, RetryLater, delay_s, read_upload, upload
from sordino_client._errors import TransportFailed
from sordino_client._flow import Flow
from sordino_client._results import Flushed, RefusedUpload
from sordino_client.backend._campaigns import KeptCampaign, StoreCampaigns
from sordino_client.backend._databases import StoreDatabase
from sordino_shared.errors import OversizedDocument
from sordino_shared.protocol import MAX_REPORTS, ReportBatch, ReportId
from sordino_shared.randomness import Randomness

WAITS, DELIVERED, REFUSED, EXPIRED, DELETED = range(5)
_BEFORE_PAYLOAD = 1 + ReportId.LENGTH
Waiting = tuple[int, bytes]


class StoreSending:
    """Batches of a store, and when the next may be sent after trouble."""

    def __init__(
        self,
        database: StoreDatabase,
        campaigns: StoreCampaigns,
        origin: str,
        token: str | None,
        randomness: Randomness,
        clock: Clock,
    ) -> None:
        self._database, self._campaigns, self._origin, self._token = database, campaigns, origin, token
        self._randomness, self._clock = randomness, clock
        self._failures, self._not_before = 0, 0.0
        self._trouble: str | None = None
        self._tried_at: float | None = None

    def flush(self) -> Flow[Flushed]:
        """Send all that waits, once; after trouble nothing until its time."""
        delivered, refused = 0, list[RefusedUpload]()
        known = self._campaigns.by_number()
        self._expire(known)
        for number, index in [] if seconds(self._clock) < self._not_before else self._groups():
            sent, trouble = yield from self._send_group(known[number], index, refused)
            delivered += sent
            if trouble is not None and trouble.everything:
                break
        left = self._count()
        due = max(self._not_before - seconds(self._clock), 0.0)
        return Flushed(
            delivered=delivered,
            refused=tuple(refused),
            waiting=left,
            retry_in_s=due if left else None,
            trouble=self._trouble if left else None,
            tried_at=self._tried_at if left else None,
        )

    def _send_group(
        self, kept: KeptCampaign, index: int, refused: list[RefusedUpload]
    ) -> Flow[tuple[int, RetryLater | None]]:
        """Send what waits for one round or period, batch by batch: how many were counted, and what stopped it."""
        delivered = 0
        while waiting := self._waiting(kept.number, index):
            outcome = yield from self._send(kept, index, waiting)
            if isinstance(outcome, RetryLater):
                self._postpone(kept, outcome)
                return delivered, outcome
            delivered += self._settle(kept, index, waiting, outcome, refused)
        return delivered, None

    def _send(self, kept: KeptCampaign, index: int, waiting: list[Waiting]) -> Flow[Counted | Refused | RetryLater]:
        reports = [report for _, report in waiting]
        batch = ReportBatch(
            kept.part.digest,
            b"".join(report[1:_BEFORE_PAYLOAD] for report in reports),
            b"".join(report[_BEFORE_PAYLOAD:] for report in reports),
            reports[0][0],
        )
        try:
            response = yield upload(kept.manifest.campaign, index, batch.content, self._token)
        except TransportFailed as error:
            return RetryLater(str(error), None, everything=True)
        except OversizedDocument as error:
            return RetryLater(str(error), None, everything=False)
        assert response is not None
        return read_upload(response, len(reports), seconds(self._clock))

    def _settle(
        self, kept: KeptCampaign, index: int, waiting: list[Waiting], outcome: Counted | Refused,
        refused: list[RefusedUpload],
    ) -> int:  # fmt: skip
        """Write down what became of a batch; how many reports of it were counted."""
        if isinstance(outcome, Refused):
            reasons = dict.fromkeys(range(len(waiting)), outcome.reason)
        else:
            reasons = {each.index: each.reason.value for each in outcome.outcomes.refused}
        rows = [
            (REFUSED if place in reasons else DELIVERED, owner, kept.number, index)
            for place, (owner, _) in enumerate(waiting)
        ]
        with self._database.transaction() as database:
            # What was deleted meanwhile stays deleted.
            database.run_many(
                "UPDATE answers SET state = ?, report = NULL"
                " WHERE owner = ? AND campaign = ? AND round = ? AND state = 0",
                rows,
            )
        refused += [RefusedUpload(kept.manifest.campaign, index, reason) for reason in reasons.values()]
        self._failures, self._not_before, self._trouble, self._tried_at = 0, 0.0, None, None
        return len(waiting) - len(reasons)

    def _postpone(self, kept: KeptCampaign, outcome: RetryLater) -> None:
        now = seconds(self._clock)
        wait = delay_s(kept.task.retry, self._failures, outcome.after_s, self._randomness)
        self._failures, self._not_before = self._failures + 1, now + wait
        self._trouble, self._tried_at = outcome.reason, now

    def _groups(self) -> list[tuple[int, int]]:
        with self._database.transaction() as database:
            rows = database.rows(
                "SELECT DISTINCT campaign, round FROM answers WHERE state = 0"
                " AND campaign IN (SELECT number FROM campaigns WHERE origin = ?) ORDER BY 1, 2",
                self._origin,
            )
        return [(number, index) for number, index in rows]

    def _waiting(self, number: int, index: int) -> list[Waiting]:
        """At most a batch of one arm: owners and their reports, in the order of the random ids."""
        with self._database.transaction() as database:
            rows = database.rows(
                "SELECT owner, report FROM answers WHERE state = 0 AND campaign = ? AND round = ?"
                f" ORDER BY report LIMIT {MAX_REPORTS}",
                number,
                index,
            )
        found = [(owner, bytes(report)) for owner, report in rows]
        return next((list(group) for _, group in groupby(found, key=lambda each: each[1][0])), [])

    def _expire(self, known: dict[int, KeptCampaign]) -> None:
        now = seconds(self._clock)
        over = [(number, index) for number, index in self._groups() if _is_over(known[number], index, now)]
        if over:
            with self._database.transaction() as database:
                database.run_many(
                    f"UPDATE answers SET state = {EXPIRED}, report = NULL"
                    " WHERE state = 0 AND campaign = ? AND round = ?",
                    over,
                )

    def _count(self) -> int:
        with self._database.transaction() as database:
            [(count,)] = database.rows(
                "SELECT count(*) FROM answers WHERE state = 0"
                " AND campaign IN (SELECT number FROM campaigns WHERE origin = ?)",
                self._origin,
            )
        return int(count)


def _is_over(kept: KeptCampaign, index: int, now: float) -> bool:
    """Whether no report of a round or period counts any more."""
    if kept.law is not None:
        return now >= kept.law.accepted_until(index)
    return kept.task.accept_until is not None and now >= kept.task.accept_until
