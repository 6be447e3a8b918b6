"""Requirements: what is installed is what is pinned, and a device takes on no more than it must."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from importlib.metadata import requires, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

ROOT = Path(__file__).parents[2]
_NAMES = ("shared", "client", "shuffler", "analysis", "migrations", "server")
OURS = {canonicalize_name(f"sordino-{name}") for name in _NAMES}
# Every environment brings its own.
INSTALLERS = {canonicalize_name(name) for name in ("pip", "setuptools", "wheel")}


def pins() -> dict[NormalizedName, str]:
    lines = (ROOT / "requirements" / "constraints.txt").read_text().splitlines()
    parts = [re.fullmatch(r"([\w.-]+)==([\w.+!]+)", line) for line in lines if not line.startswith("#")]
    assert all(parts), "a constraint is a name and a version"
    return {canonicalize_name(part[1]): part[2] for part in parts if part}


def asked_for() -> list[Requirement]:
    """The lines of dev.txt, those of our distributions by name: `-e ./server[postgres]` is sordino-server[postgres]."""
    text = re.sub(r"^-e \./", "sordino-", (ROOT / "requirements" / "dev.txt").read_text(), flags=re.MULTILINE)
    return [Requirement(line) for line in text.splitlines() if line and not line.startswith(("#", "-"))]


def stated(distribution: str) -> set[str]:
    project = tomllib.loads((ROOT / distribution / "pyproject.toml").read_text())["project"]
    return {Requirement(line).name for line in project["dependencies"]}


def needs(name: str, extras: Iterable[str] = ()) -> list[Requirement]:
    """What a distribution requires on this machine, with these extras; ours as its project says."""
    if canonicalize_name(name) in OURS:
        project = tomllib.loads((ROOT / name.partition("-")[2] / "pyproject.toml").read_text())["project"]
        optional = project.get("optional-dependencies", {})
        return [Requirement(line) for line in [*project["dependencies"], *(x for e in extras for x in optional[e])]]
    found = [Requirement(line) for line in requires(name) or ()]
    return [need for need in found if not need.marker or any(need.marker.evaluate({"extra": e}) for e in ("", *extras))]


def closure(*wanted: Requirement) -> set[NormalizedName]:
    """Everything that is installed for these, themselves included."""
    waiting, seen = list(wanted), set[str]()
    while waiting:
        need = waiting.pop()
        if (key := f"{canonicalize_name(need.name)}{sorted(need.extras)}") not in seen:
            seen.add(key)
            waiting += needs(need.name, need.extras)
    return {canonicalize_name(key.partition("[")[0]) for key in seen}


def test_what_is_installed_is_what_is_pinned() -> None:
    pinned = pins()
    installed = closure(*asked_for()) - OURS - INSTALLERS
    assert {name: version(name) for name in installed} == {name: pinned.get(name) for name in installed}


def test_nothing_is_pinned_that_nobody_asks_for() -> None:
    assert pins().keys() <= closure(*asked_for())


def test_the_client_needs_nothing_but_shared_which_needs_nothing() -> None:
    assert stated("shared") == set()
    assert stated("client") == {"sordino-shared"}
    assert closure(Requirement("sordino-client")) == {"sordino-client", "sordino-shared"}
