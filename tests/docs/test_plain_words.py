"""Docs, messages, docstrings and comments avoid a short list of archaic or personifying phrases."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = ("shared", "client", "shuffler", "analysis", "server", "migrations")
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").rglob("*.md")), ROOT / "README.md"]
MODULES = sorted(path for folder in CODE for path in (ROOT / folder).rglob("*.py"))
# What to write instead is behind each.
BANNED = {
    r"\bmade[- ]up\b": "fake",
    r"\banew\b": "again",
    r"\bwho(m)?ever\b": "anyone who",
    r"\bfor good\b": "permanently",
    r"\bdear(er|est)?\b": "expensive",
    r"\bfor ever\b": "permanently, endlessly",
    r"\bquarter of a minute\b": "15 seconds",
    r"\bhidden in (so much )?chance\b": "with random noise added",
    r"\bnobody has to trust\b": "untrusted",
    r"\bthere is no such thing\b": "Not found",
    r"\bknock earlier\b": "retries keep their backoff",
    r"\bsilence about\b": "skipping",
    r"\brefill(s|ed)? the budget\b": "restores budget",
    r"\bwants (it|its|a|an|one)\b": "requires",
}


def found(text: str) -> list[str]:
    """Every banned phrase of the text with its replacement, line breaks counting as blanks."""
    flat = " ".join(re.sub(r"^\s*#", " ", line) for line in text.splitlines())
    words = " ".join(flat.split())
    return [
        f"{hit.group()!r} → {instead}"
        for banned, instead in BANNED.items()
        for hit in re.finditer(banned, words, re.IGNORECASE)
    ]


def test_no_banned_phrase() -> None:
    wrong = {str(path.relative_to(ROOT)): found(path.read_text(encoding="utf-8")) for path in (*PAGES, *MODULES)}
    assert len(wrong) > 500
    assert {path: phrases for path, phrases in wrong.items() if phrases} == {}


def test_a_phrase_over_two_lines_of_a_comment_is_found() -> None:
    assert found("# reports are kept for\n    # good") == ["'for good' → permanently"]
