"""What protocol v1 describes and this version does not do yet.

Such documents are read, written and digested like others. A server creates no campaign with them, and a device joins
none: what has no code behind it would be a promise that nobody keeps.
"""

from __future__ import annotations

from collections.abc import Iterator

from sordino_shared.errors import InvalidValue
from sordino_shared.protocol.campaigns import Manifest


def check_built(manifest: Manifest) -> None:
    """Raise `InvalidValue` where a manifest has something that is not built yet."""
    found = list(_unbuilt(manifest))
    if found:
        raise InvalidValue(f"not built yet in this version: {', '.join(found)}", manifest.name)


def _unbuilt(manifest: Manifest) -> Iterator[str]:
    if manifest.arms and manifest.servers:
        yield "`arms` of several servers"
    if not manifest.domain.holds_strings:
        return
    # Strings are found in the log of one server.
    if manifest.servers:
        yield "strings of several servers"
    if manifest.arms:
        yield "strings in an experiment"
