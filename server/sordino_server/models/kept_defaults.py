"""What a database does as it did before a default changed."""

from __future__ import annotations

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from sordino_server.models.base import Base


class KeptDefault(Base):
    """An old default that a database with campaigns keeps after an upgrade, until its setting is set."""

    __tablename__ = "kept_defaults"

    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    value: Mapped[str] = mapped_column(String(64))
