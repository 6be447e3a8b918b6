"""Report batches and their outcomes. Ids and payloads are columns, so that a server reads them without a loop."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Self

from sordino_shared._checks import check_increasing, check_range
from sordino_shared._records import dataclass
from sordino_shared.errors import InvalidValue, MalformedDocument
from sordino_shared.protocol.codec import LEAST_ARGUMENT
from sordino_shared.protocol.documents import Document
from sordino_shared.protocol.experiments import MAX_ARMS, check_arm_index
from sordino_shared.protocol.ids import Digest, ReportId

MAX_REPORTS = 4096


@dataclass(frozen=True)
class ReportBatch(Document):
    """1 to 4096 reports of one round: `ids` has 16 bytes a report, `payloads` one width for all, in the same order.

    They are all of devices of one `arm`, 0 where the campaign has no arms.
    """

    document: ClassVar[str] = "report_batch"
    limit: ClassVar[int] = 4 << 20
    max_items: ClassVar[int] = 32

    device_digest: Digest
    ids: bytes
    payloads: bytes
    arm: int = 0

    def __post_init__(self) -> None:
        check_arm_index(self.arm)
        if len(self.ids) % ReportId.LENGTH:
            raise InvalidValue(f"ids must be a whole number of {ReportId.LENGTH}-byte ids", len(self.ids))
        check_range(self.count, 1, MAX_REPORTS, "number of reports")
        if not self.payloads or len(self.payloads) % self.count:
            raise InvalidValue("payloads must have the same width for every report", len(self.payloads))

    @classmethod
    def read(cls, content: bytes, digest: Digest | None = None) -> Self:
        """As `Document.read`. A batch has one form, so that its bytes are cut and compared rather than decoded.

        Whatever differs in a byte goes to the general reader, which says what is wrong with it.
        """
        found = _columns(content) if digest is None and len(content) <= cls.limit else None
        if found is None:
            return super().read(content, digest)
        try:
            return cls(*found)
        except InvalidValue as error:
            raise MalformedDocument(str(error)) from error

    @property
    def count(self) -> int:
        return len(self.ids) // ReportId.LENGTH

    @property
    def width(self) -> int:
        """Bytes of one payload."""
        return len(self.payloads) // self.count

    def report_ids(self) -> list[bytes]:
        """The ids, in order."""
        return [self.ids[i : i + ReportId.LENGTH] for i in range(0, len(self.ids), ReportId.LENGTH)]


# The canonical bytes of a batch, but for its arm, which is one byte, and the heads and contents of its byte strings.
_BEFORE_ARM = b"\xa6carm"
_BEFORE_IDS = b"cids"
_BEFORE_PAYLOADS = b"gversion\x01hdocumentlreport_batchhpayloads"
_BEFORE_DIGEST = b"mdevice_digestX "
_BYTES_KIND = 2


def _columns(content: bytes) -> tuple[Digest, bytes, bytes, int] | None:
    """(device digest, ids, payloads, arm) of canonical bytes; None for anything else."""
    arm = content[len(_BEFORE_ARM)] if content.startswith(_BEFORE_ARM) and len(content) > len(_BEFORE_ARM) else MAX_ARMS
    if arm >= MAX_ARMS:
        return None
    ids, end = _byte_string(content, len(_BEFORE_ARM) + 1, _BEFORE_IDS)
    payloads, end = _byte_string(content, end, _BEFORE_PAYLOADS)
    if len(content) - end != len(_BEFORE_DIGEST) + Digest.LENGTH or not content.startswith(_BEFORE_DIGEST, end):
        return None
    return Digest(content[-Digest.LENGTH :]), ids, payloads, arm


def _byte_string(content: bytes, start: int, label: bytes) -> tuple[bytes, int]:
    """The byte string that follows `label` at `start`, and its end; an end beyond the content where there is none."""
    head = start + len(label)
    nowhere = b"", len(content) + 1
    if head >= len(content) or not content.startswith(label, start):
        return nowhere
    kind, info = divmod(content[head], 32)
    width = 0 if info < 24 else 1 << (info - 24)
    if kind != _BYTES_KIND or width > 4:
        return nowhere
    first = head + 1 + width
    length = int.from_bytes(content[head + 1 : first], "big") if width else info
    if width and length < LEAST_ARGUMENT[width]:
        return nowhere
    return content[first : first + length], first + length


class Refusal(StrEnum):
    """Why one report of an accepted request was not counted."""

    ID_CONFLICT = "report-id-conflict"
    OUTSIDE_ALPHABET = "payload-outside-alphabet"
    WRONG_EPOCH = "wrong-epoch"
    ROUND_FULL = "round-full"
    TOKEN_INVALID = "token-invalid"
    TOKEN_SPENT = "token-spent"


@dataclass(frozen=True)
class RefusedReport:
    """The report at `index` of the batch was refused."""

    index: int
    reason: Refusal

    def __post_init__(self) -> None:
        check_range(self.index, 0, MAX_REPORTS - 1, "index of a refused report")


@dataclass(frozen=True)
class ReportOutcomes(Document):
    """After the commit: how many reports are new, how many were counted before, and the refused ones in order."""

    document: ClassVar[str] = "report_outcomes"
    limit: ClassVar[int] = 1 << 20
    max_items: ClassVar[int] = 8 * MAX_REPORTS

    accepted: int
    replayed: int
    refused: tuple[RefusedReport, ...]

    def __post_init__(self) -> None:
        check_range(self.accepted, 0, MAX_REPORTS, "accepted")
        check_range(self.replayed, 0, MAX_REPORTS, "replayed")
        check_increasing([report.index for report in self.refused], "indices of refused reports")
        count = self.accepted + self.replayed + len(self.refused)
        check_range(count, 1, MAX_REPORTS, "number of outcomes")
        if self.refused:
            check_range(self.refused[-1].index, 0, count - 1, "index of a refused report")
