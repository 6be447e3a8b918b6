"""The description of the REST API as `docs/openapi.json` has it; another test says that the code has the same.

Reading it takes a hundredth of the time in which FastAPI makes it, which every worker would do to list its tests.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PUBLISHED = Path(__file__).parents[1] / "docs" / "openapi.json"


def published_api() -> dict[str, Any]:
    """The document."""
    return dict(json.loads(PUBLISHED.read_text(encoding="utf-8")))


def published_operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Method in capitals, template of the path and description of every operation."""
    for template, methods in published_api()["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), template, operation
