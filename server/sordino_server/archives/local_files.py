"""The files of an archive on this machine: a worker deletes them without pyarrow, which only buckets need."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from sordino_analysis.archive.errors import ArchiveError
from sordino_analysis.archive.folder import Folder


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
