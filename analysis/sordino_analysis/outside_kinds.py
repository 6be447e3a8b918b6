"""Kinds of questions that other installed distributions add: objects named by entry points of `sordino.kinds`."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

GROUP = "sordino.kinds"


@cache
def outside_kinds() -> tuple[object, ...]:
    """What the entry points name, each module imported once; raises what such an import raises."""
    return tuple(point.load() for point in entry_points(group=GROUP))
