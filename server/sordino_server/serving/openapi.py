"""`python -m sordino_server.serving.openapi`: the description of the API, as it is published in docs/openapi.json."""

from __future__ import annotations

import json
import sys
from typing import Any

from sordino_server.config import Settings
from sordino_server.serving.app import create_app, openapi_of


def document() -> dict[str, Any]:
    """The OpenAPI document; no database is touched for it."""
    return openapi_of(create_app(Settings()))


if __name__ == "__main__":
    json.dump(document(), sys.stdout, indent=2, ensure_ascii=False, sort_keys=True)
    sys.stdout.write("\n")
