"""Progress of planning as lines of text, one for each stage."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from sordino_analysis.figures import figure, ratio
from sordino_analysis.percentages import percent
from sordino_analysis.progress import Progress, ProgressCallback, ignore_progress


def callback(progress: ProgressCallback | bool) -> ProgressCallback:
    """The function that planning calls: the given one, one that prints stages (True), or one that does nothing."""
    if callable(progress):
        return progress
    return StageLines() if progress else ignore_progress


@dataclass
class StageLines:
    """Prints a line to stderr when a new stage begins."""

    stage: str | None = None

    def __call__(self, progress: Progress) -> None:
        if progress.stage in ("", self.stage):
            return
        self.stage = progress.stage
        variance = "" if progress.variance is None else f", variance {figure(progress.variance)}"
        above = "" if progress.ratio is None else f", {ratio(progress.ratio)} times the bound"
        print(f"{percent(progress.fraction, 0):>5}  {progress.stage}{variance}{above}", file=sys.stderr)
