"""Declarative base: constraint names that migrations can name, and the column types both engines share."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from sqlalchemy import BigInteger, CheckConstraint, Integer, MetaData, String
from sqlalchemy.orm import DeclarativeBase

CONSTRAINT_NAMES = {
    "pk": "pk_%(table_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
}

# SQLite numbers rows by itself only where the primary key is declared INTEGER; PostgreSQL needs 64 bits said.
RowNumber = BigInteger().with_variant(Integer(), "sqlite")
DigestText = String(64)


class Base(DeclarativeBase):
    """Every table. Times are whole Unix seconds, digests 64 hexadecimal digits, documents their canonical bytes."""

    metadata = MetaData(naming_convention=CONSTRAINT_NAMES)


def one_of(column: str, values: Iterable[StrEnum | str]) -> CheckConstraint:
    """CHECK that `column` holds one of the values."""
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=column)
