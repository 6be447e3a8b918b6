"""How far work is, for people who wait: one value and one callback, from a single search to a whole plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count


@dataclass(frozen=True)
class Progress:
    """The fraction of the work done, a stage in words, and the objective's least variance so far with its bound.

    A step within a stage leaves `stage` empty. `variance` is None until a mechanism was found, `bound` until it was
    proved.
    """

    fraction: float
    stage: str = ""
    variance: float | None = None
    bound: float | None = None

    @property
    def ratio(self) -> float | None:
        """Variance over lower bound, at least 1; None where either is missing or nothing above 0 was proved."""
        return self.variance / self.bound if self.variance is not None and self.bound else None


ProgressCallback = Callable[[Progress], None]


def ignore_progress(progress: Progress) -> None:
    """The callback of a caller who does not wait."""


def progress_of_part(callback: ProgressCallback, start: float, share: float) -> ProgressCallback:
    """A callback for a part that is `share` of the whole and begins at the fraction `start` of it."""
    return lambda part: callback(replace(part, fraction=start + share * part.fraction))


def progress_of_steps(callback: ProgressCallback, expected: float) -> Callable[[], None]:
    """To be called after each step of work that ends by itself: after `expected` steps it is half done."""
    taken = count(1)
    return lambda: callback(Progress(1 - 1 / (1 + next(taken) / expected)))
