"""Writes the golden vectors of protocol v1; with --check, exits 1 if the committed files differ from those.

Version 1 is frozen: `v1.sha256` has the sum of every file, and what is listed there is written no more. A new case goes
to a new file, whose sum --freeze adds.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable
from pathlib import Path

from bad_documents import bad_documents
from bad_encodings import bad_encodings
from bad_ranges import bad_ranges
from caps import caps
from claims import claims
from coins import coins
from dithering import dithered
from good_documents import documents, good_documents, manifests, signatures
from good_numbers import good_numbers
from log import log_proofs
from sampling import sampling
from sealing import sealed
from series import series
from tokens import worked_token
from worked_trace import trace

FOLDER = Path(__file__).parent / "v1"
SUMS = Path(__file__).parent / "v1.sha256"


def files() -> dict[str, str]:
    """Text of every file by its path below the version's folder."""
    good = good_documents() | good_numbers() | sampling() | trace() | signatures()
    good |= worked_token(manifests()["tokens_by_address"]) | dithered() | sealed() | log_proofs(manifests()) | claims()
    good |= coins() | caps() | series(documents()["manifest"]["series"])
    vectors = good | bad_encodings() | bad_documents() | bad_ranges()
    return {path: json.dumps(content, ensure_ascii=True, indent=1) + "\n" for path, content in vectors.items()}


def differing(wanted: dict[str, str]) -> list[str]:
    """Paths that are absent, superfluous or of other text."""
    found = {str(path.relative_to(FOLDER)): path.read_text("utf-8") for path in FOLDER.glob("*/*.json")}
    return sorted(path for path in found.keys() | wanted.keys() if found.get(path) != wanted.get(path))


def frozen(sums: Path = SUMS) -> dict[str, str]:
    """SHA-256 of each frozen file, by its path below the version's folder; lines are those of `sha256sum`."""
    lines = (line.split("  ", 1) for line in sums.read_text("ascii").splitlines())
    return {path.removeprefix("v1/"): digest for digest, path in lines}


def changed(folder: Path = FOLDER, sums: Path = SUMS) -> list[str]:
    """What is wrong with the frozen files, in words: a file that changed or is gone, or one without a sum."""
    pinned, found = frozen(sums), sums_of(folder)
    other = (f"{path} of protocol v1 changed" for path, digest in pinned.items() if found.get(path) != digest)
    return [*other, *(f"{path} has no sum: `generate.py --freeze` adds it" for path in sorted(found.keys() - pinned))]


def sums_of(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file of vectors."""
    paths = [*folder.glob("*/*.json"), folder / "normal_atoms.bin"]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def freeze() -> None:
    """Add the sums of new files; those that are there stay as they are."""
    every = sums_of(FOLDER) | frozen()
    SUMS.write_text("".join(f"{every[path]}  v1/{path}\n" for path in sorted(every)), "ascii")


def refuse_frozen(paths: Iterable[str]) -> None:
    """End where a frozen file would be written."""
    if held := [path for path in paths if path in frozen()]:
        sys.exit(
            f"protocol v1 is frozen, and {', '.join(held)} would change. What must change is a new version of "
            "the protocol, with a folder of its own; a new case goes to a new file"
        )


def main() -> int:
    if sys.argv[1:] == ["--freeze"]:
        freeze()
        return 0
    wanted = files()
    paths = differing(wanted)
    if sys.argv[1:] == ["--check"]:
        print("\n".join(f"{path} differs from what the generator writes" for path in paths) or "vectors are up to date")
        return 1 if paths else 0
    refuse_frozen(paths)
    for path in paths:
        target = FOLDER / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if path in wanted:
            target.write_text(wanted[path], "utf-8")
        else:
            target.unlink()
        print(f"wrote {path}" if path in wanted else f"removed {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
