"""Problem documents (RFC 9457) that another server answered with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sordino_shared.protocol import PROBLEM_MEDIA_TYPE


def received_problem(headers: Mapping[str, str], content: bytes) -> dict[str, Any] | None:
    """The problem document of an answer; None for anything else, such as a proxy's page."""
    if not headers.get("content-type", "").startswith(PROBLEM_MEDIA_TYPE):
        return None
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None
