"""/docs: the description of the API in Swagger UI, from files of this server alone.

The files are those of the fastapi-offline wheel, whose code is not imported. The page allows no script of another
address and none within the page; an operator's key stays in the page's memory.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from fastapi import APIRouter
from starlette.responses import FileResponse, HTMLResponse, Response

router = APIRouter(include_in_schema=False)

# Swagger UI sets styles on its elements and has its icons as data.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {"Cache-Control": "public, max-age=3600"}
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>sordino API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="api"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
"""
# Without `validatorUrl: null` the page would send the address of this server to a validator elsewhere.
_START = """SwaggerUIBundle({
  url: "/v1/openapi.json",
  dom_id: "#api",
  deepLinking: true,
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis],
});
"""

FileName = Literal["swagger-ui-bundle.js", "swagger-ui.css"]


@router.get("/docs")
async def page() -> Response:
    """The page."""
    return HTMLResponse(_PAGE, headers=_HEADERS | {"Content-Security-Policy": _POLICY})


@router.get("/docs/start.js")
async def start() -> Response:
    """What shows the description in the page."""
    return Response(_START, headers=_HEADERS, media_type="text/javascript")


@router.get("/docs/{name}")
async def file(name: FileName) -> Response:
    """A file of Swagger UI."""
    return FileResponse(static_folder() / name, headers=_HEADERS)


def static_folder() -> Path:
    """The folder of Swagger UI's files."""
    package = find_spec("fastapi_offline")
    assert package is not None, "the server depends on fastapi-offline"
    assert package.origin is not None
    return Path(package.origin).parent / "static"
