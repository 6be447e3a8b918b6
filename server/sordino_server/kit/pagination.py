"""Lists in pages, newest first: the token names the last row seen, so that new rows shift nothing."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from sqlalchemy import Select, tuple_
from sqlalchemy.orm import InstrumentedAttribute, Session

from sordino_shared.errors import InvalidValue

MAX_PAGE = 200
# What rows are called: digests and random numbers. Other text may be none that a database takes.
_IDENTIFIER = re.compile("[0-9a-f]{1,64}")


class Dated(Protocol):
    """A row with the two columns that lists are ordered by."""

    @property
    def created_at(self) -> int: ...

    @property
    def id(self) -> str: ...


Row = TypeVar("Row", bound=Dated)


@dataclass(frozen=True)
class Position:
    """Time and id of the last row of a page."""

    created_at: int
    id: str

    def token(self) -> str:
        """Opaque text for `page_token`."""
        return base64.urlsafe_b64encode(json.dumps([self.created_at, self.id]).encode()).decode().rstrip("=")

    @classmethod
    def parse(cls, token: str) -> Position:
        """From a token that `token()` wrote; anything else is refused."""
        try:
            created_at, identifier = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        except (ValueError, TypeError, RecursionError) as error:
            raise InvalidValue("page_token is not one that this server gave", token) from error
        if type(created_at) is not int or not 0 <= created_at < 2**62 or not _is_identifier(identifier):
            raise InvalidValue("page_token is not one that this server gave", token)
        return cls(created_at, identifier)


def _is_identifier(given: object) -> bool:
    return isinstance(given, str) and _IDENTIFIER.fullmatch(given) is not None


@dataclass(frozen=True)
class Page:
    """Which rows are asked for: at most `size` after `after`."""

    size: int
    after: Position | None


def newest_first(
    statement: Select[Any], created_at: InstrumentedAttribute[int], identifier: InstrumentedAttribute[str], page: Page
) -> Select[Any]:
    """`statement` ordered and cut to the page, with one row more, which is there if another page follows."""
    if page.after is not None:
        statement = statement.where(tuple_(created_at, identifier) < (page.after.created_at, page.after.id))
    return statement.order_by(created_at.desc(), identifier.desc()).limit(page.size + 1)


def listed(
    session: Session,
    statement: Select[Row],
    created_at: InstrumentedAttribute[int],
    identifier: InstrumentedAttribute[str],
    page: Page,
) -> tuple[Sequence[Row], str | None]:
    """The rows of a statement that are on the page, newest first, and the token of the next page if there is any."""
    return cut(session.scalars(newest_first(statement, created_at, identifier, page)).all(), page)


def cut(rows: Sequence[Row], page: Page) -> tuple[Sequence[Row], str | None]:
    """The rows of the page, and the token of the next one if there is any."""
    if len(rows) <= page.size:
        return rows, None
    last = rows[page.size - 1]
    return rows[: page.size], Position(last.created_at, last.id).token()
