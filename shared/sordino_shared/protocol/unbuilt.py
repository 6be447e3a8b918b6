"""What protocol v1 describes and this version does not do yet.

Such documents are read, written and digested like others. A server creates no campaign with them, and a device joins
none: what has no code behind it would be a promise that nobody keeps.
"""

from __future__ import annotations

from collections.abc import Iterator

from sordino_shared.domains import Text, TextPrefix
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol.campaigns import Manifest

_UNBUILT_ATTRIBUTES = (Text, TextPrefix)


def check_built(manifest: Manifest) -> None:
    """Raise `InvalidValue` where a manifest has something that is not built yet."""
    found = list(_unbuilt(manifest))
    if found:
        raise InvalidValue(f"not built yet in this version: {', '.join(found)}", manifest.name)


def _unbuilt(manifest: Manifest) -> Iterator[str]:
    if manifest.arms and manifest.servers:
        yield "`arms` of several servers"
    for kind in sorted({each.kind for each in manifest.domain.attributes if isinstance(each, _UNBUILT_ATTRIBUTES)}):
        yield f"attributes of kind `{kind}`"
