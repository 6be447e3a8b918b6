"""`sordino log verify`: read a server's public log, and compare it with what was seen before and what is asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sordino_server.cli import log_rotations
from sordino_server.cli.audited_campaign import fetched
from sordino_server.kit.clock import WallClock
from sordino_server.public_log.files import CHECKPOINT, MOST_CHECKPOINT, KnownTree, ServedFiles, read_entries
from sordino_server.public_log.sentences import sentence
from sordino_shared.audit import check_guarantee
from sordino_shared.errors import InvalidValue, NoAnswer, SordinoError
from sordino_shared.guarantees import exact_decimal
from sordino_shared.protocol import CampaignId, DevicePart, LogEntry, Manifest, ManifestSignatures, OpenCampaigns
from sordino_shared.protocol.log_entries import (
    EndState,
    LoggedCampaign,
    LoggedEnd,
    LoggedPlan,
    LoggedSigner,
    entry_fault,
)
from sordino_shared.protocol.log_keys import LogPins, TooFewWitnesses
from sordino_shared.protocol.log_notes import Checkpoint, read_checkpoint, read_text
from sordino_shared.protocol.log_proofs import MAX_PROOF_BYTES, LogProof
from sordino_shared.protocol.log_tree import leaf_hash

_DAY_S = 86_400


class Forked(SordinoError):
    """The log contradicts what it showed before; `note` is the checkpoint that does."""

    def __init__(self, message: str, note: str) -> None:
        super().__init__(message)
        self.note = note


class _Unserved(Exception):
    """What an entry is about is not served; the argument says what that is."""


class _Unnamed(Exception):
    """A key signed a manifest and is not in the log, perhaps not yet; the argument says which."""


@dataclass(kw_only=True)
class Monitored:
    """What a monitor keeps between two looks.

    `tiles` are the hashes of 256 entries each, `unserved` the entries whose manifest or plan was not served, both in
    hexadecimal digits; `note` is the checkpoint. `keys` are those of the log by its rotations, each with the time of
    its entry; `signers` are "added" or "withdrawn" by the key.
    """

    size: int = 0
    root: str | None = None
    tiles: list[str] = field(default_factory=list)
    campaigns: list[str] = field(default_factory=list)
    populations: list[str] = field(default_factory=list)
    unserved: list[str] = field(default_factory=list)
    # By rotations, [verifier key, when it was named]; and what the log says last of keys that sign manifests.
    keys: list[tuple[str, int]] = field(default_factory=list)
    signers: dict[str, str] = field(default_factory=dict)
    note: str = ""

    @classmethod
    def read(cls, file: Path | None) -> Monitored:
        """The state of a file, a new one where it is not there; raises InvalidValue."""
        if file is None or not file.exists():
            return cls()
        try:
            return cls(**json.loads(file.read_text("utf-8")))
        except OSError as error:
            raise InvalidValue(f"{file} cannot be read: {error.strerror}", file) from error
        except (ValueError, TypeError) as error:
            raise InvalidValue(f"{file} is no state of `sordino log verify`: name another file", file) from error

    def write(self, file: Path) -> None:
        """Keep it, whole or not at all."""
        unfinished = file.with_name(f".{file.name}.part")
        unfinished.write_text(json.dumps(vars(self)), "utf-8")
        unfinished.replace(file)


@dataclass
class Look:
    """What a look found: the checkpoint's text, the new entries, and each thing that is not true.

    `texts` has entries in words with what their manifests add, by subject.
    """

    note: str
    entries: list[LogEntry] = field(default_factory=list)
    lies: list[str] = field(default_factory=list)
    texts: dict[bytes, str] = field(default_factory=dict)

    def text(self, entry: LogEntry) -> str:
        """A new entry in words."""
        is_campaign = isinstance(entry.event, LoggedCampaign)
        return self.texts[entry.subject] if is_campaign and entry.subject in self.texts else sentence(entry)


def look(address: str, pins: LogPins, known: Monitored, now: int | None = None) -> Look:
    """Read what is new, check it, and bring `known` up to it.

    Raises `Forked` for a contradiction, MalformedDocument for files that do not fit, NoAnswer where there is none, or
    where too few witnesses cosigned yet.
    """
    files, moment = ServedFiles.at(address), WallClock().now() if now is None else now
    text = read_text(files.read(CHECKPOINT, MOST_CHECKPOINT))
    note = read_checkpoint(text)
    try:
        log_rotations.followed(pins, known.keys).accept(note, moment)
    except TooFewWitnesses as error:
        raise NoAnswer(str(error)) from error
    except InvalidValue as error:
        raise Forked(str(error), text) from error
    if note.size < known.size:
        raise Forked(f"the log has {note.size} entries, and {known.size} were seen before", text)
    found = Look(text, _new_entries(files, note, known, text))
    found.lies += log_rotations.misnamed(pins, known.keys, found.entries, note)
    known.keys += log_rotations.usable(known.keys, found.entries, note.origin)
    for each in found.entries:
        if isinstance(each.event, LoggedSigner):
            known.signers[each.subject.hex()] = str(each.event.change)
        elif isinstance(each.event, LoggedCampaign):
            known.campaigns.append(each.subject.hex())
            if each.event.population not in known.populations:
                known.populations.append(each.event.population)
    known.note = text
    found.lies += log_rotations.unsigned(pins, known.keys, note, moment)
    found.lies += _untrue_entries(address, found, known, moment)
    found.lies += _unlogged(address, log_rotations.followed(pins, known.keys), known, moment)
    return found


def _new_entries(files: ServedFiles, note: Checkpoint, known: Monitored, text: str) -> list[LogEntry]:
    """Entries behind the known ones; the tree of both must be the checkpoint's, and that of the known ones theirs."""
    full = [bytes.fromhex(each) for each in known.tiles]
    tree, old = KnownTree(list(full), []), KnownTree(list(full), [])
    entries: list[LogEntry] = []
    for bundle in read_entries(files, tree, note.size):
        before = old.size
        old.add([bytes(leaf_hash(each)) for each in bundle[: max(0, known.size - before)]])
        entries += [LogEntry.read(each) for each in bundle[max(0, known.size - before) :]]
    if tree.root() != note.root:
        raise Forked("the entries of the log are not those that its checkpoint was signed for", text)
    if known.root is not None and old.root().hex() != known.root:
        raise Forked(f"the first {known.size} entries of the log are others than before", text)
    known.size, known.root, known.tiles = note.size, note.root.hex(), [each.hex() for each in tree.tiles]
    return entries


def _untrue_entries(address: str, found: Look, known: Monitored, now: int) -> Iterator[str]:
    """What is wrong with new entries, and with earlier ones that were not served: these have a day."""
    new = found.entries
    ended = {
        each.subject for each in new if isinstance(each.event, LoggedEnd) and each.event.state == EndState.CANCELLED
    }
    before = known.unserved
    checked = [*(LogEntry.read(bytes.fromhex(each)) for each in before), *new]
    known.unserved = []
    for each in checked:
        try:
            fault = _fault(address, each, found.texts, known.signers)
        except _Unnamed as error:
            # Its entry may be waiting for the worker: the next look tells.
            known.unserved.append(each.content.hex())
            fault = str(error) if each.content.hex() in before else None
        except _Unserved as error:
            fault = None
            # A campaign that was deleted before it opened is not served.
            if each.subject not in ended:
                known.unserved.append(each.content.hex())
                late = _late(each, now)
                fault = None if late is None else f"{error} {late} and is not served"
        if fault is not None:
            yield fault


def _late(entry: LogEntry, now: int) -> str | None:
    """Why what an entry is about should be served by now; None where it has time."""
    if now > entry.at + _DAY_S:
        return "is in the log since more than a day"
    # Else a log that dates its entries ahead would have all the time that it likes.
    return "is in the log with a time that is yet to come" if entry.at > now + _DAY_S else None


def _unlogged(address: str, pins: LogPins, known: Monitored, now: int) -> Iterator[str]:
    """What is open for a population of the log and not in it."""
    for name in known.populations:
        content = _served(address, f"/v1/populations/{quote(name, safe='')}/open", OpenCampaigns.limit)
        listed = () if content is None else OpenCampaigns.read(content).campaigns
        for campaign in listed:
            if str(campaign) not in known.campaigns and not _is_newer(address, pins, campaign, known.size, now):
                yield f"campaign {campaign} is open for {name!r} and not in the log"


def _is_newer(address: str, pins: LogPins, campaign: CampaignId, size: int, now: int) -> bool:
    """Whether a campaign came to the log after the `size` entries of this look: the next one checks it."""
    content = _served(address, f"/v1/campaigns/{campaign}/log-proof", MAX_PROOF_BYTES)
    if content is None:
        return False
    try:
        proof = LogProof.read(content)
        LogPins(log=pins.log, others=pins.others).accept(proof.checkpoint, now)
    except SordinoError:
        return False
    return proof.index >= size and proof.entry.subject == bytes(campaign)


def _served(address: str, path: str, limit: int) -> bytes | None:
    """What is served there, None for nothing; a server that fails for another reason has not answered."""
    try:
        return fetched(address, path, limit)
    except InvalidValue as error:
        raise NoAnswer(str(error)) from error


def _fault(address: str, entry: LogEntry, texts: dict[bytes, str], signers: dict[str, str]) -> str | None:
    if isinstance(entry.event, LoggedCampaign):
        return _campaign_fault(address, entry, entry.event, texts) or _signer_fault(address, entry, signers)
    return _part_fault(address, entry.subject.hex(), None) if isinstance(entry.event, LoggedPlan) else None


def _campaign_fault(address: str, entry: LogEntry, event: LoggedCampaign, texts: dict[bytes, str]) -> str | None:
    campaign = CampaignId(entry.subject)
    content = _served(address, f"/v1/campaigns/{campaign}", Manifest.limit)
    if content is None:
        raise _Unserved(f"the manifest of campaign {campaign}")
    try:
        manifest = Manifest.read(content, campaign)
    except SordinoError as error:
        return f"the manifest of campaign {campaign}: {error}"
    if (fault := entry_fault(entry, manifest)) is not None:
        return fault
    texts[entry.subject] = sentence(entry, manifest)
    faults = (_part_fault(address, str(part), manifest) for part in event.parts)
    return next((each for each in faults if each is not None), None)


def _signer_fault(address: str, entry: LogEntry, signers: dict[str, str]) -> str | None:
    """A key that signed the manifest and that the log does not name; its own entry has a day to come."""
    campaign = CampaignId(entry.subject)
    content = _served(address, f"/v1/campaigns/{campaign}/signature", ManifestSignatures.limit)
    if content is None:
        return None
    try:
        signed = ManifestSignatures.read(content).signatures
    except SordinoError as error:
        return f"the signatures of campaign {campaign}: {error}"
    for each in signed:
        if each.key.hex() not in signers:
            raise _Unnamed(
                f"key {each.key.hex()} signed the manifest of campaign {campaign}, and the log does not name it"
            )
    return None


def _part_fault(address: str, digest: str, manifest: Manifest | None) -> str | None:
    content = _served(address, f"/v1/plans/{digest}", DevicePart.limit)
    if content is None:
        raise _Unserved(f"the plan {digest}")
    try:
        part = DevicePart.read(content)
        if str(part.digest) != digest:
            return f"the plan {digest} is served with other bytes"
        proved = check_guarantee(part)
    except SordinoError as error:
        return f"the plan {digest}: {error}"
    if manifest is not None and proved.nano > manifest.rounds[0].guarantee.nano:
        return f"the plan {digest} has ε {exact_decimal(proved.nano)}, more than its campaign says"
    return None


def document(found: Look) -> dict[str, Any]:
    """What --json prints of a look."""
    listed = [{"kind": each.event.kind, "at": each.at, "subject": each.subject.hex(), "text": found.text(each)}
              for each in found.entries]  # fmt: skip
    return {"new": listed, "lies": found.lies, "checkpoint": found.note}
