"""What the owner of a device is shown in a stated language; the manifest's `purpose` has no stated one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sordino_shared._checks import check_length, check_name, check_range, check_text
from sordino_shared._records import dataclass
from sordino_shared.errors import InvalidValue

MAX_TEXTS = 40
MAX_PURPOSE = 2000
_MAX_LINK = 200
# A language range of RFC 4647 section 2.1, which every BCP 47 tag of a language is.
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
# The characters that RFC 3986 has.
_LINK = re.compile(r"https://[A-Za-z0-9\[][A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]*")


@dataclass(frozen=True, kw_only=True)
class OwnerText:
    """The purpose in one language, whom to ask, and where to read more."""

    language: str
    purpose: str
    contact: str | None
    link: str | None

    def __post_init__(self) -> None:
        check_length(self.language, 2, 35, "language")
        if not _LANGUAGE.fullmatch(self.language):
            raise InvalidValue(f"language must be a BCP 47 tag such as de-CH, got {self.language!r}", self.language)
        check_purpose(self.purpose)
        if self.contact is not None:
            check_name(self.contact, "contact")
        if self.link is not None:
            check_length(self.link, 9, _MAX_LINK, "link")
            if not _LINK.fullmatch(self.link):
                raise InvalidValue(
                    f"link must be an address that begins with https:// and has only characters of RFC 3986, "
                    f"got {self.link!r}",
                    self.link,
                )


def text_for(texts: Sequence[OwnerText], languages: Sequence[str]) -> OwnerText | None:
    """The text of the first of `languages` that there is one for, by lookup (RFC 4647, section 3.4); None for none.

    A language loses its last subtags one by one until a text has it: of "de-CH-1996", "de-CH", then "de". `*` is
    skipped. Raises InvalidValue for what is no list of language ranges.
    """
    if isinstance(languages, str) or not all(isinstance(each, str) for each in languages):
        raise InvalidValue(f"languages are a list of tags such as ['de-CH', 'en'], got {languages!r}", languages)
    by_language = {each.language.lower(): each for each in texts}
    for wanted in languages:
        subtags = wanted.lower().split("-")
        while subtags:
            if (found := by_language.get("-".join(subtags))) is not None:
                return found
            # A single letter or digit is no language without what follows it.
            subtags.pop()
            while subtags and len(subtags[-1]) == 1:
                subtags.pop()
    return None


def check_purpose(purpose: str) -> None:
    """1 to 2000 characters that people see, on one line or more."""
    shown = purpose.replace("\n", " ")
    check_length(shown, 1, MAX_PURPOSE, "the purpose for the owner")
    check_text(shown, "the purpose for the owner")


def check_texts(texts: tuple[OwnerText, ...]) -> None:
    """Raise InvalidValue unless there are at most 40, in the order of their languages, each language once."""
    check_range(len(texts), 0, MAX_TEXTS, "number of texts")
    languages = [each.language.lower() for each in texts]
    if languages != sorted(set(languages)):
        raise InvalidValue("texts are in ascending order of their languages, each once, whatever their case", languages)
