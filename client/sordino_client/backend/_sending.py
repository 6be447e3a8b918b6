"""What waits in a store goes in batches of one campaign, round and arm, in the order of random ids.

After trouble the server, or the one campaign that the trouble is about, waits for a time that grows with each failure.
"""

from __future__ import annotations

from itertools import groupby

from sordino_client._clock import Clock, seconds
from sordino_client._delivery import Counted, Refused, RetryLater, delay_s, read_upload, upload
from sordino_client._errors import TransportFailed
from sordino_client._flow import Flow
from sordino_client._results import Flushed, RefusedUpload
from sordino_client.backend._campaigns import KeptCampaign, StoreCampaigns
from sordino_client.backend._databases import StoreDatabase
from sordino_shared._records import dataclass
from sordino_shared.errors import OversizedDocument
from sordino_shared.protocol import MAX_REPORTS, ReportBatch, ReportId
from sordino_shared.randomness import Randomness

WAITS, DELIVERED, REFUSED, EXPIRED, DELETED = range(5)
_BEFORE_PAYLOAD = 1 + ReportId.LENGTH
# In place of a campaign's number, which is above 0.
_SERVER = 0


@dataclass(frozen=True)
class Waiting:
    """A report that waits: its owner, when it was drawn, and arm, id and payload."""

    owner: int
    at: int
    report: bytes


@dataclass(frozen=True)
class Trouble:
    """What failed last, how often in a row, when, and before which time nothing is tried again."""

    reason: str
    failures: int
    tried_at: float
    not_before: float


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
        self._trouble: dict[int, Trouble] = {}

    def flush(self) -> Flow[Flushed]:
        """Send all that waits, once; after trouble nothing that it is about until its time."""
        delivered, refused = 0, list[RefusedUpload]()
        with self._database.transaction() as database:
            # In one view: another process may join a campaign and answer it meanwhile.
            groups, known = self._groups(database), self._campaigns.by_number(database)
        self._expire(groups, known)
        for number, index in groups:
            held = self._held(number)
            if held is None or held.not_before <= seconds(self._clock):
                delivered += yield from self._send_group(known[number], index, refused)
        return self._flushed(delivered, refused)

    def _flushed(self, delivered: int, refused: list[RefusedUpload]) -> Flushed:
        with self._database.transaction() as database:
            groups, left, now = self._groups(database), self._count(database), seconds(self._clock)
        held = [self._held(number) for number, _ in groups]
        last = max((each for each in held if each is not None), key=lambda each: each.tried_at, default=None)
        waits = [0.0 if each is None else max(each.not_before - now, 0.0) for each in held]
        return Flushed(
            delivered=delivered,
            refused=tuple(refused),
            waiting=left,
            retry_in_s=min(waits, default=None),
            trouble=None if last is None else last.reason,
            tried_at=None if last is None else last.tried_at,
        )

    def _held(self, number: int) -> Trouble | None:
        """What holds back a campaign: trouble of its own or of the server, whichever lasts longer."""
        found = [self._trouble[each] for each in (_SERVER, number) if each in self._trouble]
        return max(found, key=lambda each: each.not_before, default=None)

    def _send_group(self, kept: KeptCampaign, index: int, refused: list[RefusedUpload]) -> Flow[int]:
        """Send what waits for one round or period, batch by batch, until trouble: how many were counted."""
        delivered = 0
        while waiting := self._waiting(kept.number, index):
            outcome = yield from self._send(kept, index, waiting)
            if not isinstance(outcome, RetryLater):
                delivered += self._settle(kept, index, waiting, outcome, refused)
                continue
            now = seconds(self._clock)
            lost = [each for each in waiting if outcome.given_up(each.at, now)]
            self._settle(kept, index, lost, Refused(outcome.reason), refused)
            if len(lost) < len(waiting):
                self._postpone(kept, outcome)
                break
        return delivered

    def _send(self, kept: KeptCampaign, index: int, waiting: list[Waiting]) -> Flow[Counted | Refused | RetryLater]:
        reports = [each.report for each in waiting]
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
            (REFUSED if place in reasons else DELIVERED, each.owner, kept.number, index)
            for place, each in enumerate(waiting)
        ]
        with self._database.transaction() as database:
            # What was deleted meanwhile stays deleted.
            database.run_many(
                "UPDATE answers SET state = ?, report = NULL"
                " WHERE owner = ? AND campaign = ? AND round = ? AND state = 0",
                rows,
            )
        refused += [RefusedUpload(kept.manifest.campaign, index, reason) for reason in reasons.values()]
        if waiting:
            self._trouble.pop(_SERVER, None)
            self._trouble.pop(kept.number, None)
        return len(waiting) - len(reasons)

    def _postpone(self, kept: KeptCampaign, outcome: RetryLater) -> None:
        now, about = seconds(self._clock), _SERVER if outcome.everything else kept.number
        before = self._trouble.get(about)
        failures = 0 if before is None else before.failures
        wait = delay_s(kept.task.retry, failures, outcome.after_s, self._randomness)
        self._trouble[about] = Trouble(outcome.reason, failures + 1, now, now + wait)

    def _groups(self, database: StoreDatabase) -> list[tuple[int, int]]:
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
                "SELECT owner, at, report FROM answers WHERE state = 0 AND campaign = ? AND round = ?"
                f" ORDER BY report LIMIT {MAX_REPORTS}",
                number,
                index,
            )
        found = [Waiting(owner, at, bytes(report)) for owner, at, report in rows]
        return next((list(group) for _, group in groupby(found, key=lambda each: each.report[0])), [])

    def _expire(self, groups: list[tuple[int, int]], known: dict[int, KeptCampaign]) -> None:
        now = seconds(self._clock)
        over = [(number, index) for number, index in groups if _is_over(known[number], index, now)]
        if over:
            with self._database.transaction() as database:
                database.run_many(
                    f"UPDATE answers SET state = {EXPIRED}, report = NULL"
                    " WHERE state = 0 AND campaign = ? AND round = ?",
                    over,
                )

    def _count(self, database: StoreDatabase) -> int:
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
