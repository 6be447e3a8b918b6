"""Many simulated devices at once: one verified plan, one connection, batches; law and wire are the devices' own.

A fleet differs from as many clients in three things only. Its ledgers are arrays in memory, so nothing survives the
process; manifest, task and plan are fetched and verified once for all of them; and reports leave in batches of up to
4096 on one connection, which reveals to the server that they come from one place. Never use it for real people.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.vectorized.domains import codes_many
from sordino_analysis.vectorized.randomizers import randomize_part
from sordino_analysis.vectorized.randomness import uniform_bits
from sordino_client._accounting import Spending, check_budget
from sordino_client._client import PATIENCE_S, Client
from sordino_client._clock import seconds
from sordino_client._delivery import Counted, Refused, RetryLater, delay_s, read_upload, upload
from sordino_client._errors import TransportFailed
from sordino_client._flow import Flow, Pause
from sordino_client._results import Campaign, campaign_id
from sordino_client._session import AnswerStatus, Session, VerifiedPart
from sordino_shared._checks import check_range
from sordino_shared.errors import InvalidValue, OversizedDocument
from sordino_shared.protocol import (
    MAX_REPORTS,
    CampaignId,
    DrawOneRound,
    ReportBatch,
    ReportId,
    RetryWindow,
    SealedReports,
    ShuffledRoute,
    Task,
)
from sordino_shared.randomness import Randomness

__all__ = ["DeviceFleet", "FleetFlushed"]

# A batch must stay below the limit of the document, with room for its header.
_BATCH_BYTES = ReportBatch.limit - 1024


@dataclass(frozen=True)
class FleetFlushed:
    """Reports by what became of them; `refused` counts by reason, `trouble` is the last reason to wait."""

    delivered: int
    refused: dict[str, int]
    waiting: int
    trouble: str | None


@dataclass
class _Tally:
    delivered: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    trouble: str | None = None

    def refuse(self, reason: str, count: int) -> None:
        self.refused[reason] = self.refused.get(reason, 0) + count


@dataclass(frozen=True)
class _Batch:
    round: int
    retry: RetryWindow
    count: int
    body: bytes


class DeviceFleet:
    """Simulated devices of one campaign, numbered from 0, behind one client's connection, caps and strictness.

    Raises `InvalidValue` for a series: its devices keep a phase and a clock, which a fleet has not; and for a campaign
    whose devices need a token each.
    """

    def __init__(self, client: Client, campaign: Campaign | CampaignId | str) -> None:
        self._client = client
        self._device = client._device
        self._session: Session = self._device.session(campaign_id(campaign))
        if self._session.series is not None:
            raise InvalidValue("a fleet answers no series: use one Client a device", campaign)
        if self._session.manifest.gate is not None:
            raise InvalidValue("a fleet asks for no tokens: use one Client a device", campaign)
        self._spent = np.zeros(0, dtype=np.int64)
        self._answered = np.zeros((len(self._session.manifest.rounds), 0), dtype=np.bool_)
        self._assigned = np.zeros(0, dtype=np.int64)
        self._arms = np.zeros(0, dtype=np.int64)
        self._spool: deque[_Batch] = deque()

    @property
    def waiting(self) -> int:
        """Reports that wait to be sent."""
        return sum(batch.count for batch in self._spool)

    def answer_many(
        self, values: Sequence[object], randomness: Randomness, *, first_device: int = 0
    ) -> dict[AnswerStatus, int]:
        """Device first_device + i answers values[i], once a round; returns how many ended in each status.

        `randomness` is seeded for a reproducible simulation. Raises what `Client.answer` raises, before any report of
        the call was kept.
        """
        check_range(first_device, 0, 2**40, "first device")
        task = self._client._run(self._device.fetch_task(self._session))
        index = self._session.open_round(task)
        devices = np.arange(first_device, first_device + len(values))
        if index is AnswerStatus.NOT_OPEN or not len(values):
            return _counts({AnswerStatus.NOT_OPEN: len(values)})
        assert task.round is not None
        verified = self._client._run(self._device.fetch_part(self._session, task, task.round))
        domain = self._session.manifest.domain
        for value in values:
            domain.check_shape(value)
        codes = codes_many(domain, values, strict=self._device.config.strict)
        codes_of_part = codes[:, verified.part.domain.places_in(domain)]
        return self._answer_codes(devices, codes_of_part, task, task.round, verified, randomness)

    def flush(self, patience_s: float = PATIENCE_S, progress: Callable[[int], None] | None = None) -> FleetFlushed:
        """Send what waits in batches; `progress` is told how many reports are settled after every batch."""
        return self._client._run(self._flush(patience_s, progress))

    def _answer_codes(
        self,
        devices: NDArray[np.int64],
        codes: NDArray[np.uint64],
        task: Task,
        index: int,
        verified: VerifiedPart,
        randomness: Randomness,
    ) -> dict[AnswerStatus, int]:
        self._enrol(int(devices[-1]) + 1, randomness)
        assigned = (self._assigned[devices] == index) | (self._assigned[devices] < 0)
        fresh = assigned & ~self._answered[index, devices]
        self._check_budget(devices[fresh], verified)
        payloads = randomize_part(verified.part, codes[fresh], randomness)
        self._spent[devices[fresh]] += verified.proved.nano
        self._answered[index, devices[fresh]] = True
        arms = self._arms[devices[fresh]]
        for arm in np.unique(arms).tolist():
            self._keep(payloads[arms == arm], task, index, verified, arm, randomness)
        return _counts(
            {
                AnswerStatus.RECORDED: int(fresh.sum()),
                AnswerStatus.ALREADY_ANSWERED: int((assigned & ~fresh).sum()),
                AnswerStatus.NOT_ASSIGNED: int((~assigned).sum()),
            }
        )

    def _enrol(self, devices: int, randomness: Randomness) -> None:
        """Ledgers for devices not seen before, each with its own draw of a round where the campaign has one."""
        new = devices - len(self._spent)
        if new <= 0:
            return
        assignment = self._session.manifest.assignment
        drawn = np.full(new, -1, dtype=np.int64)
        if isinstance(assignment, DrawOneRound):
            ends = np.cumsum(np.array(assignment.weights, dtype=np.uint64))
            drawn = np.searchsorted(ends, uniform_bits(randomness, 32, new), side="right").astype(np.int64)
        self._assigned = np.concatenate([self._assigned, drawn])
        self._arms = np.concatenate([self._arms, self._drawn_arms(new, randomness)])
        self._spent = np.concatenate([self._spent, np.zeros(new, dtype=np.int64)])
        self._answered = np.pad(self._answered, ((0, 0), (0, new)))

    def _drawn_arms(self, devices: int, randomness: Randomness) -> NDArray[np.int64]:
        """(devices,) the arm that each draws where the campaign has arms."""
        weights = [arm.weight for arm in self._session.manifest.arms]
        if not weights:
            return np.zeros(devices, dtype=np.int64)
        ends = np.cumsum(np.array(weights, dtype=np.uint64))
        return np.searchsorted(ends, uniform_bits(randomness, 16, devices), side="right").astype(np.int64)

    def _check_budget(self, devices: NDArray[np.int64], verified: VerifiedPart) -> None:
        spent = int(self._spent[devices].max(initial=0))
        # A fleet lives within one period: what a device spent, it spent in this one.
        caps, manifest = self._device.config.caps, self._session.manifest
        check_budget(Spending(spent, spent, spent), verified.proved, manifest, caps)

    def _keep(
        self,
        payloads: NDArray[np.uint8],
        task: Task,
        index: int,
        verified: VerifiedPart,
        arm: int,
        randomness: Randomness,
    ) -> None:
        if isinstance(self._session.manifest.route, ShuffledRoute):
            self._keep_sealed(payloads, task, index, verified, arm, randomness)
            return
        size = min(MAX_REPORTS, _BATCH_BYTES // (payloads.shape[1] + ReportId.LENGTH))
        if size == 0:
            raise InvalidValue("one report is larger than a batch may be", payloads.shape[1])
        for start in range(0, len(payloads), size):
            rows = payloads[start : start + size]
            ids = _report_ids(task.epoch, len(rows), randomness)
            batch = ReportBatch(verified.digest, ids, rows.tobytes(), arm)
            self._spool.append(_Batch(index, task.retry, len(rows), batch.content))

    def _keep_sealed(
        self,
        payloads: NDArray[np.uint8],
        task: Task,
        index: int,
        verified: VerifiedPart,
        arm: int,
        randomness: Randomness,
    ) -> None:
        """Each report sealed as a device of the arm seals it, as many in a request as fit."""
        of_arm = replace(self._session, arm=arm)
        reports = [of_arm.report(verified, index, task.epoch, payload.tobytes(), randomness) for payload in payloads]
        sealed = [report.sealed for report in reports if isinstance(report, SealedReports)]
        size = min(MAX_REPORTS, _BATCH_BYTES // len(sealed[0])) if sealed else 1
        for start in range(0, len(sealed), size):
            some = sealed[start : start + size]
            body = SealedReports(b"".join(some), len(some)).content
            self._spool.append(_Batch(index, task.retry, len(some), body))

    def _flush(self, patience_s: float, progress: Callable[[int], None] | None) -> Flow[FleetFlushed]:
        tally, failures = _Tally(), 0
        while self._spool:
            batch = self._spool[0]
            outcome = yield from self._send(batch)
            if isinstance(outcome, RetryLater):
                tally.trouble = outcome.reason
                wait = delay_s(batch.retry, failures, outcome.after_s, self._device.randomness)
                if wait > patience_s:
                    break
                patience_s, failures = patience_s - wait, failures + 1
                yield Pause(wait)
                continue
            _settle(tally, outcome, batch.count)
            self._spool.popleft()
            failures = 0
            if progress is not None:
                progress(tally.delivered + sum(tally.refused.values()))
        return FleetFlushed(tally.delivered, tally.refused, self.waiting, tally.trouble)

    def _send(self, batch: _Batch) -> Flow[Counted | Refused | RetryLater]:
        token = self._device.config.upload_token
        try:
            response = yield upload(self._session.campaign, batch.round, batch.body, token)
        except TransportFailed as error:
            return RetryLater(str(error), None, everything=True)
        except OversizedDocument as error:
            return RetryLater(str(error), None, everything=False)
        assert response is not None
        return read_upload(response, batch.count, seconds(self._device.clock))


def _report_ids(epoch: int, count: int, randomness: Randomness) -> bytes:
    """`count` ids: the task's epoch, then 14 random bytes each."""
    ids = np.empty((count, ReportId.LENGTH), dtype=np.uint8)
    ids[:, :2] = np.frombuffer(epoch.to_bytes(2, "big"), dtype=np.uint8)
    tail = ReportId.LENGTH - 2
    ids[:, 2:] = np.frombuffer(randomness.bytes(tail * count), dtype=np.uint8).reshape(count, tail)
    return ids.tobytes()


def _settle(tally: _Tally, outcome: Counted | Refused, count: int) -> None:
    if isinstance(outcome, Refused):
        tally.refuse(outcome.reason, count)
        return
    for refused in outcome.outcomes.refused:
        tally.refuse(refused.reason.value, 1)
    tally.delivered += count - len(outcome.outcomes.refused)


def _counts(counts: dict[AnswerStatus, int]) -> dict[AnswerStatus, int]:
    return {status: count for status, count in counts.items() if count}
