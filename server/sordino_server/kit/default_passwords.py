"""Passwords that everybody tries first, wherever the URL of a database names them."""

from __future__ import annotations

from sqlalchemy import URL

from sordino_server.kit.db import database_url

# What images, examples and tutorials come with.
DEFAULT_PASSWORDS = frozenset({"", "sordino", "postgres", "password", "changeme", "change-me", "secret", "admin"})
_THIS_MACHINE = frozenset({"", "localhost", "127.0.0.1", "::1"})


def has_default_password(url: str) -> bool:
    """Whether the URL names a default password for another machine; raises `InvalidValue` for what is no URL."""
    parsed = database_url(url)
    return not all(map(_is_this_machine, _hosts(parsed))) and not DEFAULT_PASSWORDS.isdisjoint(_passwords(parsed))


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
