"""SQL is compiled once for all databases of a process: every test opens its own, and SQLAlchemy would begin anew.

Compiling takes a quarter of what a test of an endpoint takes. The engines of this process share one cache, in which two
dialects are the same where they are of one class and speak to one version of a server.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.util import LRUCache

_ROOM = 5_000


@pytest.fixture(autouse=True, scope="session")
def _statements_compiled_once() -> Iterator[None]:
    shared: LRUCache[Any, Any] = LRUCache(_ROOM)

    def engine_with_shared_cache(*arguments: Any, **options: Any) -> Engine:
        engine = create_engine(*arguments, **options)
        engine._compiled_cache = shared  # type: ignore[assignment]  # private
        return engine

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DefaultDialect, "__hash__", lambda dialect: hash(type(dialect)))
        patch.setattr(DefaultDialect, "__eq__", _are_alike)
        patch.setattr("sordino_server.kit.db.create_engine", engine_with_shared_cache)
        yield


def _are_alike(one: DefaultDialect, other: object) -> bool:
    if type(one) is not type(other):
        return False
    return getattr(one, "server_version_info", None) == getattr(other, "server_version_info", None)
