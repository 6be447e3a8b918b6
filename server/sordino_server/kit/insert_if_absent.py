"""Insert a row named by its content or its sender, or return the existing one."""

from __future__ import annotations

from typing import Any, TypeVar

from sqlalchemy import inspect
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

Row = TypeVar("Row")


def insert_if_absent(session: Session, row: Row) -> tuple[Row, bool]:
    """The row of this primary key, and whether it is the one given and new.

    Where another transaction is just inserting the key, its end is waited for: reading first and then inserting would
    leave a gap between the two, in which both find nothing.
    """
    kind: Any = type(row)
    key = inspect(kind).primary_key_from_instance(row)
    found: Row | None = session.get(kind, key)
    if found is not None:
        return found, False
    try:
        with session.begin_nested():
            session.add(row)
    except IntegrityError:
        found = session.get(kind, key)
        if found is None:
            raise
        return found, False
    return row, True
