"""Wrong arguments, and which exceptions a public function may answer them with."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sordino_shared.errors import SordinoError

WRONG: tuple[Any, ...] = (
    None, 5, -1, 1.5, float("nan"), 1e300, 10**40, "x", "", b"x", [], {}, object(), [1, 2], ["a", None], {"a": 1},
    np.zeros(3), np.zeros((2, 2)), True, int, {1, 2}, [[]], "\ud800", "a\0b",
)  # fmt: skip


def foreign(call: Callable[[], object]) -> str | None:
    """What of numpy, Python or another library a call raised; None where it returned or raised an error of sordino.

    A TypeError counts as sordino's where its own code raised it, and OSError is that of a file that is not there.
    """
    try:
        found = call()
    except (SordinoError, OSError):
        return None
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        own = "sordino_" in last.filename and (last.line or "").startswith("raise")
        if isinstance(error, TypeError) and own:
            return None
        return f"{type(error).__name__}: {error} ({last.filename}:{last.lineno})"
    close = getattr(found, "close", None)
    if close is not None:
        close()
    return None


def calls_with_one_wrong(good: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Arguments of which one is wrong, for each argument and each wrong value."""
    return [{**good, name: wrong} for name in good for wrong in WRONG]
