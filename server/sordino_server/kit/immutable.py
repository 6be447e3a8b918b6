"""Immutable responses: content under its own digest, which any cache may store permanently."""

from __future__ import annotations

import gzip

from starlette.requests import Request
from starlette.responses import Response

MAX_AGE_S = 31_536_000
# Below this the headers weigh more than what compression saves.
_COMPRESS_FROM = 1024
_LEVEL = 6


def immutable_response(request: Request, content: bytes, digest: str, media_type: str) -> Response:
    """`content` with a strong ETag, 304 for who has it, gzip for who takes it."""
    compress = len(content) >= _COMPRESS_FROM and _accepts_gzip(request)
    # The two codings are different bytes, and a strong tag names bytes.
    tag = f'"{digest}-gzip"' if compress else f'"{digest}"'
    headers = {
        "ETag": tag,
        "Cache-Control": f"public, max-age={MAX_AGE_S}, immutable",
        "Vary": "Accept, Accept-Encoding",
    }
    if has_tag(request, tag):
        return Response(None, 304, headers)
    if compress:
        content = gzip.compress(content, _LEVEL, mtime=0)
        headers["Content-Encoding"] = "gzip"
    return Response(content, 200, headers, media_type)


def _accepts_gzip(request: Request) -> bool:
    for item in request.headers.get("accept-encoding", "").lower().split(","):
        coding, _, parameters = item.partition(";")
        if coding.strip() == "gzip":
            return parameters.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def has_tag(request: Request, tag: str) -> bool:
    """Whether who asks has the content of this ETag, by If-None-Match."""
    known = [item.strip().removeprefix("W/") for item in request.headers.get("if-none-match", "").split(",")]
    return tag in known or "*" in known
