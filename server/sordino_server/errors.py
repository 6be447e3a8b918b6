"""Errors of the server: each knows its problem type, so that one place turns them into answers."""

from __future__ import annotations

from typing import Any

from sordino_shared.errors import SordinoError
from sordino_shared.protocol import Problem


class ServerError(SordinoError):
    """A problem with a detail that may be shown to whoever asked; `extra` are further members of its document."""

    def __init__(self, problem: Problem, detail: str, **extra: Any) -> None:
        super().__init__(detail)
        self.problem = problem
        self.detail = detail
        self.extra = extra
