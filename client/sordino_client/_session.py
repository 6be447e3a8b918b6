"""One device through the rounds of one campaign: pins, verifies, decides, randomises. Pure: no request, no file.

The device trusts nobody: every digest is recomputed, ε of every device part is proved from its integers before use,
and what the task says cannot contradict the manifest that was pinned at join.
"""

from __future__ import annotations

import logging
from enum import StrEnum

from sordino_client._errors import PlanRefused
from sordino_client._shuffled import check_can_seal, check_signed_task, sealed_report
from sordino_client._values import codes_of
from sordino_shared._records import dataclass
from sordino_shared.audit import check_guarantee
from sordino_shared.errors import InvalidValue, SordinoError
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import (
    CampaignId,
    DevicePart,
    Digest,
    DrawOneRound,
    Manifest,
    ReportBatch,
    ReportId,
    Rotating,
    RoundAssignment,
    SealedReports,
    ShuffledRoute,
    Task,
    check_built,
)
from sordino_shared.protocol.tokens import coin_of
from sordino_shared.randomness import Randomness

_LOG = logging.getLogger("sordino_client")

# What goes over the wire.
Report = ReportBatch | SealedReports


class AnswerStatus(StrEnum):
    """What became of `answer`. Only `recorded` spends; `already_answered` spent before.

    `not_this_period` and `clock_differs` are those of a series: it asks this device in another period, or the server's
    time is more than a period away from the device's.
    """

    RECORDED = "recorded"
    ALREADY_ANSWERED = "already_answered"
    NOT_OPEN = "not_open"
    NOT_ASSIGNED = "not_assigned"
    OPTED_OUT = "opted_out"
    DRY_RUN = "dry_run"
    NOT_THIS_PERIOD = "not_this_period"
    CLOCK_DIFFERS = "clock_differs"


@dataclass(frozen=True)
class VerifiedPart:
    """A device part with the digest it was checked against and the ε that its integers prove."""

    digest: Digest
    part: DevicePart
    proved: PureEpsilon


def verify_part(content: bytes, digest: Digest) -> VerifiedPart:
    """The device part that `digest` names, with ε proved; else `PlanRefused`."""
    try:
        part = DevicePart.read(content, digest)
        return VerifiedPart(digest, part, check_guarantee(part))
    except SordinoError as error:
        raise PlanRefused("plan", str(error)) from error


def pin_manifest(content: bytes, campaign: CampaignId) -> Manifest:
    """The manifest that `campaign` names: one manifest for everybody, or none."""
    try:
        return Manifest.read(content, campaign)
    except SordinoError as error:
        raise PlanRefused("manifest", str(error), campaign) from error


def check_joinable(manifest: Manifest) -> None:
    """Raise `PlanRefused` for a manifest that this version of the SDK, or this installation, cannot answer."""
    check_can_seal(manifest)
    try:
        check_built(manifest)
    except InvalidValue as error:
        raise PlanRefused("manifest", f"{error}; a later version of the SDK may join it", manifest.campaign) from error


def draw_assignment(assignment: RoundAssignment, randomness: Randomness) -> int | None:
    """The one round this device answers, drawn once and locally; None when it answers every round."""
    if not isinstance(assignment, DrawOneRound):
        return None
    return assignment.drawn(randomness.bits(32))


@dataclass(frozen=True)
class Session:
    """A pinned manifest, and the one round, or the arm, drawn for this device where the campaign has it draw one."""

    manifest: Manifest
    assigned_round: int | None
    arm: int | None = None

    @property
    def arm_name(self) -> str | None:
        """The name of the arm that this device drew; None where the campaign has none."""
        return None if self.arm is None else self.manifest.arms[self.arm].name

    @property
    def campaign(self) -> CampaignId:
        return self.manifest.campaign

    @property
    def token_bytes(self) -> int:
        """Bytes of the token behind a payload; 0 in a campaign without tokens."""
        return self.manifest.token_bytes

    @property
    def series(self) -> Rotating | None:
        """The law of a series; None for any other campaign."""
        assignment = self.manifest.assignment
        return assignment if isinstance(assignment, Rotating) else None

    def rounds(self) -> tuple[int, ...]:
        """The rounds that this device may answer."""
        if self.assigned_round is not None:
            return (self.assigned_round,)
        return tuple(range(len(self.manifest.rounds)))

    def read_task(self, content: bytes) -> Task:
        """The task, if it fits the manifest."""
        try:
            task = Task.read(content)
        except SordinoError as error:
            raise self._refused("task", str(error)) from error
        if task.campaign != self.campaign:
            raise self._refused("task", f"it belongs to campaign {task.campaign}")
        fault = check_signed_task(self.manifest, task)
        if fault is not None:
            raise self._refused("task", fault)
        if len(task.device_parts) > len(self.manifest.rounds):
            raise self._refused("task", f"it has more rounds than the manifest's {len(self.manifest.rounds)}")
        for index, (named, terms) in enumerate(zip(task.device_parts, self.manifest.rounds, strict=False)):
            if terms.plan is not None and named != terms.plan.device:
                raise self._refused(
                    "task", f"it names plan {named} for round {index}, the manifest {terms.plan.device}"
                )
        return task

    def open_round(self, task: Task) -> int | AnswerStatus:
        """The round to answer now, or why there is none."""
        if task.round is None:
            return AnswerStatus.NOT_OPEN
        return task.round if task.round in self.rounds() else AnswerStatus.NOT_ASSIGNED

    def check_part(self, verified: VerifiedPart, index: int) -> None:
        """Raise `PlanRefused` unless the part keeps to the manifest's attributes and to ε of round `index`."""
        terms = self.manifest.rounds[index]
        try:
            verified.part.domain.places_in(self.manifest.domain)
        except InvalidValue as error:
            raise self._refused("plan", "its domain is not the manifest's, nor some attributes of that") from error
        if verified.part.guarantee.nano > terms.guarantee.nano:
            raise self._refused(
                "plan",
                f"it claims {verified.part.guarantee}, the manifest allows {terms.guarantee}",
            )

    def codes(self, verified: VerifiedPart, value: object, *, strict: bool) -> list[int]:
        """The indices of a value's members in the attributes of the part.

        Raises `WrongShape`, and `NotListed` where `strict`.
        """
        domain = self.manifest.domain
        codes = codes_of(domain, value, strict=strict)
        for attribute, became in domain.coerced(value).items():
            _LOG.warning("In the value for campaign %s, attribute %r: %s.", self.campaign, attribute, became)
        return [codes[place] for place in verified.part.domain.places_in(domain)]

    def randomize(
        self, verified: VerifiedPart, codes: list[int], randomness: Randomness, coin: Randomness | None = None
    ) -> bytes:
        """One draw for a value's `codes`: the only place where it meets randomness."""
        return verified.part.randomize(codes, randomness, coin)

    def answer(
        self, verified: VerifiedPart, number: int, epoch: int, codes: list[int], token: bytes, randomness: Randomness
    ) -> Report:
        """What is sent of a value's `codes`, with the token behind the payload; one draw, as `randomize`.

        With a token, what is public of the payload is drawn from its coin, as the server will draw it again.
        """
        coin = coin_of(self.campaign, number, verified.digest, token) if token else None
        payload = self.randomize(verified, codes, randomness, coin)
        return self.report(verified, number, epoch, payload + token, randomness)

    def report(self, verified: VerifiedPart, number: int, epoch: int, payload: bytes, randomness: Randomness) -> Report:
        """What is sent of a payload, and its token, for round `number`: under a fresh id, or sealed for a shuffler."""
        if isinstance(self.manifest.route, ShuffledRoute):
            return sealed_report(self.manifest, verified.digest, number, payload, self.arm)
        identifier = ReportId(epoch.to_bytes(2, "big") + randomness.bytes(ReportId.LENGTH - 2))
        return ReportBatch(verified.digest, bytes(identifier), payload, self.arm or 0)

    def _refused(self, what: str, reason: str) -> PlanRefused:
        return PlanRefused(what, reason, self.campaign)
