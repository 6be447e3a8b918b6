"""How far a search is, told at every step."""

from __future__ import annotations

from sordino_analysis.progress import Progress, ProgressCallback


class Pace:
    """Tells how far a search is at every step: an evaluation of a descent, or a round of new rows.

    A step takes up to a tenth of a second at 256 types. `variance` is what was reached.
    """

    def __init__(self, progress: ProgressCallback) -> None:
        self._progress = progress
        self.variance: float | None = None
        self.begin(0.0, 0.0, 1)

    def begin(self, done: float, share: float, steps: int) -> None:
        """At most so many steps follow, which take this share of the whole after what is done."""
        self._done, self._share, self._steps, self._taken = done, share, steps, 0

    def step(self) -> None:
        """One step more; those beyond the promised number move nothing."""
        self._taken = min(self._taken + 1, self._steps)
        fraction = self._done + self._share * self._taken / self._steps
        self._progress(Progress(fraction, variance=self.variance))
