"""Plans computed before, one file each, in a folder that may be deleted at any time."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning.planning_request import PlanningRequest
from sordino_shared.errors import SordinoError
from sordino_shared.protocol import Digest


def default_folder() -> Path:
    """The folder that the XDG base directory specification names for caches."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sordino"


class PlanCache:
    """One file for each request, named by its digest; a damaged file is treated as absent."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find(self, request: PlanningRequest) -> FinishedPlan | None:
        """The plan of the same request, checked byte by byte and its ε proved again."""
        try:
            entry = self._path(request).read_bytes()
            content = entry[2 * Digest.LENGTH :]
            return FinishedPlan.read(content) if entry == _entry(request, content) else None
        except (OSError, SordinoError):
            return None

    def keep(self, request: PlanningRequest, plan: FinishedPlan) -> None:
        """Store a plan unless it was cut short. Concurrent readers see the whole file or none. May raise OSError."""
        if not plan.complete:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self.folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_entry(request, plan.content))
            os.replace(name, self._path(request))
        except BaseException:
            os.unlink(name)
            raise

    def _path(self, request: PlanningRequest) -> Path:
        return self.folder / f"{request.digest}.plan"


def _entry(request: PlanningRequest, content: bytes) -> bytes:
    """Request and plan under a digest of both: the plan of another request is not taken for this one's."""
    return request.digest + Digest.of(request.digest + content) + content
