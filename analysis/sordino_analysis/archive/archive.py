"""An archive that somebody finished, and the sums of its parts by any engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sordino_analysis.archive.aggregate_document import AggregateDocument
from sordino_analysis.archive.engines import Engine, PartSums, one_process
from sordino_analysis.archive.errors import ArchiveError
from sordino_analysis.archive.folder import Folder
from sordino_analysis.archive.manifest import MAX_MANIFEST_BYTES, ArchiveManifest, manifest_digest
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.progress import Progress, ProgressCallback, ignore_progress
from sordino_shared.errors import InvalidValue, ProtocolError
from sordino_shared.protocol import CampaignId, DevicePart, Digest
from sordino_shared.quantities import quantity


def device_part_name(digest: str) -> str:
    """The file of the device part."""
    return f"device-{digest}.cbor"


@dataclass(frozen=True)
class Archive:
    """The folder of one round: its manifest and the device part that its reports were made with."""

    folder: Folder
    manifest: ArchiveManifest
    device: DevicePart

    @classmethod
    def open(cls, url: str) -> Archive:
        """The archive in the folder at `url`.

        Raises ArchiveError where there is no manifest, or more than one, or where a file is not what its name
        promises.
        """
        folder = Folder.open(url)
        manifest = _manifest(folder)
        content = folder.read(device_part_name(manifest.device), DevicePart.limit + 1)
        if content is None:
            raise ArchiveError(f"{url}: {device_part_name(manifest.device)} is missing")
        try:
            device = DevicePart.read(content, Digest.parse(manifest.device))
        except ProtocolError as error:
            raise ArchiveError(f"{url}: {device_part_name(manifest.device)}: {error}") from error
        if device.randomizer.payload_bytes != manifest.width:
            raise ArchiveError(
                f"{url}: the manifest is of payloads of {quantity(manifest.width, 'byte')}, the plan of others"
            )
        return cls(folder, manifest, device)

    def chosen(self, first: int | None = None, last: int | None = None) -> tuple[int, ...]:
        """The numbers of the parts from `first` to `last`, both included; raises InvalidValue where one is missing."""
        number = len(self.manifest.parts)
        start, stop = first or 0, number - 1 if last is None else last
        if (first is not None or last is not None) and not 0 <= start <= stop < number:
            raise InvalidValue(f"the archive has parts 0 to {number - 1}, not {start} to {stop}", (start, stop))
        return tuple(range(start, stop + 1))

    def sums(
        self, numbers: Sequence[int], engine: Engine = one_process, progress: ProgressCallback = ignore_progress
    ) -> AggregateDocument:
        """What the parts with these numbers add up to; the same bytes by any engine.

        Raises BadPart, which names the file, where a part is not what the manifest says.
        """
        parts = [self.manifest.parts[number] for number in numbers]
        reports, total = sum(part.reports for part in parts), Aggregate.empty(self.device.randomizer)
        for found in engine(PartSums(self.device.randomizer, self.manifest.device, self.folder.address), parts):
            total += found
            progress(Progress(min(1.0, total.count / max(1, reports))))
        return AggregateDocument(
            campaign=CampaignId.parse(self.manifest.campaign),
            round=self.manifest.round,
            device_digest=self.device.digest,
            source=None,
            number=0,
            count=total.count,
            sums=total.to_bytes(),
            manifest=self.manifest.digest,
            parts=tuple(numbers),
            parts_in_all=len(self.manifest.parts),
        )


def _manifest(folder: Folder) -> ArchiveManifest:
    names = [name for name in folder.names() if manifest_digest(name)]
    if not names:
        raise ArchiveError(
            f"{folder.url} holds no finished archive: give the folder that has a _manifest file, or run the export "
            "again, which goes on where it stopped"
        )
    if len(names) > 1:
        raise ArchiveError(f"{folder.url} holds {len(names)} manifests: {', '.join(names)}; delete the wrong ones")
    content = folder.read(names[0], MAX_MANIFEST_BYTES + 1)
    if content is None:
        raise ArchiveError(f"{folder.url}: {names[0]} was deleted meanwhile")
    return ArchiveManifest.read(names[0], content)
