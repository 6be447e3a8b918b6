"""The one stylesheet."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter
from starlette.responses import FileResponse, Response

router = APIRouter(prefix="/console")

_FOLDER = Path(__file__).parent / "static"


@router.get("/console.css")
async def stylesheet() -> Response:
    """Light and dark, for narrow and wide windows."""
    return FileResponse(_FOLDER / "console.css", headers={"Cache-Control": "public, max-age=300"})
