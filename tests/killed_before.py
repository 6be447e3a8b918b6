"""SIGKILL of this process before a statement or commit of its database."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, event


def die(*_: Any, **__: Any) -> None:
    """Kill this process."""
    os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def killed_before(point: int) -> Iterator[None]:
    """In this process: the statement or commit of this number is not reached."""
    left = iter(range(point))

    def count(*_: Any) -> None:
        if next(left, None) is None:
            die()

    event.listen(Engine, "before_cursor_execute", count)
    event.listen(Engine, "commit", count)
    yield
