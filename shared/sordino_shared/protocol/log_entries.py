"""Entries of the public log: what a server asks, of whom, for how much ε, in bytes that are never changed."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from sordino_shared._checks import check_length, check_name, check_range, check_text
from sordino_shared._records import dataclass
from sordino_shared.domains import MAX_ATTRIBUTES
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol.campaigns import MAX_ROUNDS, Manifest
from sordino_shared.protocol.codec import encode_value
from sordino_shared.protocol.documents import Document
from sordino_shared.protocol.ids import CampaignId, Digest
from sordino_shared.protocol.routes import MAX_NANO_EPSILON
from sordino_shared.protocol.schema import to_plain
from sordino_shared.protocol.series import MAX_TIME, Rotating

# All names of 255 attributes would not fit an entry: so many bytes of them stand in it, in order.
NAMED_BYTES = 2048
_MAX_WORD = 2**64 - 1
_MAX_POLICY = 2000


@dataclass(frozen=True)
class LoggedAttribute:
    """An attribute by its name, and the index of its last member."""

    name: str
    largest: int

    def __post_init__(self) -> None:
        check_name(self.name, "attribute name")
        check_range(self.largest, 0, _MAX_WORD, "largest")


@dataclass(frozen=True, kw_only=True)
class LoggedCampaign:
    """A manifest that was sealed; the subject is its digest.

    `domain` is the digest of the domain's encoding, `attributes` how many it has, and `named` the first of them.
    """

    kind: ClassVar[str] = "campaign"
    name: str
    population: str
    nano_epsilon: int
    parts: tuple[Digest, ...]
    replaces: CampaignId | None
    domain: Digest
    attributes: int
    named: tuple[LoggedAttribute, ...]

    def __post_init__(self) -> None:
        check_name(self.name, "campaign name")
        check_name(self.population, "population")
        check_range(self.nano_epsilon, 0, MAX_NANO_EPSILON, "nano_epsilon")
        check_range(len(self.parts), 1, MAX_ROUNDS, "number of parts")
        check_range(self.attributes, 1, MAX_ATTRIBUTES, "number of attributes")
        check_range(len(self.named), 0, MAX_ATTRIBUTES, "number of named attributes")
        if len(self.named) > self.attributes:
            raise InvalidValue(f"{len(self.named)} attributes are named of {self.attributes}", self.attributes)
        if sum(map(_named_bytes, self.named)) > NAMED_BYTES:
            raise InvalidValue(f"the named attributes have at most {NAMED_BYTES} bytes together", self.named)


@dataclass(frozen=True)
class LoggedPlan:
    """The device part of a later round; the subject is its digest."""

    kind: ClassVar[str] = "plan"
    campaign: CampaignId
    round: int

    def __post_init__(self) -> None:
        check_range(self.round, 1, MAX_ROUNDS - 1, "round")


class EndState(StrEnum):
    """How a campaign ended."""

    CLOSED = "closed"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class LoggedEnd:
    """A campaign that ended; the subject is its id."""

    kind: ClassVar[str] = "end"
    state: EndState


class SignerChange(StrEnum):
    """What became of a key that signs manifests."""

    ADDED = "added"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True)
class LoggedSigner:
    """A key that signs manifests; the subject is the key. `expires` in Unix seconds, null: it does not."""

    kind: ClassVar[str] = "signer"
    change: SignerChange
    expires: int | None

    def __post_init__(self) -> None:
        if self.expires is not None:
            check_range(self.expires, 0, MAX_TIME, "expires")
        if self.expires is not None and self.change is SignerChange.WITHDRAWN:
            raise InvalidValue("a key that is withdrawn has no end", self.expires)


@dataclass(frozen=True)
class LoggedPolicy:
    """A public text: retention, purpose of the service, contact; the subject is the SHA-256 of its UTF-8."""

    kind: ClassVar[str] = "policy"
    text: str

    def __post_init__(self) -> None:
        check_length(self.text, 1, _MAX_POLICY, "text of a policy")
        check_text(self.text.replace("\n", " "), "text of a policy")


@dataclass(frozen=True)
class LoggedKey:
    """The log's next key, which is the subject."""

    kind: ClassVar[str] = "key"


LoggedEvent = LoggedCampaign | LoggedPlan | LoggedEnd | LoggedSigner | LoggedPolicy | LoggedKey


@dataclass(frozen=True)
class LogEntry(Document):
    """One entry: when it was written, in Unix seconds, about which 32 bytes, and what."""

    document: ClassVar[str] = "log_entry"
    limit: ClassVar[int] = 4 << 10
    max_items: ClassVar[int] = 1024

    at: int
    subject: bytes
    event: LoggedEvent

    def __post_init__(self) -> None:
        check_range(self.at, 0, MAX_TIME, "at")
        if len(self.subject) != Digest.LENGTH:
            raise InvalidValue(f"the subject of an entry has {Digest.LENGTH} bytes, got {len(self.subject)}", self)
        if isinstance(self.event, LoggedPolicy) and self.subject != Digest.of(self.event.text.encode()):
            raise InvalidValue("the subject of a policy is the SHA-256 of its text", self.subject)


def entry_of_manifest(manifest: Manifest, parts: tuple[Digest, ...], at: int) -> LogEntry:
    """The entry of a manifest, with the digests of the device parts that are known."""
    domain, law = manifest.domain, manifest.assignment
    named, left = [], NAMED_BYTES
    for attribute in domain.attributes:
        shown = LoggedAttribute(attribute.name, attribute.size - 1)
        left -= _named_bytes(shown)
        if left < 0:
            break
        named.append(shown)
    event = LoggedCampaign(
        name=manifest.name,
        population=manifest.population,
        nano_epsilon=manifest.device_guarantee.nano,
        parts=parts,
        replaces=law.replaces if isinstance(law, Rotating) else None,
        domain=Digest.of(encode_value(to_plain(domain))),
        attributes=len(domain.attributes),
        named=tuple(named),
    )
    return LogEntry(at, bytes(manifest.campaign), event)


def logged_parts(manifest: Manifest) -> tuple[Digest, ...]:
    """The digests of the device parts that a manifest names."""
    return tuple(terms.plan.device for terms in manifest.rounds if terms.plan is not None)


def entry_fault(entry: LogEntry, manifest: Manifest) -> str | None:
    """Why an entry is not the one of a manifest; None where it is, in every field."""
    if entry == entry_of_manifest(manifest, logged_parts(manifest), entry.at):
        return None
    if entry.subject != bytes(manifest.campaign) or not isinstance(entry.event, LoggedCampaign):
        return f"the entry of the log is about another thing than campaign {manifest.campaign}"
    return f"the entry of the log says other things than the manifest of campaign {manifest.campaign}"


def _named_bytes(attribute: LoggedAttribute) -> int:
    return len(encode_value(to_plain(attribute)))
