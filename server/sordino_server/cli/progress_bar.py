"""A bar for people who wait for a plan or for sums."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Display

from sordino_analysis.figures import figure, ratio
from sordino_analysis.progress import Progress, ProgressCallback
from sordino_server.cli.output import progress_console


@contextmanager
def displayed_progress(task: str = "planning") -> Iterator[ProgressCallback]:
    """A bar on standard error, while the context lasts; `task` is shown until a stage is."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Display(*columns, console=progress_console, transient=True) as display:
        shown = display.add_task(task, total=1.0)

        def show(step: Progress) -> None:
            description = shown_progress(step) or task
            display.update(shown, description=description, completed=step.fraction)

        yield show


def shown_progress(progress: Progress) -> str:
    """The stage, and how good the best so far is."""
    variance = "" if progress.variance is None else f" · variance {figure(progress.variance)}"
    return f"{progress.stage}{variance}" + ("" if progress.ratio is None else f", {ratio(progress.ratio)}× the bound")
