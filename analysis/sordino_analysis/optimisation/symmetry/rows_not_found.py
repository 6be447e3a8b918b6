"""The error of an optimisation that finds no rows."""

from __future__ import annotations

from sordino_shared.errors import SordinoError


class RowsNotFound(SordinoError):
    """The solver found no mixture; `status` is its word for it."""

    code = "rows-not-found"
    advice = "plan with another mechanism, or with another ε"

    def __init__(self, message: str, status: str) -> None:
        super().__init__(message)
        self.status = status
