"""Texts for people: visible, and nothing hidden in them; the sets are those of Unicode's properties."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest

from sordino_shared._checks import check_name, check_text
from sordino_shared._text import is_legible, is_visible
from sordino_shared.errors import InvalidValue

UNSEEN = ["\u3164", "\u200b", "\u2800", "\U000e0041", "\u200e", "\u00ad", "\ufeff", "\u115f", "\u0301", "\ue000"]
FLAG = "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"
EMOJI = [
    "\U0001f469\u200d\U0001f52c",
    "\u2764\ufe0f",
    "1\ufe0f\u20e3",
    FLAG,
    "\U0001f3f3\ufe0f\u200d\U0001f308",
    "\u231a",
]


@pytest.mark.parametrize("text", UNSEEN)
def test_what_nobody_sees_is_refused(text: str) -> None:
    for whole in (text, f"{text}\u00a0{text}", f"{text} {text}"):
        with pytest.raises(InvalidValue, match="legible"):
            check_text(whole, "sentence")
        with pytest.raises(InvalidValue, match="legible"):
            check_name(whole, "name")


@pytest.mark.parametrize(
    "text", [c for c in UNSEEN if not is_legible(c)] + ["\u200d", "\ufe0f", "\u2066", "\x7f", "\u2028"]
)
def test_what_is_hidden_among_letters_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="legible"):
        check_name(f"use{text}rs", "population")


@pytest.mark.parametrize("text", EMOJI)
def test_emoji_sequences_pass_whole_and_not_in_parts(text: str) -> None:
    check_name(f"a {text} b", "name")
    for hidden in (c for c in text if not is_legible(c)):
        assert not is_legible(f"a{hidden}b")
    assert not is_legible(f"{text}\u200d")


def test_tags_cannot_carry_a_message() -> None:
    message = "".join(chr(0xE0000 + ord(c)) for c in "spent")
    assert not is_legible(f"\U0001f3f4{message * 2}\U000e007f")
    assert not is_legible(f"\U0001f600{message}\U000e007f")


@pytest.mark.parametrize("text", ["ε = 8", "naïve", "東京", "عمر", "हिन्दी", "a", "-", "€", "٣", "x\u0301"])
def test_the_worlds_scripts_pass(text: str) -> None:
    check_name(text, "name")


def test_every_format_character_of_this_pythons_unicode_is_hidden_unless_it_shows() -> None:
    # Marks that stand before or over numbers (Prepended_Concatenation_Mark), annotations and hieroglyphs' joins.
    shown = "\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    formats = (chr(n) for n in range(0x110000) if unicodedata.category(chr(n)) == "Cf")
    passed = "".join(c for c in formats if is_legible(c))
    assert re.sub(f"[{shown}]", "", passed) == ""


def test_the_page_lists_the_sets(repository: Path) -> None:
    page = (repository / "docs" / "protocol.md").read_text("utf-8")
    text = page[page.index("is a Default_Ignorable_Code_Point:") : page.index("Every Bidi_Control is among them")]
    listed = re.findall(r"U\+([0-9A-F]+)(?:–([0-9A-F]+))?", text)
    named = {n for low, high in listed for n in range(int(low, 16), int(high or low, 16) + 1)}
    controls = {*range(0x20), *range(0x7F, 0xA0), *range(0xD800, 0xE000), 0x2028, 0x2029}
    assert {n for n in range(0x110000) if not is_legible(chr(n))} == named | controls
    assert not any(is_visible(c) for c in "\u2800\U00013441\U00013442\U0001d159")
