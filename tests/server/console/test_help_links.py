"""Help of the console leads to pages, headings and codes that the documentation has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from docs.site.contents import DOCS
from docs.site.reference import problems
from sordino_server import __version__
from sordino_server.console import help_links
from sordino_shared.protocol import Problem

TEMPLATES = Path(help_links.__file__).parent / "templates"
# An error has a link of its own, to its kind.
OF_ITS_OWN = "error"


def anchor(title: str) -> str:
    """The name of a heading in an address, as the site and a code host make it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def opened(target: str) -> str | None:
    """What is missing of `page#heading`, None for nothing."""
    page, _, heading = target.partition("#")
    path = DOCS / f"{page}.md"
    if not path.is_file():
        return f"no page {page}.md"
    headings = re.findall(r"^#{1,4} (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return f"{page}.md has no heading {heading}" if heading and heading not in map(anchor, headings) else None


@pytest.mark.parametrize("name", sorted(help_links.PAGES))
def test_each_link_opens(name: str) -> None:
    assert opened(help_links.PAGES[name]) is None


def test_a_link_that_does_not_open_is_told() -> None:
    assert opened("no-such-page") == "no page no-such-page.md"
    assert opened("console#no-such-heading") == "console.md has no heading no-such-heading"


def test_every_page_of_the_console_has_its_help_and_no_other() -> None:
    pages = {path.stem for path in TEMPLATES.glob("*.html") if '{% extends "base.html" %}' in path.read_text("utf-8")}
    assert pages - {OF_ITS_OWN} == set(help_links.PAGES)


def test_every_kind_of_error_opens() -> None:
    (page,) = problems.pages().values()
    for problem in Problem:
        address, _, code = help_links.help_for_error(problem).partition("#")
        assert address == f"https://sordino.example/docs/{__version__}/reference/problems.html"
        assert f'<span id="{code}"></span>' in page


def test_pages_and_errors_show_it(browsers: Any) -> None:
    browser = browsers.anonymous()
    page = browser.page("/console/sign-in")
    assert f'<a href="{help_links.help_for("sign_in")}" rel="noreferrer">Help for this page</a>' in page
    refused = browser.http.post("/console/sign-in", data={"token": "none", "key": "none"})
    assert refused.status_code == 403
    kind = help_links.help_for_error(Problem.FORBIDDEN)
    assert f'<a href="{kind}" rel="noreferrer">What this error means</a>' in refused.text
    assert "Help for this page" not in refused.text
