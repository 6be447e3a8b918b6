"""Estimates as the API has them, for tests that look at single answers."""

from __future__ import annotations

from typing import Any


def answers_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The answers row by row."""
    table = document["table"]
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def facts_of(document: dict[str, Any]) -> dict[str, Any]:
    """What is known of all answers at once: the terms, and the extras of the kind."""
    return {"kind": document["kind"], **document["terms"], **document["extras"]}


def ends_of(answer: dict[str, Any], prefix: str = "") -> list[float]:
    """An interval of one answer."""
    return [answer[f"{prefix}lower"], answer[f"{prefix}upper"]]
