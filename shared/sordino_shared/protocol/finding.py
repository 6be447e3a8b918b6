"""How a device finds campaigns: the public list of what is open for a population, and who signed a manifest."""

from __future__ import annotations

import hashlib
from itertools import pairwise
from typing import ClassVar

from sordino_shared._checks import check_name, check_range
from sordino_shared._records import dataclass
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol.campaigns import Manifest
from sordino_shared.protocol.documents import Document
from sordino_shared.protocol.ids import CampaignId
from sordino_shared.protocol.routes import SIGNATURE_BYTES

MAX_LISTED = 256
MAX_LIST_NUMBER = 2**40
MAX_SIGNATURES = 4
PUBLIC_KEY_BYTES = 32
_CONTEXT = b"sordino manifest v1\0"


@dataclass(frozen=True, kw_only=True)
class OpenCampaigns(Document):
    """The campaigns of one round that are open for a population: the same bytes for everybody.

    `number` grows with every campaign of the population that opens or ends, so that an old list is told from a new one.
    """

    document: ClassVar[str] = "open_campaigns"
    limit: ClassVar[int] = 16 << 10
    max_items: ClassVar[int] = 512

    population: str
    number: int
    campaigns: tuple[CampaignId, ...]

    def __post_init__(self) -> None:
        check_name(self.population, "population")
        check_range(self.number, 0, MAX_LIST_NUMBER, "number")
        check_range(len(self.campaigns), 0, MAX_LISTED, "number of campaigns")
        if any(first >= second for first, second in pairwise(self.campaigns)):
            raise InvalidValue("the campaigns of a list are in ascending order, each once", self.campaigns)


@dataclass(frozen=True)
class KeySignature:
    """Ed25519 (RFC 8032): a public key and its signature of `signed_message`."""

    key: bytes
    signature: bytes

    def __post_init__(self) -> None:
        for name, value, length in (
            ("key", self.key, PUBLIC_KEY_BYTES),
            ("signature", self.signature, SIGNATURE_BYTES),
        ):
            if len(value) != length:
                raise InvalidValue(f"an Ed25519 {name} has {length} bytes, got {len(value)}", value)


@dataclass(frozen=True)
class ManifestSignatures(Document):
    """The operators' signatures of a manifest, outside of what its digest names."""

    document: ClassVar[str] = "manifest_signatures"
    limit: ClassVar[int] = 1 << 10
    max_items: ClassVar[int] = 32

    campaign: CampaignId
    signatures: tuple[KeySignature, ...]

    def __post_init__(self) -> None:
        check_range(len(self.signatures), 1, MAX_SIGNATURES, "number of signatures")
        keys = [each.key for each in self.signatures]
        if any(first >= second for first, second in pairwise(keys)):
            raise InvalidValue("signatures are in ascending order of their keys, each key once", keys)


def _check_bytes(value: bytes, length: int, what: str) -> None:
    if len(value) != length:
        raise InvalidValue(f"an Ed25519 {what} has {length} bytes, got {len(value)}", value)


def signed_message(manifest: Manifest) -> bytes:
    """`sordino manifest v1` ‖ 0 ‖ SHA-256(population in UTF-8) ‖ campaign: 84 bytes."""
    return _CONTEXT + hashlib.sha256(manifest.population.encode()).digest() + bytes(manifest.campaign)
