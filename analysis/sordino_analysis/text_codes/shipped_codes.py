"""The codes that ship, by name."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from sordino_analysis.text_codes.string_code import MAX_DEPTH, SHARES, StringCode
from sordino_shared.domains.text_code import TextCode
from sordino_shared.errors import InvalidValue

_FOLDER = Path(__file__).parent / "shipped"
BYTES = "bytes"
NAMES = ("urls", "apps", "words", BYTES)
# Bytes of eight bits each, but for the last two, and END and NONE, of nine: the shortest code with a word for each.
_EVEN_LENGTHS = bytes([8] * 254 + [9] * 4)


@cache
def shipped_code(name: str) -> StringCode:
    """The code `urls`, `apps`, `words` or `bytes`; raises InvalidValue for another name."""
    if name not in NAMES:
        raise InvalidValue(
            f"there is no text code {str(name)[:100]!r}; there are {', '.join(NAMES)}, and {{file: my-code.json}} "
            "as `sordino text-code` writes it",
            name,
        )
    if name == BYTES:
        return StringCode(TextCode((), _EVEN_LENGTHS), (MAX_DEPTH,) * len(SHARES), "every byte alike")
    return StringCode.read((_FOLDER / f"{name}.json").read_bytes())
