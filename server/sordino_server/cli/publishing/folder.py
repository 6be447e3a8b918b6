"""The folder of a site: written whole, or compared; a folder with files of somebody else is refused."""

from __future__ import annotations

import json
from pathlib import Path

from sordino_shared.errors import InvalidValue

MARKER = ".sordino-site"


def held(folder: Path) -> dict[str, bytes]:
    """The files of a site in a folder by name, none where it is not there or empty.

    Raises InvalidValue where the folder has a file that `sordino publish` did not write.
    """
    if not folder.exists():
        return {}
    if not folder.is_dir():
        raise InvalidValue(f"{folder} is no folder: name a new or an empty one", str(folder))
    files = (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    there = {path.relative_to(folder).as_posix() for path in files}
    # A repository's own folder is none of the site; in a further worktree it is a file.
    there = {name for name in there if name != ".git" and not name.startswith(".git/")}
    foreign = sorted(there - _own(folder) - {MARKER})
    # What is written through a link would be elsewhere.
    foreign += sorted(name for name in there if (folder / name).is_symlink())
    if foreign:
        raise InvalidValue(
            f"{folder} has files that `sordino publish` did not write, such as {foreign[0]}: name another folder",
            foreign,
        )
    return {name: (folder / name).read_bytes() for name in there - {MARKER}}


def differing(folder: Path, files: dict[str, bytes]) -> list[str]:
    """The names of files that are missing, other or too many."""
    there = held(folder)
    return sorted(name for name in there.keys() | files.keys() if there.get(name) != files.get(name))


def write(folder: Path, files: dict[str, bytes]) -> None:
    """Make the folder hold these files and no others of an earlier site."""
    there = held(folder)
    folder.mkdir(parents=True, exist_ok=True)
    # The marker first, with the files of both: a run that is broken off leaves nothing that it does not know.
    _mark(folder, there.keys() | files.keys())
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    for name in there.keys() - files.keys():
        path = folder / name
        path.unlink()
        if path.parent != folder and not any(path.parent.iterdir()):
            path.parent.rmdir()
    _mark(folder, set(files))


def _mark(folder: Path, names: set[str]) -> None:
    (folder / MARKER).write_text(json.dumps(sorted(names), indent=1) + "\n", encoding="utf-8")


def _own(folder: Path) -> set[str]:
    try:
        listed = json.loads((folder / MARKER).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return set()
    except (OSError, ValueError):
        listed = None
    if not isinstance(listed, list):
        raise InvalidValue(f"{folder / MARKER} is damaged: name another folder, or remove this one", str(folder))
    return {str(name) for name in listed}
