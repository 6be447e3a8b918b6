"""Text of somebody else's, folded so that no line of it can pass for one of the account's own."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from textwrap import wrap

COLUMNS = 72
MARK = "  > "
_DIRECTIONS = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})


def folded(text: str) -> Iterator[str]:
    """The lines of `text`, each marked and at most 76 columns wide.

    Every line break counts (U+000A to U+000D, U+001C to U+001E, U+0085, U+2028, U+2029), blanks are drawn together, so
    that none pushes a line past a terminal's edge, and controls and changes of direction become U+FFFD.
    """
    for line in text.splitlines() or [""]:
        shown = "".join("\ufffd" if _acts(character) else character for character in " ".join(line.split()))
        # Two columns each are enough for every character of a line that has wide ones.
        width = COLUMNS // 2 if any(unicodedata.east_asian_width(character) in "WF" for character in shown) else COLUMNS
        yield from (MARK + piece for piece in wrap(shown, width) or [""])


def _acts(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs") or unicodedata.bidirectional(character) in _DIRECTIONS
