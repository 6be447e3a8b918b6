"""Reports that are sealed for the collector, on their way through a shuffler, and what the shuffler says of a round.

A sealed report is an ephemeral key (32 bytes), then the encrypted arm (one byte, only where the campaign has arms) and
payload, then a tag (16): one length for all reports of a round. Its id is the start of the digest of its bytes, so that
the order of a batch is a function of the set of its reports.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from itertools import pairwise
from typing import ClassVar

from sordino_shared._checks import check_range
from sordino_shared._records import dataclass
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol.documents import Document
from sordino_shared.protocol.experiments import MAX_ARMS, check_arm_index
from sordino_shared.protocol.ids import CampaignId, Digest, ReportId
from sordino_shared.protocol.reports import MAX_REPORTS
from sordino_shared.protocol.routes import MAX_BLANKET, MAX_ROUND, SIGNATURE_BYTES, check_key

# An ephemeral X25519 key and the tag of AES-GCM.
SEALING_BYTES = 48
MAX_PAGE = 2**32 - 1
_MIB_4 = 4 << 20
_INFO_CONTEXT = b"sordino sealed report v1\0"
_BATCH_CONTEXT = b"sordino batch v1\0"
# A count of a round that released nothing is told so far.
_ROUGHLY = 10


def sealing_info(campaign: CampaignId, number: int, device_digest: Digest) -> bytes:
    """`sordino sealed report v1` ‖ 0 ‖ campaign ‖ round ‖ device digest: the `info` of HPKE, 97 bytes.

    A report that was sealed for another campaign, round or plan opens to nothing.
    """
    check_range(number, 0, MAX_ROUND, "round")
    return _INFO_CONTEXT + campaign + number.to_bytes(8, "big") + device_digest


def sealed_plaintext(arm: int, arms: int, payload: bytes) -> bytes:
    """What is sealed: the arm as one byte where the campaign has `arms`, then the payload."""
    check_arm_index(arm)
    if arm >= max(arms, 1):
        raise InvalidValue(f"the campaign has no arm {arm}", arm)
    return (bytes([arm]) if arms else b"") + payload


def opened_plaintext(plaintext: bytes, arms: int) -> tuple[int, bytes] | None:
    """Arm and payload of what was sealed, arm 0 where the campaign has no `arms`; None for an arm that it lacks."""
    if not arms:
        return 0, plaintext
    return None if not plaintext or plaintext[0] >= arms else (plaintext[0], plaintext[1:])


def sealed_width(payload_bytes: int, arms: int) -> int:
    """Bytes of one sealed report; where reports have tokens, `payload_bytes` counts the token behind the payload."""
    return SEALING_BYTES + payload_bytes + (arms > 0)


def sealed_id(sealed: bytes) -> ReportId:
    """The first 16 bytes of the SHA-256 of a sealed report: how both parties name it."""
    return ReportId(hashlib.sha256(sealed).digest()[: ReportId.LENGTH])


def root_of(ids: list[ReportId]) -> Digest:
    """The SHA-256 of all ids of a batch in order."""
    return Digest.of(b"".join(ids))


def _split(sealed: bytes, count: int) -> list[bytes]:
    """The reports, all of one width; raises InvalidValue where they have none."""
    check_range(count, 1, MAX_REPORTS, "number of reports")
    if len(sealed) % count or len(sealed) // count <= SEALING_BYTES:
        raise InvalidValue(
            f"{count} sealed reports have one width of more than {SEALING_BYTES} bytes, got {len(sealed)} bytes",
            len(sealed),
        )
    width = len(sealed) // count
    return [sealed[start : start + width] for start in range(0, len(sealed), width)]


@dataclass(frozen=True)
class SealedReports(Document):
    """1 to 4096 sealed reports of one round, one behind the other."""

    document: ClassVar[str] = "sealed_reports"
    limit: ClassVar[int] = _MIB_4
    max_items: ClassVar[int] = 32

    sealed: bytes
    count: int

    def __post_init__(self) -> None:
        self.reports()

    def reports(self) -> list[bytes]:
        """The reports one by one."""
        return _split(self.sealed, self.count)


@dataclass(frozen=True)
class SealedOutcomes(Document):
    """After the commit: how many reports are new to the shuffler, and how many it had before."""

    document: ClassVar[str] = "sealed_outcomes"
    limit: ClassVar[int] = 256
    max_items: ClassVar[int] = 32

    accepted: int
    replayed: int

    def __post_init__(self) -> None:
        check_range(self.accepted, 0, MAX_REPORTS, "accepted")
        check_range(self.replayed, 0, MAX_REPORTS, "replayed")
        check_range(self.accepted + self.replayed, 1, MAX_REPORTS, "number of outcomes")


@dataclass(frozen=True, kw_only=True)
class ShuffledPage(Document):
    """1 to 4096 sealed reports of a batch, in the strictly ascending order of their ids."""

    document: ClassVar[str] = "shuffled_page"
    limit: ClassVar[int] = _MIB_4
    max_items: ClassVar[int] = 32

    campaign: CampaignId
    round: int
    page: int
    count: int
    sealed: bytes

    def __post_init__(self) -> None:
        check_range(self.round, 0, MAX_ROUND, "round")
        check_range(self.page, 0, MAX_PAGE, "page")
        if any(first >= second for first, second in pairwise(self.ids())):
            raise InvalidValue("the reports of a page are in strictly ascending order of their ids", self.page)

    def reports(self) -> list[bytes]:
        """The reports one by one."""
        return _split(self.sealed, self.count)

    def ids(self) -> list[ReportId]:
        """Their ids, in order."""
        return [sealed_id(report) for report in self.reports()]


class BatchEnd(StrEnum):
    """How a round ended at the shuffler: at its time, with too few reports, or given up by an operator."""

    TIME = "time"
    MISSED = "missed"
    ABANDONED = "abandoned"


@dataclass(frozen=True, kw_only=True)
class BatchStatement(Document):
    """What the shuffler says of a round, signed: how many reports came, how many it added, and the root of them all.

    A round that did not end by its time releases nothing: no report, no blanket, and `received` is told in tens.
    """

    document: ClassVar[str] = "batch_statement"
    limit: ClassVar[int] = 1 << 10
    max_items: ClassVar[int] = 32

    campaign: CampaignId
    round: int
    received: int
    blanket: int
    reports: int
    root: Digest
    ended: BatchEnd
    key: bytes
    signature: bytes

    def __post_init__(self) -> None:
        check_range(self.round, 0, MAX_ROUND, "round")
        check_range(self.received, 0, MAX_ROUND, "received")
        check_range(self.blanket, 0, MAX_ARMS * MAX_BLANKET, "blanket")
        check_range(self.reports, 0, MAX_ROUND, "reports")
        check_key(self.key, "key of the shuffler")
        if len(self.signature) != SIGNATURE_BYTES:
            raise InvalidValue(f"a signature has {SIGNATURE_BYTES} bytes, got {len(self.signature)}", self.signature)
        if self.ended is BatchEnd.TIME:
            self._check_released()
        else:
            self._check_withheld()

    @property
    def signed_message(self) -> bytes:
        """`sordino batch v1` ‖ 0 ‖ SHA-256 of the statement's bytes with 64 zeros for the signature: 49 bytes."""
        return _BATCH_CONTEXT + Digest.of(self.content_with(signature=bytes(SIGNATURE_BYTES)))

    def _check_released(self) -> None:
        if not self.blanket or self.reports != self.received + self.blanket:
            raise InvalidValue("reports are those received and a blanket of one or more", self.reports)

    def _check_withheld(self) -> None:
        if self.blanket or self.reports or self.root != Digest.of(b"") or self.received % _ROUGHLY:
            raise InvalidValue(
                "a round that released nothing has no blanket, no reports, the root of no ids, and tens received", self
            )
