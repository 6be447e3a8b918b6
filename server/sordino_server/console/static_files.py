"""The stylesheet, and the scripts of pages that refresh themselves: all pages work without these."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from fastapi import APIRouter
from starlette.responses import FileResponse, Response

router = APIRouter(prefix="/console")

_FOLDER = Path(__file__).parent / "static"


@router.get("/static/{name}")
async def file(
    name: Literal[
        "console.css", "icon.svg", "htmx.min.js", "live.js", "link.js", "csv.js", "wizard.js", "png.js", "htmx.txt"
    ],
) -> Response:
    """One of the files."""
    return FileResponse(_FOLDER / name, headers={"Cache-Control": "public, max-age=300"})
