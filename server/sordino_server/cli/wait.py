"""How long a command waits for work that a worker does, and what it says meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated

import typer

from sordino_server.cli.output import say
from sordino_shared.errors import SordinoError

TIMEOUT_S = 3600.0
TimeoutOption = Annotated[float, typer.Option(min=0, help="Seconds to wait for a worker before giving up.")]
_POLL_S = 0.3
# A worker looks for work several times a second, so that one which is free has long taken it by then.
_HINT_S = 10.0


class StillWaiting(SordinoError):
    """The work was not done in time; it is not lost, and the message says how to come back to it."""


class Patience:
    """Pauses between questions for `timeout_s` seconds in all, with one hint when no worker seems to be there."""

    def __init__(self, timeout_s: float = TIMEOUT_S, say: Callable[[str], None] = say) -> None:
        self._timeout_s = timeout_s
        self._say = say
        self._since = time.monotonic()
        self._hinted = False

    def pause(self, hint: str | None, later: str) -> None:
        """Wait a moment. `hint` is said once if the wait has been long; raises StillWaiting with `later` at the end."""
        waited = time.monotonic() - self._since
        if waited >= self._timeout_s:
            raise StillWaiting(f"nothing is ready after {self._timeout_s:g} s; {later}")
        if hint is not None and waited >= _HINT_S and not self._hinted:
            self._hinted = True
            self._say(hint)
        time.sleep(min(_POLL_S, self._timeout_s - waited))
