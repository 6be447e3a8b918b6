"""Wheels and source distributions, the same bytes wherever they are built."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[1]
DISTRIBUTIONS = ("shared", "client", "analysis", "migrations", "shuffler", "server")
SUMS = "SHA256SUMS"
# In every artefact (Apache License 2.0, section 4).
LICENCES = ("LICENSE", "NOTICE")


def source_date(root: Path = ROOT) -> int:
    """When the commit was made, in Unix seconds: the time of every file in every artefact."""
    done = subprocess.run(
        ["git", "-C", str(root), "log", "-1", "--format=%ct"], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def build(folder: Path, root: Path = ROOT, at: int | None = None, names: tuple[str, ...] = DISTRIBUTIONS) -> list[Path]:
    """A wheel and a source distribution of each distribution below `root`, in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    before = os.environ.get("SOURCE_DATE_EPOCH")
    os.environ["SOURCE_DATE_EPOCH"] = str(source_date(root) if at is None else at)
    try:
        return [
            Path(path)
            for name in names
            for builder in (WheelBuilder, SdistBuilder)
            for path in builder(str(root / name)).build(directory=str(folder), versions=["standard"])
        ]
    finally:
        if before is None:
            del os.environ["SOURCE_DATE_EPOCH"]
        else:
            os.environ["SOURCE_DATE_EPOCH"] = before


def names_in(artefact: Path) -> list[str]:
    """The files of a wheel or of a source distribution."""
    if artefact.suffix == ".whl":
        with zipfile.ZipFile(artefact) as wheel:
            return wheel.namelist()
    with tarfile.open(artefact) as sdist:
        return sdist.getnames()


def without_licence(artefacts: list[Path]) -> Iterator[str]:
    """Artefacts that lack the licence or the notice."""
    for artefact in artefacts:
        found = {name.rpartition("/")[2] for name in names_in(artefact)}
        if missing := sorted(set(LICENCES) - found):
            yield f"{artefact.name} lacks {', '.join(missing)}"


def sha256(path: Path) -> str:
    """The digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def differing(built: Mapping[str, str], listed: Mapping[str, str]) -> list[str]:
    """Names of artefacts whose digest in `listed` is another one, and of those in one of the two lists only."""
    artefacts = built.keys() | {name for name in listed if name.endswith((".whl", ".tar.gz"))}
    return sorted(name for name in artefacts if built.get(name) != listed.get(name))


def sums(folder: Path) -> str:
    """The text of SHA256SUMS, as `sha256sum --check` reads it."""
    files = sorted(path for path in folder.iterdir() if path.name != SUMS)
    return "".join(f"{sha256(path)}  {path.name}\n" for path in files)
