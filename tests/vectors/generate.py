"""Writes the golden vectors of protocol v1; with --check, exits 1 if the committed files differ from those."""

from __future__ import annotations

import json
import sys
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


def main() -> int:
    wanted = files()
    paths = differing(wanted)
    if sys.argv[1:] == ["--check"]:
        print("\n".join(f"{path} differs from what the generator writes" for path in paths) or "vectors are up to date")
        return 1 if paths else 0
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
