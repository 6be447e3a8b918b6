"""`python -m release build|rebuild|page|lock|third-party`: what a release is made of, without publishing it."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

from release import building, lock, page, sbom, third_party


def make(folder: Path) -> None:
    """Artefacts, their SBOMs and SHA256SUMS; ends the process where something is missing or wrong."""
    shutil.rmtree(folder, ignore_errors=True)
    page.pack()
    artefacts = building.build(folder)
    at = building.source_date()
    for wheel in (each for each in artefacts if each.suffix == ".whl"):
        (folder / f"{wheel.stem}.cdx.json").write_text(sbom.sbom(wheel, at), encoding="utf-8")
    for name in building.LICENCES:
        shutil.copy(building.ROOT / name, folder / name)
    wrong = list(building.without_licence(artefacts))
    if third_party.PAGE.read_text(encoding="utf-8") != third_party.page():
        wrong.append("THIRD_PARTY.md is not that of the installed packages: python -m release third-party")
    if wrong:
        sys.exit("\n".join(wrong))
    (folder / building.SUMS).write_text(building.sums(folder), encoding="utf-8")
    print(f"{len(artefacts)} artefacts, their SBOMs and {building.SUMS} in {folder}; nothing was published")


def rebuild(known: Path) -> None:
    """Build twice, in other folders with another umask, and compare with each other and with a SHA256SUMS."""
    listed = dict(reversed(line.split("  ", 1)) for line in known.read_text(encoding="utf-8").splitlines())
    found: list[dict[str, str]] = []
    for umask in (0o022, 0o077):
        before = os.umask(umask)
        try:
            with tempfile.TemporaryDirectory() as folder:
                copy = Path(folder) / "source"
                ignored = shutil.ignore_patterns(".git", ".venv", "build", "dist", "__pycache__", ".*_cache")
                shutil.copytree(building.ROOT, copy, ignore=ignored)
                page.pack(copy)
                artefacts = building.build(Path(folder) / "made", copy, building.source_date())
                found.append({each.name: building.sha256(each) for each in artefacts})
        finally:
            os.umask(before)
    if wrong := sorted({*building.differing(*found), *building.differing(found[0], listed)}):
        sys.exit(f"other bytes: {', '.join(wrong)}")
    print(f"{len(found[0])} artefacts have the bytes of {known}, twice")


def main() -> None:
    """Parse the command line and do it."""
    parser = argparse.ArgumentParser(prog="python -m release", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    built = commands.add_parser("build", help="artefacts, SBOMs and SHA256SUMS, as the release workflow makes them")
    built.add_argument("--folder", type=Path, default=Path("dist/release"))
    again = commands.add_parser("rebuild", help="build twice and compare with SHA256SUMS")
    again.add_argument("sums", type=Path)
    commands.add_parser("page", help="write the page of `sordino demo --browser` into the server's package")
    commands.add_parser("lock", help="write requirements/lock.txt with hashes, by uv")
    commands.add_parser("third-party", help="write THIRD_PARTY.md from the installed packages")
    given = parser.parse_args()
    if given.command == "build":
        make(given.folder)
    elif given.command == "rebuild":
        rebuild(given.sums)
    elif given.command == "page":
        page.pack()
    elif given.command == "lock":
        lock.write()
    else:
        third_party.PAGE.write_text(third_party.page(), encoding="utf-8")


if __name__ == "__main__":
    main()
