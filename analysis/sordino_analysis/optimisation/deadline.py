"""Deadline of an anytime computation: stop improving after a time limit or an interruption."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Self

from sordino_analysis.request_terms import CutShort


class Deadline:
    """A moment `seconds` from now, or the one at which `interrupted` becomes true; with neither it never comes.

    `cut_short` keeps the first reason `passed()` returned True. While it is None the result does not depend on speed.
    """

    def __init__(self, seconds: float | None = None, interrupted: Callable[[], bool] = lambda: False) -> None:
        self.cut_short: CutShort | None = None
        self._moment = math.inf if seconds is None else time.monotonic() + seconds
        self._interrupted = interrupted
        self._whole: Deadline | None = None

    def passed(self) -> bool:
        """Whether to stop now."""
        return self._passed(self._moment)

    def sooner(self, share: float) -> Callable[[], bool]:
        """`passed` for a part of the computation, which may take `share` of the time that is left now."""
        moment = self._moment_of(share)
        return lambda: self._passed(moment)

    def part(self, share: float) -> Self:
        """A deadline for a part that divides its time further; what cuts the part short cuts the whole short."""
        found = type(self)(None, self._interrupted)
        found._moment, found._whole = self._moment_of(share), self
        return found

    def _moment_of(self, share: float) -> float:
        now = time.monotonic()
        return now + share * (self._moment - now)

    def _passed(self, moment: float) -> bool:
        if self._interrupted():
            self._stopped("interrupted")
        elif time.monotonic() >= moment:
            self._stopped(self.cut_short or "time limit")
        else:
            return False
        return True

    def _stopped(self, reason: CutShort) -> None:
        self.cut_short = reason
        if self._whole is not None and self._whole.cut_short != "interrupted":
            self._whole._stopped(reason)
