"""Which names are one population, and which names could pass for another's.

A cap would hold nobody if `Users` or `users` with a Cyrillic е opened as a new population next to `users`. So names
are compared folded: `Users` in any width and `users` are one. A folded name has letters of Unicode's recommended
scripts, marks on letters of their script, ASCII digits, and the signs in `SIGNS`. Every other code point is refused:
`us℮rs` has a sign in place of a letter, private and unassigned code points show as anything or nothing. A name is
refused too whose letters come from several scripts, or look like Latin ones throughout: `usеrs` with a Cyrillic е, and
`соре` of Cyrillic letters alone. Two names of one script that look alike, as `group1` and `groupl` do, are two
populations.
"""

from __future__ import annotations

import unicodedata

from sordino_shared._checks import check_name
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Digest

SIGNS = frozenset(" -_.,:/&+#@()'")
_DIGITS = frozenset("0123456789")
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
# Letters of two scripts, and parts of Hangul's syllables, which stand alone in few words.
_PARTS = {"KATAKANA-HIRAGANA": "KATAKANA", "HANGUL PART": "HANGUL"}
# Written together (UTS #39, highly restrictive).
_TOGETHER = (
    frozenset({"LATIN", "CJK", "HIRAGANA", "KATAKANA"}),
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
# Between Latin letters these pass for o, l, i, T, Y, x, / or -.
_LIKE_LATIN_BESIDE = frozenset("口工丨丅丫乂㐅一丿丶ロエノー")
# Kra looks like a small K, and a stretched Arabic word reads as before.
_CONFUSING = frozenset("ĸ\u0640")
# Letters whose own dot hides another one.
_DOTTED = frozenset("ijіј")
_DOT = "\u0307"
# Marks that change how a Latin, Greek or Cyrillic letter looks; those that strike it through make another letter of it.
_COMMON_MARKS = range(0x0300, 0x0332)
_SCRIPTS_OF_COMMON_MARKS = frozenset({"LATIN", "GREEK", "CYRILLIC"})
_IDEOGRAPHIC = frozenset("々")
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
    if noun == "population":
        _check_address(name)
    # A capital İ shows the dot that a small i hides; it stays another letter.
    compared = folded(unicodedata.normalize("NFC", name).replace("İ", "I"))
    scripts = _scripts_of(compared)
    if strange := _strange(compared, scripts):
        shown = ", ".join(f"{each!r} (U+{ord(each):04X})" for each in strange)
        raise InvalidValue(
            f"{noun} {name!r} has characters that few people tell from others: {shown}; use letters of one script, "
            f"digits 0 to 9, blanks and {' '.join(sorted(SIGNS - {' '}))}",
            name,
        )
    _check_scripts(name, compared, {script for script in scripts if script}, noun)


def _check_address(name: str) -> None:
    """Raise InvalidValue where `/v1/populations/NAME/open` would be another address, however the name is written."""
    if "/" in name or name in (".", ".."):
        raise InvalidValue(
            f"population {name!r} has a name that divides the address under which devices look for what is open "
            "(/v1/populations/NAME/open): use another sign than '/', and more than dots",
            name,
        )


def name_problem(name: str) -> str | None:
    """Why a population from before the rule could not be made with its name today; None for a name that holds."""
    try:
        check_population(name)
    except InvalidValue as error:
        return str(error)
    return None


def _scripts_of(compared: str) -> list[str]:
    """Of each character the script, "" where it is no letter."""
    return [_script(each) if unicodedata.category(each)[0] == "L" else "" for each in compared]


def _strange(compared: str, scripts: list[str]) -> list[str]:
    """The characters of a folded name that are not in the list of allowed ones, in order."""
    found, letter = [], 0
    for at, (character, script) in enumerate(zip(compared, scripts, strict=True)):
        if unicodedata.category(character) in ("Mn", "Mc"):
            allowed = _is_mark_of(character, scripts[letter], compared[letter:at])
        else:
            letter = at
            beside = {*scripts[max(at - 1, 0) : at], *scripts[at + 1 : at + 2]}
            allowed = _is_allowed(character, script, beside) and not (script == "HANGUL PART" and "LATIN" in scripts)
        if not allowed:
            found.append(character)
    return list(dict.fromkeys(found))


def _is_allowed(character: str, script: str, beside: set[str]) -> bool:
    """Whether this may be a letter, a digit or a sign of a name, between letters of these scripts."""
    if not script:
        return character in _DIGITS or character in SIGNS
    if "LATIN" in beside and (character in _LIKE_LATIN_BESIDE or script == "BOPOMOFO"):
        return False
    return character not in _CONFUSING and (script in _SCRIPTS or script in _PARTS)


def _is_mark_of(mark: str, script: str, marked: str) -> bool:
    """Whether a mark may follow `marked`, a letter of this script with the marks before; "" is no letter's script."""
    parts = unicodedata.normalize("NFD", marked)
    if parts[-1:] == mark or (mark == _DOT and parts[:1] in _DOTTED):
        return False
    if script in _SCRIPTS_OF_COMMON_MARKS and ord(mark) in _COMMON_MARKS:
        return True
    return bool(script) and script in _SCRIPTS and _first_word(mark) == script


def _check_scripts(name: str, compared: str, found: set[str], noun: str) -> None:
    scripts = {_PARTS.get(script, script) for script in found}
    if len(scripts) > 1 and not any(scripts <= together for together in _TOGETHER):
        mixed = ", ".join(sorted(scripts)).lower()
        raise InvalidValue(f"{noun} {name!r} mixes letters of several scripts ({mixed}): use one", name)
    letters = {each for each in compared if unicodedata.category(each)[0] == "L"}
    script = next(iter(scripts), "")
    if len(scripts) == 1 and letters <= _LIKE_LATIN.get(script, frozenset()):
        raise InvalidValue(
            f"{noun} {name!r} has {script.lower()} letters alone that look like Latin: add a word that does not",
            name,
        )


def _script(letter: str) -> str:
    """The first word of the letter's name, which is its script in all that are recommended."""
    if letter in _IDEOGRAPHIC:
        return "CJK"
    base = unicodedata.normalize("NFD", letter)[0]
    script = _first_word(base)
    if script == "LATIN" and base > _LAST_LATIN and base not in _OTHER_LATIN:
        return "LATIN OF PHONETICS"
    if script == "HANGUL" and letter == base:
        return "HANGUL PART"
    return script


def _first_word(character: str) -> str:
    return unicodedata.name(character, "UNKNOWN").split()[0]
