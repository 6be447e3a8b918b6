"""Plans that were computed on this machine before, kept in a folder that may be deleted at any time."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Generic, Protocol, TypeVar

import typer

from sordino_shared.errors import SordinoError
from sordino_shared.protocol import Digest

CacheDirOption = Annotated[
    Path | None,
    typer.Option(envvar="SORDINO_CACHE_DIR", help="Folder of the plans that were computed.", show_default=False),
]


def default_folder() -> Path:
    """Where the XDG base directory specification puts caches."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sordino"


class Request(Protocol):
    """What a plan is asked for, by its content."""

    @property
    def digest(self) -> Digest: ...


class Finished(Protocol):
    """A plan as bytes that check themselves."""

    @property
    def complete(self) -> bool: ...

    @property
    def content(self) -> bytes: ...


P = TypeVar("P", bound=Finished)


class PlanCache(Generic[P]):
    """One file for each request, named by its digest; a file that is damaged is as good as none.

    `read` makes a plan of its content, or raises SordinoError.
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
        """Keep a plan that nothing cut short; whoever reads meanwhile finds all of it or nothing. May raise OSError."""
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
