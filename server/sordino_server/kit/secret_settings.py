"""Secrets of the settings, of which no message shows one.

A secret is given as it is, or in the file that the setting of its name and `_file` names. Several are in one text,
separated by commas, or one a line of a file that may change. The password of the database's URL is put there, and
compared with those that everybody tries first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from sqlalchemy import URL

from sordino_server.kit.db import database_url
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


# What images, examples and tutorials come with.
DEFAULT_PASSWORDS = frozenset({"", "sordino", "postgres", "password", "changeme", "change-me", "secret", "admin"})
_THIS_MACHINE = frozenset({"", "localhost", "127.0.0.1", "::1"})


def has_default_password(url: str) -> bool:
    """Whether the URL names a default password for another machine; raises `InvalidValue` for what is no URL."""
    parsed = database_url(url)
    return not all(map(_is_this_machine, _hosts(parsed))) and not DEFAULT_PASSWORDS.isdisjoint(_passwords(parsed))


def with_password(url: str, password: str) -> str:
    """The URL with this password, whatever characters it has; raises `InvalidValue` where the URL cannot take one."""
    parsed = database_url(url)
    if parsed.get_backend_name() == "sqlite":
        raise InvalidValue("SORDINO_DATABASE_PASSWORD: an SQLite file has no password; unset it, or use PostgreSQL")
    if _passwords(parsed):
        raise InvalidValue("the password is in SORDINO_DATABASE_URL and in SORDINO_DATABASE_PASSWORD: write it once")
    if parsed.username is None:
        # Without a user there is no place for it before the host.
        parsed = parsed.update_query_dict({"password": password})
    return parsed.set(password=password if parsed.username else None).render_as_string(hide_password=False)


def _hosts(url: URL) -> list[str]:
    """Every host that the URL names, wherever it does."""
    named = (url.host or "", *url.normalized_query.get("host", ()), *url.normalized_query.get("hostaddr", ()))
    return [host for hosts in named for host in hosts.split(",")]


def _is_this_machine(host: str) -> bool:
    # Folders hold sockets.
    return host in _THIS_MACHINE or host.startswith("/")


def _passwords(url: URL) -> list[str]:
    """Every password that the URL has, in lower case."""
    main = () if url.password is None else (str(url.password),)
    return [password.lower() for password in (*main, *url.normalized_query.get("password", ()))]
