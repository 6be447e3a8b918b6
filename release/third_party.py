"""Licences of what is installed beside sordino: THIRD_PARTY.md."""

from __future__ import annotations

from importlib.metadata import Distribution, PackageNotFoundError, distribution

from release.building import ROOT
from release.lock import pinned

PAGE = ROOT / "THIRD_PARTY.md"
_UNKNOWN = "see the package"
# Longer fields are whole licences.
_LONGEST = 60
_HEAD = """# Third parties

What the server with PostgreSQL and the shuffler bring, from the metadata of the packages, in the versions of
`requirements/lock.txt`. A device (`sordino-client`, `sordino-shared`) brings nothing. `python -m release
third-party` writes this page.

| package | version | licence |
|---|---|---|
"""


def licence_of(found: Distribution) -> str:
    """The licence expression, else the short licence field, else the classifiers."""
    metadata = found.metadata
    stated = metadata.get("License-Expression") or metadata.get("License") or ""
    if stated.strip() and len(stated) <= _LONGEST and "\n" not in stated and stated.strip().upper() != "UNKNOWN":
        return stated.strip()
    classified = [each for each in metadata.get_all("Classifier") or [] if each.startswith("License ::")]
    return ", ".join(each.rpartition(":: ")[2] for each in classified) or _UNKNOWN


def licence(name: str) -> str | None:
    """The licence of an installed package; None where it is not installed, as what other systems need."""
    try:
        return licence_of(distribution(name))
    except PackageNotFoundError:
        return None


def page() -> str:
    """The page, with a row for each package of the lock that is installed here."""
    rows = [(each, licence(each.name)) for each in pinned().values()]
    return _HEAD + "".join(f"| {each.name} | {each.version} | {found} |\n" for each, found in rows if found)
