"""What a fake server counts: the checks of a server, in its order and with its words."""

from __future__ import annotations

from sordino_client.testing._campaign import TestCampaign
from sordino_client.testing._what_came import ReceivedReport
from sordino_shared.errors import ProtocolError
from sordino_shared.protocol import (
    CampaignState,
    Problem,
    RefusedReport,
    ReportBatch,
    ReportOutcomes,
    Rotating,
)
from sordino_shared.protocol.reports import Refusal
from sordino_shared.randomizers import RandomizedResponse

Kept = tuple[int, bytes]


class Uploads:
    """The reports of one campaign, by round and id."""

    def __init__(self) -> None:
        self.received: list[ReceivedReport] = []
        self._kept: dict[tuple[int, bytes], Kept] = {}

    def take(
        self, campaign: TestCampaign, state: CampaignState, paused: bool, number: int, body: bytes, now: int
    ) -> ReportOutcomes | Problem:
        """Count the reports of a body for round or period `number`, or say why none is counted."""
        if len(body) > ReportBatch.limit:
            return Problem.TOO_LARGE
        try:
            batch = ReportBatch.read(body)
        except ProtocolError:
            return Problem.MALFORMED_BODY
        problem = _why_closed(campaign.law, state, paused, number, now) or _why_another(campaign, batch)
        if problem is not None:
            return problem
        return self._count(campaign, number, batch, now)

    def _count(self, campaign: TestCampaign, number: int, batch: ReportBatch, now: int) -> ReportOutcomes:
        epoch = campaign.epoch(number)
        accepted, replayed, refused = 0, 0, []
        for index, identifier in enumerate(batch.report_ids()):
            payload = batch.payloads[index * batch.width : (index + 1) * batch.width]
            refusal = _refusal(campaign, identifier, payload, epoch)
            known = self._kept.get((number, identifier))
            if refusal is None and known not in (None, (batch.arm, payload)):
                refusal = Refusal.ID_CONFLICT
            if refusal is not None:
                refused.append(RefusedReport(index, refusal))
            elif known is not None:
                replayed += 1
            else:
                accepted += 1
                self._kept[number, identifier] = batch.arm, payload
                self.received.append(ReceivedReport(round=number, arm=batch.arm, payload=payload, at=now))
        return ReportOutcomes(accepted, replayed, tuple(refused))


def _why_closed(law: Rotating | None, state: CampaignState, paused: bool, number: int, now: int) -> Problem | None:
    """Why a round or period takes no reports now, None where it does."""
    if law is None and number > 0:
        return Problem.NOT_FOUND
    closed = state is not CampaignState.OPEN or paused
    if closed or (law is not None and not law.accepts(number, now)):
        return Problem.ROUND_NOT_OPEN
    return None


def _why_another(campaign: TestCampaign, batch: ReportBatch) -> Problem | None:
    """Why a batch is not one of this campaign, None where it is."""
    if batch.arm >= max(1, len(campaign.manifest.arms)):
        return Problem.INVALID_REQUEST
    return None if batch.device_digest == campaign.part.digest else Problem.PLAN_MISMATCH


def _refusal(campaign: TestCampaign, identifier: bytes, payload: bytes, epoch: int) -> Refusal | None:
    """Why one report does not count, whatever came before it; a payload by its width, and its range where it is one."""
    if identifier[:2] != epoch.to_bytes(2, "big"):
        return Refusal.WRONG_EPOCH
    randomizer = campaign.part.randomizer
    if len(payload) != randomizer.payload_bytes:
        return Refusal.OUTSIDE_ALPHABET
    outside = isinstance(randomizer, RandomizedResponse) and int.from_bytes(payload, "little") >= randomizer.size
    return Refusal.OUTSIDE_ALPHABET if outside else None
