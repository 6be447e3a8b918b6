"""Sums that were made elsewhere, as one document: a job over parts, another region."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import ClassVar

from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_shared._checks import check_range
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import CampaignId, Digest, check_source
from sordino_shared.protocol.documents import Document
from sordino_shared.protocol.experiments import check_arm_index

# The largest integer that every reader of JSON keeps.
_MAX_NUMBER = (1 << 53) - 1
# A blanket of more reports is refused, as on the routes of the wire.
_MAX_BLANKET = 10**7


@dataclass(frozen=True, kw_only=True)
class AggregateDocument(Document):
    """`count` reports of a round and their sums, p little-endian 64-bit integers.

    `device_digest` names the plan that the devices ran; `source` names the server that took the reports in, or is None.
    `arm` is that of the devices, 0 where there are none; `blanket` of the reports are random ones of a shuffler.
    Of two documents of a source the one with the higher `number` counts. Sums of an archive have the digest of its
    `manifest`, the numbers of the `parts` that they cover, in increasing order, and the number of all parts; sums
    without an archive have None, no parts and 0.
    """

    document: ClassVar[str] = "aggregate"
    # The sums of 2^24 items, and the heads.
    limit: ClassVar[int] = (1 << 27) + (1 << 20)

    campaign: CampaignId
    round: int
    device_digest: Digest
    source: str | None
    number: int
    count: int
    sums: bytes
    manifest: Digest | None
    parts: tuple[int, ...]
    parts_in_all: int
    arm: int = 0
    blanket: int = 0

    def __post_init__(self) -> None:
        if self.source is not None:
            check_source(self.source)
        for name in ("round", "number", "count", "parts_in_all"):
            check_range(getattr(self, name), 0, _MAX_NUMBER, name)
        check_arm_index(self.arm)
        check_range(self.blanket, 0, _MAX_BLANKET, "blanket")
        if self.blanket > self.count:
            raise InvalidValue(f"{self.blanket} of {self.count} reports cannot be a shuffler's", self.blanket)
        for part in self.parts:
            check_range(part, 0, self.parts_in_all - 1, "part")
        if list(self.parts) != sorted(set(self.parts)):
            raise InvalidValue("parts are increasing numbers, each once", self.parts)
        # An archive of a round without reports has no parts.
        if self.manifest is None and self.parts_in_all:
            raise InvalidValue("parts are those of a manifest", self.parts_in_all)
        Aggregate.from_bytes(self.count, self.sums)

    @property
    def aggregate(self) -> Aggregate:
        """Count and sums (p,)."""
        return Aggregate.from_bytes(self.count, self.sums)

    @property
    def missing(self) -> int:
        """Parts of the manifest that are not in the sums."""
        return self.parts_in_all - len(self.parts)


def added(documents: Sequence[AggregateDocument]) -> AggregateDocument:
    """Sums of different parts of one archive and of one source, together, with the highest of their numbers.

    Raises InvalidValue for sums of different archives or of a part that is in two of them, and for none at all.
    """
    if not documents:
        raise InvalidValue("there are no sums to add up", documents)
    first = documents[0]
    parts: list[int] = []
    for each in documents:
        if each.manifest is None or _archive(each) != _archive(first):
            raise InvalidValue(
                "only sums of parts of one archive and one source are added; these name others too", each
            )
        if both := sorted(set(parts) & set(each.parts)):
            raise InvalidValue(f"part {both[0]} is in two of the files: it would count twice", both)
        parts += each.parts
    total = reduce(Aggregate.__add__, (each.aggregate for each in documents))
    number = max(each.number for each in documents)
    blanket = sum(each.blanket for each in documents)
    sums = total.to_bytes()
    return replace(first, number=number, count=total.count, sums=sums, parts=tuple(sorted(parts)), blanket=blanket)


def _archive(document: AggregateDocument) -> tuple[object, ...]:
    of = document
    return of.campaign, of.round, of.device_digest, of.source, of.arm, of.manifest, of.parts_in_all, len(of.sums)
