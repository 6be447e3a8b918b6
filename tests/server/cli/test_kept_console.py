"""`sordino demo --keep` ends with a console that its link opens."""

from __future__ import annotations

import io
import re
from pathlib import Path

import httpx
import pytest
from rich.console import Console

from sordino_server.cli.simulation.presented_run import serve_kept
from tests.patience import PATIENCE_S


@pytest.mark.slow
def test_links_open_the_console_until_nobody_asks_for_another(tmp_path: Path) -> None:
    printed = io.StringIO()
    opened: list[str] = []

    def ask() -> None:
        links = re.findall(r"console: (http://127\.0\.0\.1:[0-9]+)/console/sign-in#(\S+)", printed.getvalue())
        address, token = links[-1]
        with httpx.Client(base_url=address, timeout=PATIENCE_S) as browser:
            form = re.search(r'name="token" value="([^"]+)"', browser.get("/console/sign-in").text)
            assert form is not None
            done = browser.post("/console/sign-in-link", data={"token": form[1], "link": token})
            assert done.status_code == 303, done.text
            opened.append(browser.get("/console/campaigns").raise_for_status().text)
        if len(links) == 2:
            raise EOFError

    serve_kept(tmp_path, Console(file=printed), ask)
    assert len(opened) == 2
    assert all("Sign out" in page for page in opened)


def test_without_a_terminal_the_command_that_serves_it_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    printed = io.StringIO()
    serve_kept(tmp_path, Console(file=printed))
    assert printed.getvalue() == f"console: SORDINO_DATABASE_URL=sqlite:///{tmp_path}/sordino.sqlite3 sordino serve\n"
