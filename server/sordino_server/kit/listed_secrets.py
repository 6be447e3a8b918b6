"""Several secrets in one text: separated by commas, or one a line of a file that may change. No message shows one."""

from __future__ import annotations

import re
from pathlib import Path

from sordino_shared.errors import InvalidValue

# What a header of HTTP can carry.
_SECRET = re.compile(r"[!-~]+")


def listed_secrets(text: str) -> tuple[str, ...]:
    """The secrets between commas; raises InvalidValue for one that is empty or has other characters than ASCII's."""
    secrets = tuple(each.strip() for each in text.split(","))
    for number, each in enumerate(secrets, start=1):
        if not _SECRET.fullmatch(each):
            raise InvalidValue(f"key {number} of {len(secrets)} is empty, or has a space or a character beyond ASCII")
    return secrets


def secrets_in(file: Path) -> tuple[str, ...]:
    """The secrets on the lines of a file, perhaps none; raises InvalidValue where it cannot be read."""
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidValue(f"{file} cannot be read: {error}") from error
    listed = ",".join(line for line in lines if line.strip() and not line.startswith("#"))
    return listed_secrets(listed) if listed else ()
