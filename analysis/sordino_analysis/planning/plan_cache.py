"""Plans computed before, one file each, in a folder that may be deleted at any time."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from sordino_shared.errors import SordinoError
from sordino_shared.protocol import Digest


def default_folder() -> Path:
    """The folder that the XDG base directory specification names for caches."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sordino"


class Request(Protocol):
    """A request whose digest names all that its plan depends on."""

    @property
    def digest(self) -> Digest: ...


class Finished(Protocol):
    """A plan with its bytes, which hold their own digest."""

    @property
    def complete(self) -> bool: ...

    @property
    def content(self) -> bytes: ...


P = TypeVar("P", bound=Finished)


class PlanCache(Generic[P]):
    """One file for each request, named by its digest; a damaged file is treated as absent.

    `read` turns the content of a file into a plan, or raises SordinoError.
    """

    def __init__(self, folder: Path, read: Callable[[bytes], P]) -> None:
        self.folder = folder
        self._read = read

    def find(self, request: Request) -> P | None:
        """The plan of the same request, checked byte by byte and its ε proved again."""
        try:
            content = self._path(request).read_bytes()
            named, plan = content[: Digest.LENGTH], self._read(content[Digest.LENGTH :])
        except (OSError, SordinoError):
            return None
        return plan if named == request.digest else None

    def keep(self, request: Request, plan: P) -> None:
        """Store a plan unless it was cut short. Concurrent readers see the whole file or none. May raise OSError."""
        if not plan.complete:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self.folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(request.digest + plan.content)
            os.replace(name, self._path(request))
        except BaseException:
            os.unlink(name)
            raise

    def _path(self, request: Request) -> Path:
        return self.folder / f"{request.digest}.plan"
