"""The folder of an archive, wherever pyarrow can write: this machine, S3, Google Cloud Storage, Azure."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from sordino_analysis.answers.parquet import check_pyarrow
from sordino_analysis.archive.errors import ArchiveError

# Ends the name of a file that is being written on this machine; one is left where the process is killed.
UNFINISHED = ".unfinished"
# Google's library by itself repeats a request for 15 minutes, without a word.
_REPEATS_S = 10
_ADVICE = "; check the network, the address, and the credentials in this process's environment, then run it again"
_SCHEMES = "use a path, file://, s3://, gs:// or abfs://"


@dataclass(frozen=True)
class Folder:
    """Files of one folder. A file is there whole or not at all."""

    url: str
    filesystem: Any
    path: str

    @classmethod
    def open(cls, url: str) -> Folder:
        """The folder at `url`: a path, or file://, s3://, gs://, abfs://.

        Raises SordinoError without pyarrow, and ArchiveError for an address that it cannot open.
        """
        fs = _pyarrow_fs()
        _check_address(url)
        if "://" not in url:
            return cls(url, fs.LocalFileSystem(), str(Path(url).absolute()))
        from pyarrow import ArrowException

        try:
            filesystem, path = fs.FileSystem.from_uri(_bounded(url))
        except (ValueError, OSError, ArrowException) as error:
            raise ArchiveError(f"{url} cannot be opened: {' '.join(str(error).split())}; {_SCHEMES}") from error
        return cls(url, filesystem, path)

    @property
    def address(self) -> str:
        """The same folder for processes with another working directory."""
        return self.url if "://" in self.url else self.path

    def below(self, *names: str) -> Folder:
        """A folder in this one."""
        # A store that is not Amazon's has its address behind a question mark.
        address, mark, options = self.url.partition("?") if "://" in self.url else (self.url, "", "")
        url = "/".join((address.rstrip("/"), *names)) + mark + options
        return Folder(url, self.filesystem, "/".join((self.path, *names)))

    def names(self) -> list[str]:
        """The files of the folder in order; none where there is no folder."""
        fs = _pyarrow_fs()
        with self._explained():
            found = self.filesystem.get_file_info(fs.FileSelector(self.path, allow_not_found=True))
        return sorted(each.base_name for each in found if each.type == fs.FileType.File)

    def read(self, name: str, at_most: int | None = None) -> bytes | None:
        """The content of a file, the first `at_most` bytes of it; None where there is none.

        Raises ArchiveError for what is no regular file: a pipe has no end, and a device no size.
        """
        fs = _pyarrow_fs()
        path = f"{self.path}/{name}"
        with self._explained():
            try:
                if isinstance(self.filesystem, fs.LocalFileSystem):
                    return _read_regular(path, at_most)
                with self.filesystem.open_input_file(path) as file:
                    # As much as was asked for is allocated at once.
                    content: bytes = file.read(file.size() if at_most is None else min(file.size(), at_most))
            except FileNotFoundError:
                return None
        return content

    def write(self, name: str, content: bytes) -> None:
        """Write a whole file: object stores show it when its upload is complete, here it is renamed when it is."""
        fs = _pyarrow_fs()
        target = f"{self.path}/{name}"
        with self._explained():
            self.filesystem.create_dir(self.path, recursive=True)
            if isinstance(self.filesystem, fs.LocalFileSystem):
                _write_renamed(Path(target), content)
                return
            with self.filesystem.open_output_stream(target, compression=None) as stream:
                stream.write(content)

    def delete(self, name: str) -> None:
        """Delete a file, if it is there."""
        with self._explained(), suppress(FileNotFoundError):
            self.filesystem.delete_file(f"{self.path}/{name}")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        from pyarrow import ArrowException

        try:
            yield
        except (OSError, ArrowException) as error:
            advice = _ADVICE if "://" in self.url and not self.url.startswith("file://") else ""
            raise ArchiveError(f"{self.url}: {' '.join(str(error).split())}{advice}") from error


def _bounded(url: str) -> str:
    """The address with a limit on how long requests are repeated, unless it has one."""
    if not url.startswith(("gs://", "gcs://")) or "retry_limit_seconds=" in url:
        return url
    return f"{url}{'&' if '?' in url else '?'}retry_limit_seconds={_REPEATS_S}"


def _check_address(url: str) -> None:
    """Raises ArchiveError for what pyarrow would misread, or would show in its messages."""
    if not url:
        raise ArchiveError(f"the address of an archive is empty: {_SCHEMES}")
    if re.match(r"[A-Za-z][\w+.-]+:/(?!/)", url):
        raise ArchiveError(f"{url} is neither a path nor a URL, which has two slashes: {_SCHEMES}")
    if url.startswith(("s3a://", "s3n://")):
        raise ArchiveError(f"{url} is Hadoop's way to write it: say s3://{url[6:]}")
    if "://" in url and ":" in urlsplit(url).netloc.rpartition("@")[0]:
        raise ArchiveError(
            "leave the password out of the archive's address, which messages and results show: pyarrow takes "
            "credentials from the environment or from the machine"
        )


def _read_regular(path: str, at_most: int | None) -> bytes:
    with open(path, "rb", opener=_opened_at_once) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{path} is no regular file")
        return file.read(status.st_size if at_most is None else min(status.st_size, at_most))


def _opened_at_once(path: str, flags: int) -> int:
    # A pipe that nobody writes to is waited for otherwise.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _write_renamed(target: Path, content: bytes) -> None:
    unfinished = target.with_name(f".{target.name}{UNFINISHED}")
    try:
        with open(unfinished, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(unfinished, target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def check_archives() -> ModuleType:
    """pyarrow; raises SordinoError, which names the extra, where it is not installed."""
    return check_pyarrow("an archive", "")


def _pyarrow_fs() -> Any:
    check_archives()
    from pyarrow import fs

    return fs
