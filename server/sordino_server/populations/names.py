"""Which names are one population, and which names could pass for another's.

A cap would hold nobody if `Users` or `users` with a Cyrillic е opened as a new population next to `users`. So names
are compared folded: `Users` in any width and `users` are one. And a name is refused whose letters come from several
scripts, or look like Latin ones throughout: `usеrs` with a Cyrillic е, and `соре` of Cyrillic letters alone. Two names
of ASCII that look alike, as `group1` and `groupl` do, are two populations.
"""

from __future__ import annotations

import unicodedata

from sordino_shared._checks import check_name
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Digest

# Unicode's recommended scripts (UAX #31, table 5), as the names of their letters begin.
_SCRIPTS = frozenset(
    [
        "ARABIC",
        "ARMENIAN",
        "BENGALI",
        "BOPOMOFO",
        "CJK",
        "CYRILLIC",
        "DEVANAGARI",
        "ETHIOPIC",
        "GEORGIAN",
        "GREEK",
        "GUJARATI",
        "GURMUKHI",
        "HANGUL",
        "HEBREW",
        "HIRAGANA",
        "KANNADA",
        "KATAKANA",
        "KHMER",
        "LAO",
        "LATIN",
        "MALAYALAM",
        "MYANMAR",
        "ORIYA",
        "SINHALA",
        "TAMIL",
        "TELUGU",
        "THAANA",
        "THAI",
        "TIBETAN",
    ]
)
# Written together (UTS #39, highly restrictive).
_TOGETHER = (
    frozenset({"LATIN", "CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"}),
    frozenset({"LATIN", "CJK", "BOPOMOFO"}),
    frozenset({"LATIN", "CJK", "HANGUL"}),
)
# Small letters that look like Latin ones, or whose capitals do (from Unicode's confusables.txt).
_LIKE_LATIN = {
    "CYRILLIC": frozenset("авекмнорстухѕіїјһԁԛԝѵүґ"),
    "GREEK": frozenset("αβγεζηικμνορσςτυχω"),
    "ARMENIAN": frozenset("օսոհցյգզքլ"),
}
# Latin letters of languages end here; beyond are those of phonetics, many of which look like others.
_LAST_LATIN = "\u017f"
_OTHER_LATIN = frozenset("ə")
_ALIKE = str.maketrans({"ı": "i", "’": "'", "‘": "'", "ʼ": "'", "−": "-"})


def identifier_of(name: str) -> str:
    """The id of the population of this name: the SHA-256 of the folded name."""
    return str(Digest.of(folded(name).encode("utf-8")))


def folded(name: str) -> str:
    """The name as it is compared: NFKC and case-folded, blanks and dashes alike, as often as it takes to stay so."""
    while True:
        once = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold().translate(_ALIKE))
        once = "".join("-" if unicodedata.category(c) == "Pd" else c for c in once)
        once = " ".join(once.split())
        if once == name:
            return name
        name = once


def check_population(name: str, noun: str = "population") -> None:
    """Raise InvalidValue for a name that hides something, or that could pass for another's of the same noun."""
    check_name(name, noun)
    compared = folded(name)
    letters = [character for character in compared if unicodedata.category(character)[0] == "L"]
    scripts = {_script(letter) for letter in letters}
    foreign = scripts - _SCRIPTS - {"KATAKANA-HIRAGANA"}
    if foreign:
        raise InvalidValue(f"{noun} {name!r} has letters that few people tell apart ({', '.join(foreign)})", name)
    if len(scripts) > 1 and not any(scripts <= together for together in _TOGETHER):
        mixed = ", ".join(sorted(scripts)).lower()
        raise InvalidValue(f"{noun} {name!r} mixes letters of several scripts ({mixed}): use one", name)
    script = next(iter(scripts), "")
    if len(scripts) == 1 and set(letters) <= _LIKE_LATIN.get(script, frozenset()):
        raise InvalidValue(
            f"{noun} {name!r} has {script.lower()} letters alone that look like Latin: add a word that does not",
            name,
        )


def _script(letter: str) -> str:
    """The first word of the letter's name, which is its script in all that are recommended."""
    base = unicodedata.normalize("NFD", letter)[0]
    script = unicodedata.name(base, "UNKNOWN").split()[0]
    if script == "LATIN" and base > _LAST_LATIN and base not in _OTHER_LATIN:
        return "LATIN OF PHONETICS"
    return script
