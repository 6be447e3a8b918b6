"""A published site in a real browser: axe finds nothing, and nothing but the site's own files is asked for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sordino_server.cli import app
from tests.server.cli.test_publish import estimated
from tests.server.console.browser.conftest import DESKTOP, PHONE, Window


class Quiet(SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        """A file of the site; a browser asks for an icon by itself."""
        if self.path == "/favicon.ico":
            self.send_response(204)
            self.end_headers()
        else:
            super().do_GET()

    def log_message(self, *_: object) -> None:
        """Nothing on standard error."""


@pytest.fixture
def site(running: Any, tmp_path: Path) -> Iterator[str]:
    """The address of the pages of a closed campaign and of an open one."""
    closed = estimated(running)
    running.clock.advance(1)
    running.campaign("open", name="open")
    environment = {"SORDINO_SERVER": running.address, "SORDINO_KEY": running.admin_key}
    done = CliRunner().invoke(app, ["publish", str(tmp_path / "site"), "delays", "open"], env=environment)
    assert done.exit_code == 3, done.output
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "site")))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    assert (tmp_path / "site" / closed["id"][:12]).is_dir()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_the_pages_of_a_site(chromium: Any, site: str, scheme: Any) -> None:
    for size in (DESKTOP, PHONE):
        # The policy of the pages forbids the script of axe; all else it keeps.
        context = chromium.new_context(viewport=size, color_scheme=scheme, bypass_csp=True)
        window = Window(site, context.new_page())
        window.open("/index.html")
        links = window.page.eval_on_selector_all("td a", "all => all.map(each => each.getAttribute('href'))")
        assert len(links) == 2
        for path in ("index.html", *links):
            window.open(f"/{path}")
            assert window.violations() == []
            assert window.unseen_pictures() == []
        assert window.faults == []
        context.close()


def test_the_policy_of_the_pages_holds_in_a_browser(chromium: Any, site: str) -> None:
    """Their own style is applied and their picture shown; a script that somebody puts in does not run."""
    context = chromium.new_context()
    window = Window(site, context.new_page())
    window.open("/index.html")
    assert window.page.evaluate("getComputedStyle(document.body).maxWidth") != "none"
    window.page.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), {text: 'window.ran = 1'}))"
    )
    assert window.page.evaluate("window.ran") is None
    context.close()
