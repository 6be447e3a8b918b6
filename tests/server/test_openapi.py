"""The published description of the API is the one that the code has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sordino_server.openapi import document

PUBLISHED = Path(__file__).parents[2] / "docs" / "openapi.json"


def test_the_published_document_is_up_to_date() -> None:
    """After a change of the API: make openapi."""
    assert json.loads(PUBLISHED.read_text()) == document()


def test_every_operation_is_described_and_fails_with_a_problem() -> None:
    described = document()
    assert described["openapi"].startswith("3.1")
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            where = f"{method} {path}"
            assert operation.get("description"), where
            problems = [operation["responses"][status]["content"] for status in ("4XX", "5XX")]
            assert all(list(content) == ["application/problem+json"] for content in problems), where
            assert "422" not in operation["responses"], where


def test_every_reference_leads_somewhere() -> None:
    described = document()

    def references(value: Any) -> list[str]:
        if isinstance(value, dict):
            own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
            return own + [found for item in value.values() for found in references(item)]
        return [found for item in value for found in references(item)] if isinstance(value, list) else []

    for reference in references(described):
        assert reference.rpartition("/")[2] in described["components"]["schemas"], reference
