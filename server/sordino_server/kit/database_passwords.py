"""The password in the URL of a database: put there, and compared with those that everybody tries first."""

from __future__ import annotations

from sqlalchemy import URL

from sordino_server.kit.db import database_url
from sordino_shared.errors import InvalidValue

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
