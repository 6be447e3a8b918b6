"""What a database does as it did before a default changed."""

from __future__ import annotations

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from sordino_server.models.base import Base


class KeptDefault(Base):
    """A default that migrations leave as it was in a database that had campaigns; a setting takes its place."""

    __tablename__ = "kept_defaults"

    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    value: Mapped[str] = mapped_column(String(64))
