"""Times in JSON: Unix seconds, and the same time as ISO 8601 in UTC."""

from __future__ import annotations

from pydantic import BaseModel, computed_field

from sordino_server.kit.clock import iso_8601


class Created(BaseModel):
    """When something was created."""

    created_at: int

    @computed_field
    def created(self) -> str:
        return iso_8601(self.created_at)


class Opened(BaseModel):
    """When something opened and closed."""

    opened_at: int | None
    closed_at: int | None

    @computed_field
    def opened(self) -> str | None:
        return iso_8601_or_none(self.opened_at)

    @computed_field
    def closed(self) -> str | None:
        return iso_8601_or_none(self.closed_at)


def iso_8601_or_none(unix: int | None) -> str | None:
    """ISO 8601 of a time that may not have come."""
    return None if unix is None else iso_8601(unix)
