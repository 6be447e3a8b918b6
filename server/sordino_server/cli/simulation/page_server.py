"""The example page from an origin of its own: its files, where it asks, and the end of the question."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from sordino_server.cli.server_process import address_of
from sordino_shared.errors import SordinoError

PACKED = Path(__file__).parents[2] / "demo" / "page"
MODULES = "sordino-client"
# What a page reads: the server's address, the campaign's id, and whether it may end the question.
SETTINGS = "/settings.json"
CLOSE = "/close"
_LONGEST_WAIT_S = 30
# A module under another type is not run; what a machine knows of suffixes differs.
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}


class NoPage(SordinoError):
    """There are no files to serve; the message says how to make them."""


def page_folders(chosen: Path | None, packed: Path = PACKED) -> tuple[Path, ...]:
    """Where files are looked for, in order: the folder that the owner chose, then the page of the package.

    Raises NoPage where there is no index.html, or no SDK.
    """
    if chosen is not None and not (chosen / "index.html").is_file():
        raise NoPage(f"{chosen} has no index.html; name the folder of your page, such as a copy of examples/browser")
    folders = tuple(each for each in (chosen, packed) if each is not None)
    if not any((each / MODULES / "index.js").is_file() for each in folders):
        raise NoPage(
            "the example page is not in this installation: in a checkout run `make demo ARGS=--browser`, or "
            "`python -m release page` first; a released wheel of sordino-server has it"
        )
    return folders


@dataclass(kw_only=True)
class Site:
    """What is served: `settings` for the page, and `close`, which ends the question and gives the result's address."""

    folders: tuple[Path, ...]
    settings: Mapping[str, Any]
    close: Callable[[], str]
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _result: str | None = None

    @property
    def told(self) -> dict[str, Any]:
        """The settings, with the result's address once there is one."""
        return {**self.settings, "closes": True, "result": self._result}

    def closed(self) -> str:
        """The address of the result; the question is closed at the first call alone."""
        with self._lock:
            if self._result is None:
                self._result = self.close()
            return self._result

    def file(self, path: str) -> Path | None:
        """The file of an address without its first slash; None where no folder has it."""
        for folder in self.folders:
            try:
                place = (folder / (path or "index.html")).resolve()
                if place.is_file() and place.is_relative_to(folder.resolve()):
                    return place
            except (OSError, ValueError):
                # Too long for a name, or with a zero byte: no file has it.
                continue
        return None


class _Page(BaseHTTPRequestHandler):
    """GET of a file or of the settings, POST of the end; a policy that lets the page reach one server alone."""

    protocol_version = "HTTP/1.1"
    timeout = _LONGEST_WAIT_S
    site: Site
    address: str

    def __init__(self, *given: Any, site: Site, address: str) -> None:
        self.site, self.address = site, address
        super().__init__(*given)

    def end_headers(self) -> None:
        server = self.site.settings["server"]
        policy = f"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self' {server}"
        self.send_header(
            "Content-Security-Policy", f"{policy}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == SETTINGS:
            self._json(HTTPStatus.OK, self.site.told)
        elif (file := self.site.file(path.removeprefix("/"))) is None:
            self._json(HTTPStatus.NOT_FOUND, {"detail": "no such file"})
        else:
            media_type = _TYPES.get(file.suffix, "application/octet-stream")
            self._answer(HTTPStatus.OK, media_type, file.read_bytes())

    def do_POST(self) -> None:
        # The body is not read, and another page of the same browser may not end the question.
        self.close_connection = True
        if self.path != CLOSE or self.headers.get("Origin") != self.address:
            self._json(HTTPStatus.FORBIDDEN, {"detail": "only the page itself ends the question"})
            return
        try:
            self._json(HTTPStatus.OK, {"result": self.site.closed()})
        except SordinoError as error:
            self._json(HTTPStatus.BAD_GATEWAY, {"detail": str(error)})

    def _json(self, status: HTTPStatus, value: Mapping[str, Any]) -> None:
        self._answer(status, "application/json", json.dumps(value).encode())

    def _answer(self, status: HTTPStatus, media_type: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Nothing on standard error."""


@contextmanager
def serving(listener: socket.socket, site: Site) -> Iterator[str]:
    """Serve the site on a listening socket while the block runs; its address."""
    address = address_of(listener)
    handler = partial(_Page, site=site, address=address)
    server = ThreadingHTTPServer(listener.getsockname()[:2], handler, bind_and_activate=False)
    server.socket.close()
    server.socket = listener
    # Requests that are under way do not keep the command from ending.
    server.daemon_threads, server.block_on_close = True, False
    threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
    try:
        yield address
    finally:
        server.shutdown()
        server.server_close()
