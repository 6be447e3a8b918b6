"""A secret of the settings: given as it is, or in the file that the setting of its name and `_file` names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from sordino_server.kit.secret_files import read_secret
from sordino_shared.errors import InvalidValue


def plain(secret: str | SecretStr) -> str:
    """The text of a secret."""
    return secret.get_secret_value() if isinstance(secret, SecretStr) else secret


def secret_of(given: Mapping[str, Any], name: str, prefix: str) -> str | SecretStr | None:
    """The secret `name`, or what the file in `name`_file has; None where neither is given.

    Raises InvalidValue where both are, or where the secret is empty or cannot be read.
    """
    variable, file = (prefix + name).upper(), given.get(f"{name}_file")
    secret: str | SecretStr | None = given.get(name)
    if file:
        if secret:
            raise InvalidValue(f"{variable} and {variable}_FILE are both set: unset one")
        return read_secret(Path(file), f"{variable}_FILE")
    if secret is not None and not plain(secret):
        raise InvalidValue(f"{variable} is empty: set it, or unset it")
    return secret
