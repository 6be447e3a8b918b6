"""What the environment says: who switched telemetry off, where state belongs, and which languages the owner reads."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from sordino_client._errors import WrongArgument

_NOT_SET = frozenset({"", "0", "false", "no", "off"})
_OFF = frozenset({"0", "false", "no", "off"})
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_FILE = "telemetry.sqlite3"


def check_tool(tool: str) -> str:
    """A tool's name is that of a command, since a variable and a folder are called after it."""
    if not isinstance(tool, str) or not _NAME.fullmatch(tool):
        raise WrongArgument(f"the tool's name is that of a command: letters, digits, dots and hyphens, got {tool!r}")
    return tool


def variable_of(tool: str) -> str:
    """The tool's own variable: MY_TOOL_TELEMETRY for my-tool."""
    return re.sub(r"\W", "_", tool).upper() + "_TELEMETRY"


def switched_off(tool: str, environ: Mapping[str, str] | None = None) -> str | None:
    """The variable that switches telemetry off; None where none does. Nothing in the environment switches it on.

    `DO_NOT_TRACK` and `CI` with any text but 0, false, no, off and none; `MYTOOL_TELEMETRY` with one of these four.
    """
    found = os.environ if environ is None else environ
    for name in ("DO_NOT_TRACK", "CI"):
        if found.get(name, "").strip().lower() not in _NOT_SET:
            return name
    own = variable_of(check_tool(tool))
    return own if found.get(own, "").strip().lower() in _OFF else None


def another_owner(environ: Mapping[str, str]) -> str | None:
    """The variable that says that root acts for somebody else, whose decision this would be; None otherwise."""
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    return next((name for name in ("SUDO_USER", "DOAS_USER") if is_root and environ.get(name)), None)


def default_ledger(tool: str, environ: Mapping[str, str] | None = None, platform: str = sys.platform) -> Path:
    """Where the ledger belongs: the user's folder for state, never a cache, never next to the program.

    `$XDG_STATE_HOME` or `~/.local/state`; `~/Library/Application Support` on macOS; `%LOCALAPPDATA%` on Windows.
    """
    found = os.environ if environ is None else environ
    home = Path(found.get("HOME") or Path.home())
    if platform == "win32":
        base = Path(found.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        named = found.get("XDG_STATE_HOME", "")
        # By its specification a path that is not absolute counts as none.
        base = Path(named) if Path(named).is_absolute() else home / ".local" / "state"
    return base / check_tool(tool) / _FILE


def languages_of(environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The owner's languages by LANGUAGE, LC_ALL, LC_MESSAGES and LANG: ("de-CH", "de") of "de_CH.UTF-8:de"."""
    found = os.environ if environ is None else environ
    texts = [found.get("LANGUAGE", ""), *(found.get(name, "") for name in ("LC_ALL", "LC_MESSAGES", "LANG"))]
    tags = [re.split(r"[.@]", part)[0].replace("_", "-") for text in texts for part in text.split(":")]
    return tuple(dict.fromkeys(tag for tag in tags if tag not in ("", "C", "POSIX")))
