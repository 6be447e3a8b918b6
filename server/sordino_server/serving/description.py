"""The description of the API as it is sent: made once in a process."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Description:
    """JSON in UTF-8, and its strong ETag, which is the same in every process of a version."""

    content: bytes
    etag: str

    @classmethod
    def of(cls, document: Callable[[], dict[str, Any]]) -> Description:
        """Of the OpenAPI document."""
        content = json.dumps(document(), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        return cls(content, f'"{hashlib.sha256(content).hexdigest()[:32]}"')
