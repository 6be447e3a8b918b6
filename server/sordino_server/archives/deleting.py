"""The end of an archive: its files go with the reports that they hold, or nothing goes and the reason is said."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from sordino_analysis.archive.errors import ArchiveError
from sordino_analysis.archive.folder import UNFINISHED, Folder
from sordino_server.archives import repository
from sordino_server.kit.db import Database
from sordino_server.models import ArchiveRow
from sordino_shared.errors import SordinoError

_MANIFEST = re.compile(r"_manifest-([0-9a-f]{64})\.json")
_OTHER_FILES = re.compile(
    rf"part-[0-9]{{5,9}}\.parquet|device-[0-9a-f]{{64}}\.cbor|\.(part|device|_manifest)-[^/]*{re.escape(UNFINISHED)}"
)


class Files(Protocol):
    """The files of one folder, by name."""

    def names(self) -> list[str]:
        """The files in order; none where there is no folder. Raises SordinoError where it cannot be read."""
        ...

    def delete(self, name: str) -> None:
        """Delete a file, if it is there; raises SordinoError where it cannot be."""
        ...


@dataclass(frozen=True)
class LocalFiles:
    """The regular files of a folder of this machine."""

    folder: Path

    def names(self) -> list[str]:
        """The files in order; none where there is no folder."""
        try:
            found = [each.name for each in self.folder.iterdir() if stat.S_ISREG(each.lstat().st_mode)]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise ArchiveError(f"{self.folder}: {error.strerror}") from error
        return sorted(found)

    def delete(self, name: str) -> None:
        """Delete a file, if it is there."""
        try:
            (self.folder / name).unlink(missing_ok=True)
        except OSError as error:
            raise ArchiveError(f"{self.folder / name}: {error.strerror}") from error


def files_at(url: str) -> Files:
    """The files of an archive at a path, file://, or wherever pyarrow reads; raises SordinoError without it there."""
    parts = urlsplit(url)
    if "://" not in url:
        return LocalFiles(Path(url).absolute())
    if parts.scheme == "file" and parts.netloc in ("", "localhost"):
        return LocalFiles(Path(unquote(parts.path)))
    return Folder.open(url)


class ArchiveKept(SordinoError):
    """The archive of round `index` of a campaign at `url` could not be deleted, so its reports are kept too."""

    def __init__(self, campaign: str, index: int, url: str, reason: str) -> None:
        super().__init__(
            f"the reports of round {index} of campaign {campaign} are kept, since their archive {url} {reason}; make "
            f"it reachable from here, or delete it yourself and say so with: sordino export forget {url}"
        )
        self.campaign = campaign
        self.index = index
        self.url = url


def check_archives(database: Database, round_id: int, campaign: str, index: int) -> None:
    """Raises `ArchiveKept` for the first managed archive of a round that `delete_archives` would not delete."""
    for row in _managed(database, round_id):
        with _kept_if_failing(campaign, index, row.url):
            _names(row, files_at(row.url))


def delete_archives(database: Database, round_id: int, campaign: str, index: int, now: int) -> None:
    """Delete the files of every managed archive of a round, and forget them; may be broken off and done again.

    Raises `ArchiveKept` for the first that cannot be deleted.
    """
    for row in _managed(database, round_id):
        with _kept_if_failing(campaign, index, row.url):
            _delete(database, row, now)


def _managed(database: Database, round_id: int) -> list[ArchiveRow]:
    with database.read("read archives") as session:
        return [row for row in repository.of_round(session, round_id) if row.managed]


@contextmanager
def _kept_if_failing(campaign: str, index: int, url: str) -> Iterator[None]:
    try:
        yield
    except SordinoError as error:
        raise ArchiveKept(campaign, index, url, f"cannot be deleted ({error})") from error


def _names(row: ArchiveRow, folder: Files) -> list[str]:
    """The files of the archive, its manifest last; raises SordinoError where the folder is not as it was left."""
    names = folder.names()
    manifests = [found[1] for found in map(_MANIFEST.fullmatch, names) if found]
    if any(manifest != row.manifest for manifest in manifests):
        raise SordinoError("it holds the manifest of another archive")
    files = [name for name in names if _OTHER_FILES.fullmatch(name)]
    # An empty folder is no proof: this may be another machine than the one that exported. Without a manifest it is an
    # export that was broken off, maybe just before it wrote the manifest that it had noted.
    if not manifests and not files and row.deleting_at is None:
        raise SordinoError("it is not there, or not as it was left")
    return [*files, *(f"_manifest-{manifest}.json" for manifest in manifests)]


def _delete(database: Database, row: ArchiveRow, now: int) -> None:
    folder = files_at(row.url)
    found, number, url = _names(row, folder), row.round_id, row.url
    database.run("begin to delete archive", lambda session: repository.set_deleting(session, number, url, now))
    # The manifest last: while it is there, what was broken off goes on.
    for name in found:
        folder.delete(name)
    database.run("forget archive", lambda session: repository.forget(session, number, url))
