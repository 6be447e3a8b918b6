"""Names of those who add up reports of a campaign elsewhere."""

from __future__ import annotations

import re

from sordino_shared._checks import check_length
from sordino_shared.errors import InvalidValue

# The largest integer that every reader of JSON keeps.
MAX_NUMBER = (1 << 53) - 1
SOURCE_PATTERN = "[a-z0-9][a-z0-9-]{0,23}"
_SOURCE = re.compile(SOURCE_PATTERN)


def check_source(name: str) -> str:
    """The name of a source; raises InvalidValue for anything but 1 to 24 letters, digits and hyphens."""
    check_length(name, 1, 24, "name of a source")
    if not _SOURCE.fullmatch(name):
        raise InvalidValue(
            f"the name of a source has 1 to 24 lower-case letters, digits and hyphens, as in `eu-west`; got {name!r}",
            name,
        )
    return name
