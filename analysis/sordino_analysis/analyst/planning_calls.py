"""Options as notebooks write them, and plans from a cache or with stages that are printed."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from sordino_analysis.figures import figure, ratio
from sordino_analysis.percentages import percent
from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning.plan_cache import PlanCache
from sordino_analysis.planning.planning_request import PlanningRequest
from sordino_analysis.progress import Progress, ProgressCallback, ignore_progress
from sordino_analysis.request_terms import Effort
from sordino_shared.errors import InvalidValue


def chosen_effort(effort: Effort | str) -> Effort:
    """The effort of this name; raises InvalidValue."""
    try:
        return Effort(effort)
    except ValueError as error:
        raise InvalidValue(f"effort must be one of {', '.join(Effort)}, got {effort!r}", effort) from error


def written_epsilon(epsilon: float | str | Decimal) -> float | str:
    """ε as a number or as text, so that no digit of a Decimal is lost."""
    return str(epsilon) if isinstance(epsilon, Decimal) else epsilon


def planned(request: PlanningRequest, progress: ProgressCallback | bool, cache: Path | str | None) -> FinishedPlan:
    """The plan that `cache` has of the request, else computed and kept there."""
    kept = None if cache is None else PlanCache(Path(cache))
    finished = None if kept is None else kept.find(request)
    if finished is None:
        finished = request.compile(_callback(progress))
        if kept is not None:
            kept.keep(request, finished)
    return finished


def _callback(progress: ProgressCallback | bool) -> ProgressCallback:
    """The function that planning calls: the given one, one that prints stages (True), or one that does nothing."""
    if callable(progress):
        return progress
    return _StageLines() if progress else ignore_progress


@dataclass
class _StageLines:
    """Prints a line to stderr when a new stage begins."""

    stage: str | None = None

    def __call__(self, progress: Progress) -> None:
        if progress.stage in ("", self.stage):
            return
        self.stage = progress.stage
        variance = "" if progress.variance is None else f", variance {figure(progress.variance)}"
        above = "" if progress.ratio is None else f", {ratio(progress.ratio)} times the bound"
        print(f"{percent(progress.fraction, 0):>5}  {progress.stage}{variance}{above}", file=sys.stderr)
