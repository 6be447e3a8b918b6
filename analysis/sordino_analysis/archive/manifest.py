"""The list of an archive's parts, which is what gets added up: never whatever lies in a folder."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, fields
from functools import cached_property

from sordino_analysis.archive.errors import ArchiveError
from sordino_shared._checks import check_range
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import CampaignId, Digest

_VERSION = 1
# The largest integer that every reader of JSON keeps.
_MAX_NUMBER = (1 << 53) - 1
# Some 400,000 parts, of a hundred and fifty bytes each.
MAX_MANIFEST_BYTES = 1 << 26
# A part is read whole.
_MAX_PART_BYTES = 1 << 32
_MANIFEST_NAME = re.compile(r"_manifest-([0-9a-f]{64})\.json")
_PART_NAME = re.compile(r"part-[0-9]{5,9}\.parquet")
_SHA256 = re.compile(r"[0-9a-f]{64}")


def part_name(number: int) -> str:
    """The file of a part."""
    return f"part-{number:05d}.parquet"


def manifest_digest(name: str) -> str | None:
    """The SHA-256 (hex) in the name of a manifest's file; None for any other file."""
    found = _MANIFEST_NAME.fullmatch(name)
    return found[1] if found else None


@dataclass(frozen=True)
class ArchivedPart:
    """A file with `reports` payloads: its name in the archive, its size in bytes and its SHA-256 (hex)."""

    name: str
    reports: int
    size: int
    sha256: str

    def __post_init__(self) -> None:
        # A name with a slash would leave the folder.
        if not _PART_NAME.fullmatch(self.name):
            raise InvalidValue(f"{self.name!r} is not the name of a part", self.name)
        check_range(self.reports, 1, _MAX_NUMBER, f"{self.name}: reports")
        check_range(self.size, 1, _MAX_PART_BYTES, f"{self.name}: size")
        if not _SHA256.fullmatch(self.sha256):
            raise InvalidValue(f"{self.name}: sha256 is 64 hexadecimal digits", self)


@dataclass(frozen=True, kw_only=True)
class ArchiveManifest:
    """The parts of round `round` of a campaign, in order, with payloads of `width` bytes.

    `device` and `analyst` are the digests of the round's plan.
    """

    campaign: str
    round: int
    device: str
    analyst: str
    width: int
    parts: tuple[ArchivedPart, ...]

    def __post_init__(self) -> None:
        CampaignId.parse(self.campaign)
        Digest.parse(self.device)
        Digest.parse(self.analyst)
        check_range(self.round, 0, _MAX_NUMBER, "round")
        check_range(self.width, 1, _MAX_PART_BYTES, "width")
        names = [part.name for part in self.parts]
        if names != [part_name(number) for number in range(len(names))]:
            raise InvalidValue("parts are numbered from 0 on, each once", names)

    @property
    def reports(self) -> int:
        """How many reports all parts hold."""
        return sum(part.reports for part in self.parts)

    @cached_property
    def content(self) -> bytes:
        """Canonical JSON: sorted keys, no spaces."""
        plain = {"version": _VERSION, "reports": self.reports} | asdict(self)
        return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()

    @cached_property
    def digest(self) -> Digest:
        """SHA-256 of the content."""
        return Digest.of(self.content)

    @property
    def name(self) -> str:
        """The manifest's own file, named by its content."""
        return f"_manifest-{self.digest.hex()}.json"

    @classmethod
    def read(cls, name: str, content: bytes) -> ArchiveManifest:
        """The manifest of a file; raises ArchiveError where it is none, or not the one that its name promises."""
        if len(content) > MAX_MANIFEST_BYTES:
            raise ArchiveError(f"{name} is not the manifest of an archive: it has more than {MAX_MANIFEST_BYTES} bytes")
        try:
            plain = json.loads(content)
            manifest = _of_plain(plain)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise ArchiveError(f"{name} is not the manifest of an archive: {error}") from error
        if manifest.content != content or manifest.name != name:
            raise ArchiveError(f"{name} was changed: its content is not the one that its name promises")
        return manifest


def _of_plain(plain: dict[str, object]) -> ArchiveManifest:
    if plain["version"] != _VERSION:
        raise InvalidValue(f"version {plain['version']}; this software reads version {_VERSION}", plain["version"])
    listed = plain["parts"]
    if not isinstance(listed, list):
        raise InvalidValue("parts are a list", listed)
    own = {field.name: plain[field.name] for field in fields(ArchiveManifest)}
    return ArchiveManifest(**(own | {"parts": tuple(ArchivedPart(**part) for part in listed)}))  # type: ignore[arg-type]
