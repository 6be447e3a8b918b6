"""Readable messages for pydantic's validation errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def reason(item: Mapping[str, Any]) -> str:
    """Why one value does not fit, from an item of `ValidationError.errors()`."""
    if item["type"] == "extra_forbidden":
        return "there is no such field"
    return str(item["msg"]).removeprefix("Value error, ")
