"""Waiting for a worker: how long, and the hints printed meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated

import typer

from sordino_analysis.figures import chosen
from sordino_server.cli.output import say
from sordino_shared.errors import SordinoError

TIMEOUT_S = 3600.0
TimeoutOption = Annotated[float, typer.Option(min=0, metavar="SECONDS", help="Longest wait for a worker.")]
_POLL_S = 0.3
# A free worker polls several times per second, so it takes the work well before this.
_HINT_S = 10.0


class StillWaiting(SordinoError):
    """The work did not finish in time; the message says how to resume waiting."""


class Patience:
    """Pauses between polls, `timeout_s` seconds in total, with one hint if no worker seems to run."""

    def __init__(self, timeout_s: float = TIMEOUT_S, say: Callable[[str], None] = say) -> None:
        self._timeout_s = timeout_s
        self._say = say
        self._since = time.monotonic()
        self._hinted = False

    def pause(self, hint: str | None, later: str) -> None:
        """Wait before the next poll. Prints `hint` once after a long wait; raises StillWaiting(`later`) at the end."""
        waited = time.monotonic() - self._since
        if hint is not None and waited >= min(_HINT_S, self._timeout_s) and not self._hinted:
            self._hinted = True
            self._say(hint)
        if waited >= self._timeout_s:
            raise StillWaiting(f"nothing is ready after {chosen(self._timeout_s)} s; {later}")
        time.sleep(min(_POLL_S, self._timeout_s - waited))
