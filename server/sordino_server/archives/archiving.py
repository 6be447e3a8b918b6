"""The log of a closed round as an archive: parts of sorted payloads, the device part, and the manifest last."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
from sqlalchemy.orm import Session

from sordino_analysis.archive.archive import device_part_name
from sordino_analysis.archive.folder import Folder
from sordino_analysis.archive.manifest import ArchivedPart, ArchiveManifest, manifest_digest, part_name
from sordino_analysis.archive.parts import archived_part, part_content
from sordino_analysis.progress import Progress, ProgressCallback, ignore_progress
from sordino_server import aggregates, archives, rounds
from sordino_server.aggregates import AggregateMismatch, LogPurged
from sordino_server.aggregates.log_pages import log_pages
from sordino_server.kit.db import Database
from sordino_server.plans import service as plans
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import DevicePart, RoundState
from sordino_shared.quantities import quantity

# A million directions, or 16 million reports of a byte.
PART_BYTES = 16 << 20


@dataclass(frozen=True, kw_only=True)
class ArchivedRound:
    """A closed round whose log is there: row number, plan and how many reports its writers counted."""

    campaign: str
    index: int
    number: int
    device: DevicePart
    analyst: str
    counted: int


@dataclass(frozen=True)
class ExportTerms:
    """Whether retention deletes a `managed` archive with the reports, or the operator does; and the time."""

    managed: bool
    now: int


def archived_round(database: Database, campaign: str, index: int) -> ArchivedRound:
    """The round; raises RoundNotFound, LogPurged, and InvalidValue while it is open."""
    with database.read("read round to archive") as session:
        row = rounds.find(session, campaign, index)
        if row is None:
            raise rounds.RoundNotFound(campaign, index)
        if row.state == RoundState.OPEN:
            raise InvalidValue(f"round {index} is open: close it, then export its reports", index)
        if row.purged_at is not None:
            raise LogPurged(row.id, row.purged_at)
        if row.arms:
            raise InvalidValue("an archive holds no arms yet: the reports of an experiment stay in the database", index)
        device = plans.device_part(session, row.device_digest)
        counted = aggregates.counts_by_round(session, [row.id], own=True)[row.id]
        return ArchivedRound(
            campaign=campaign,
            index=index,
            number=row.id,
            device=device,
            analyst=row.analyst_digest,
            counted=counted,
        )


def archive_folder(url: str, archived: ArchivedRound) -> Folder:
    """Where below `url` the archive of the round is."""
    return Folder.open(url).below(f"campaign={archived.campaign}", f"round={archived.index}")


def export_round(
    database: Database,
    archived: ArchivedRound,
    folder: Folder,
    terms: ExportTerms,
    progress: ProgressCallback = ignore_progress,
) -> ArchiveManifest:
    """The same as `write_archive`, noted with the round before the first file is there, so that retention knows of it.

    The manifest is noted before it is there: killed between the two, retention still knows it for this server's, and
    its sums are still refused as this server's own reports. Raises as `write_archive` does; where the log was given up
    meanwhile, nothing that was written is left.
    """
    address, known = folder.address, set(folder.names())

    def note(session: Session) -> None:
        archives.begin(session, archived.number, address, terms.managed, terms.now)

    if _finished(folder, known) is None:
        database.run("begin archive", note)
    try:
        manifest = _write_parts(database, archived, folder, progress)
    except LogPurged:
        for name in set(folder.names()) - known:
            folder.delete(name)
        raise

    def finish(session: Session) -> None:
        note(session)
        archives.finish(session, archived.number, address, str(manifest.digest))

    database.run("finish archive", finish)
    folder.write(manifest.name, manifest.content)
    return manifest


def write_archive(
    database: Database, archived: ArchivedRound, folder: Folder, progress: ProgressCallback = ignore_progress
) -> ArchiveManifest:
    """Write what the folder does not have yet, the manifest last; one part is in memory at a time.

    A second run arrives at the same manifest. Raises AggregateMismatch where the log does not hold what the writers
    counted, LogPurged where it is given up meanwhile, ArchiveError where the folder cannot be written, and InvalidValue
    where it holds another finished archive, of which nothing is overwritten.
    """
    manifest = _write_parts(database, archived, folder, progress)
    folder.write(manifest.name, manifest.content)
    return manifest


def _write_parts(
    database: Database, archived: ArchivedRound, folder: Folder, progress: ProgressCallback
) -> ArchiveManifest:
    """Write parts and device part; the manifest that is still to be written."""
    device = archived.device
    known = set(folder.names())
    finished = _finished(folder, known)
    parts: list[ArchivedPart] = []
    written = 0
    for payloads in _payloads_of_parts(database, archived):
        if not len(payloads):  # the log goes meanwhile
            break
        content = part_content(payloads, str(device.digest))
        part = archived_part(part_name(len(parts)), len(payloads), content)
        if finished is not None and part not in finished.parts:
            raise _another(folder, finished)
        if part.name not in known or folder.read(part.name) != content:
            folder.write(part.name, content)
        parts.append(part)
        written += part.reports
        progress(
            Progress(
                min(1.0, written / max(1, archived.counted)),
                f"{quantity(written, 'report')} in {quantity(len(parts), 'part')}",
            )
        )
    if written != archived.counted:
        # Says so where the log is being given up.
        archived_round(database, archived.campaign, archived.index)
        raise AggregateMismatch(archived.number, archived.counted, written)
    manifest = ArchiveManifest(
        campaign=archived.campaign,
        round=archived.index,
        device=str(device.digest),
        analyst=archived.analyst,
        width=device.randomizer.payload_bytes,
        parts=tuple(parts),
    )
    if finished is not None and finished != manifest:
        raise _another(folder, finished)
    folder.write(device_part_name(manifest.device), device.content)
    return manifest


def _finished(folder: Folder, known: Collection[str]) -> ArchiveManifest | None:
    """The archive that somebody finished in the folder: its parts may be mended, and never become others."""
    for name in sorted(filter(manifest_digest, known)):
        if (content := folder.read(name)) is not None:
            return ArchiveManifest.read(name, content)
    return None


def _another(folder: Folder, finished: ArchiveManifest) -> InvalidValue:
    return InvalidValue(f"{folder.url} holds another archive's {finished.name}: choose another folder", finished.name)


def _payloads_of_parts(database: Database, archived: ArchivedRound) -> Iterator[np.ndarray]:
    """The payloads of each part, (n, width): whole chunks in order, at least PART_BYTES, but for the last part."""
    width = archived.device.randomizer.payload_bytes
    for chunks in aggregates.ranges_of_reports(database, archived.number, max(1, PART_BYTES // width)):
        yield np.concatenate(list(log_pages(database, archived.number, width, chunks)))
