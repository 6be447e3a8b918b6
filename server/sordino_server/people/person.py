"""A person for whom somebody vouches: a proxy, or an OpenID provider."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from sordino_shared._text import is_legible, is_visible

_LONGEST_SUBJECT = 255
# What the columns of the audit log take.
_LONGEST = 200
_PSEUDONYM_DIGITS = 32


def is_subject(text: object) -> bool:
    """Whether this can name a person: 1 to 255 characters, something visible, and nothing hidden."""
    return isinstance(text, str) and 1 <= len(text) <= _LONGEST_SUBJECT and is_visible(text) and is_legible(text)


@dataclass(frozen=True, kw_only=True)
class Person:
    """A subject of an issuer, the groups that it says the person is in, and what it calls the person."""

    issuer: str
    subject: str
    groups: tuple[str, ...]
    name: str | None = None
    email: str | None = None

    @property
    def sha256(self) -> str:
        """By which the database knows the person."""
        return hashlib.sha256(f"{self.issuer}\0{self.subject}".encode("utf-8", "surrogatepass")).hexdigest()

    def written(self, with_names: bool) -> str:
        """issuer#subject for the audit log; a digest of the subject where it is an e-mail address, unless names may be
        there, or where it is too long.
        """
        written = f"{self.issuer}#{self.subject}"
        if len(written) <= _LONGEST and (with_names or "@" not in self.subject):
            return written
        return f"{self.issuer[: _LONGEST - 48]}#sha256:{self.sha256[:_PSEUDONYM_DIGITS]}"
