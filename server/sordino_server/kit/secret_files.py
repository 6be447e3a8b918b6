"""A secret in a file, as Docker and Kubernetes mount them. No message shows one."""

from __future__ import annotations

from pathlib import Path

from sordino_shared.errors import InvalidValue


def read_secret(file: Path, variable: str) -> str:
    """What the file has, without the line end behind it; raises InvalidValue, which names the variable."""
    try:
        secret = file.read_text("utf-8").removesuffix("\n").removesuffix("\r")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidValue(f"{variable}: {file} cannot be read: {error}") from error
    if not secret or "\n" in secret:
        raise InvalidValue(f"{variable}: {file} has {'several lines' if secret else 'nothing'}, write the secret alone")
    return secret
