"""How far a simulation is: bars on a terminal, a line a stage where there is none. Always on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TaskProgressColumn, TextColumn, TimeElapsedColumn

Advance = Callable[[float], None]


class Stages:
    """Stages one after the other, each from 0 to 1."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bars = Progress(
            SpinnerColumn(finished_text="[green]✓"),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            console=console,
        )

    @contextmanager
    def shown(self) -> Iterator[Stages]:
        """Draw bars while the block runs, on a terminal only."""
        if not self._console.is_terminal:
            yield self
            return
        with self._bars:
            yield self

    def note(self, text: str) -> None:
        """A line that stays."""
        (self._bars.console if self._console.is_terminal else self._console).print(text, highlight=False)

    @contextmanager
    def stage(self, description: str) -> Iterator[Advance]:
        """One stage: yields a function that takes the share of it that is done."""
        if not self._console.is_terminal:
            self._console.print(description, highlight=False)
            yield lambda share: None
            return
        task = self._bars.add_task(description, total=1.0)
        yield self._advance(task)
        self._bars.update(task, completed=1.0)

    def _advance(self, task: TaskID) -> Advance:
        return lambda share: self._bars.update(task, completed=min(max(share, 0.0), 1.0))
