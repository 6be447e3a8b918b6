"""Pinned packages with their hashes: requirements/lock.txt."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from release.building import DISTRIBUTIONS, ROOT

LOCK = ROOT / "requirements" / "lock.txt"
_HEAD = "# Versions and hashes of what image.in asks for, on every system: `python -m release lock` writes it.\n"
_ENTRY = re.compile(r"^([\w.-]+)==([\w.+!]+)((?:[^\n]*\\\n)+[^\n]*)$", re.MULTILINE)


@dataclass(frozen=True)
class Pinned:
    """A package, its version, and the SHA-256 of each of its files."""

    name: str
    version: str
    hashes: tuple[str, ...]


def pinned(path: Path = LOCK) -> dict[str, Pinned]:
    """The packages of the lock by their names in lower case with dashes."""
    found = {}
    for name, version, rest in _ENTRY.findall(path.read_text(encoding="utf-8")):
        key = re.sub(r"[-_.]+", "-", name).lower()
        found[key] = Pinned(key, version, tuple(re.findall(r"sha256:([0-9a-f]{64})", rest)))
    return found


def write() -> None:
    """Resolve image.in again with uv (`pip install uv`), for Python 3.11 and later on every system."""
    command = ["uv", "pip", "compile", "requirements/image.in", "--generate-hashes", "--universal", "--quiet"]
    command += ["--python-version", "3.11", "--no-header", "--no-annotate"]
    command += [part for name in DISTRIBUTIONS for part in ("--no-emit-package", f"sordino-{name}")]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        sys.exit("uv is not installed: pip install uv")
    if done.returncode:
        sys.exit(done.stderr)
    LOCK.write_text(_HEAD + done.stdout, encoding="utf-8")
