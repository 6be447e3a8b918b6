"""Sphinx builds with our settings, fails for what does not exist, and axe finds nothing on the pages in a browser.

Needs the packages of requirements/docs.txt, which `make docs` installs and `.ci/run` brings before the tests.
"""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from docs.site.__main__ import REMEDIES
from docs.site.contents import DOCS, ROOT
from docs.site.staging import toctree, with_site_links
from tests.server.console.browser.conftest import DESKTOP, PHONE, Window, chromium  # noqa: F401
from tests.server.console.browser.test_published_site import Quiet

pytest.importorskip("sphinx", reason="run make docs once: it installs the generator")

VIEWS: tuple[tuple[Any, str], ...] = ((PHONE, "dark"), (DESKTOP, "light"))
SETTINGS = ROOT / "docs" / "site"
# Tables, diagrams, code and images; no page of them needs the program to be imported.
SAMPLE = ("data-model", "sdk", "comparison")
WORDS = (
    "ledger",
    "manifest",
    "idempotency",
    "accumulator",
    "campaign",
    "opt_out",
    "shuffler",
    "histogram",
    "spool",
    "median",
)
# Pages by hand above 180 kB, which are to be cut.
HEAVY = ["certificates.html", "protocol.html"]


def sphinx(source: Path, target: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sphinx", "-q", *options, "-c", SETTINGS, source, target]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of some pages, whose links to the others lead nowhere."""
    source = tmp_path_factory.mktemp("sample")
    for name in SAMPLE:
        text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
        (source / f"{name}.md").write_text(with_site_links(text, f"{name}.md", "https://code.example"))
    (source / "index.md").write_text("# sordino\n\nSome pages.\n\n" + toctree(SAMPLE, "Reference"))
    done = sphinx(source, source / "html")
    assert done.returncode == 0, done.stderr
    return source / "html"


def test_a_page_or_heading_that_is_not_there_ends_the_build(tmp_path: Path) -> None:
    (tmp_path / "index.md").write_text(
        "# Front\n\n[moved](gone.md) [renamed](other.md#old) [right](other.md#new)\n\n" + toctree(["other", "away"])
    )
    (tmp_path / "other.md").write_text("# Other\n\n## New\n\n```{eval-rst}\n.. py:function:: f(x: NoSuchType)\n```\n")
    (tmp_path / "alone.md").write_text("# Nobody lists it\n")
    done = sphinx(tmp_path, tmp_path / "html", "-n", "-W", "--keep-going")
    assert done.returncode != 0
    for named in ("gone.md", "'old'", "'away'", "alone.md", "NoSuchType"):
        assert named in done.stderr
    assert "'new'" not in done.stderr
    # What `make docs` prints behind them quotes them.
    for quoted in re.findall(r'"([^"]+)"', REMEDIES):
        assert quoted in done.stderr


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a folder's files: a file of a disk may not be read by axe, which looks for fonts and colours."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def faults_of(browser: Any, address: str, pages: list[str], size: Any, scheme: str) -> dict[str, list[str]]:
    """What axe, the network and the width say against each page."""
    context = browser.new_context(viewport=size, color_scheme=scheme)
    window = Window(address, context.new_page())
    found = {}
    for page in pages:
        window.open(f"/{page}")
        found[page] = [*window.violations(), *window.unseen_pictures(), *window.faults]
        root = "document.documentElement"
        if window.page.evaluate(f"{root}.scrollWidth > {root}.clientWidth"):
            found[page].append("the page scrolls sideways")
        window.faults.clear()
    context.close()
    return {name: faults for name, faults in found.items() if faults}


@pytest.mark.parametrize(("size", "scheme"), VIEWS, ids=["phone", "desktop"])
def test_axe_finds_nothing_on_some_pages(chromium: Any, sample: Path, size: Any, scheme: str) -> None:  # noqa: F811
    with served(sample) as address:
        assert faults_of(chromium, address, [f"{name}.html" for name in ("index", *SAMPLE)], size, scheme) == {}


def found_by_search(browser: Any, site: Path, word: str) -> list[str]:
    """Pages that the search of a site finds, opened from the disk as by a double click; nothing is asked of others."""
    context = browser.new_context()
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{(site / 'search.html').as_uri()}?q={word}")
    page.locator("#search-results .search-summary", has_text="finished").or_(
        page.locator("#search-results li a").first
    ).first.wait_for()
    found: list[str] = page.eval_on_selector_all("#search-results li > a", "all => all.map(a => a.href)")
    context.close()
    assert [url for url in asked if not url.startswith("file:")] == []
    return found


def test_search_works_from_a_disk(chromium: Any, sample: Path) -> None:  # noqa: F811
    assert any("sdk.html" in url for url in found_by_search(chromium, sample, "spool"))
    assert any("data-model.html" in url for url in found_by_search(chromium, sample, "idempotency"))


@pytest.mark.slow
def test_every_page_of_the_site(chromium: Any, tmp_path: Path) -> None:  # noqa: F811
    """The whole site: no warning, axe on each page in two sizes and schemes, ten words, its size."""
    build = [sys.executable, "-m", "docs.site", "build", "--folder", tmp_path]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    site = tmp_path / "html"
    pages = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    assert len(pages) > 120
    with served(site) as address:
        faults = {size["width"]: faults_of(chromium, address, pages, size, scheme) for size, scheme in VIEWS}
    assert faults == {390: {}, 1440: {}}
    assert [word for word in WORDS if not found_by_search(chromium, site, word)] == []
    heavy = [page for page in pages if (site / page).stat().st_size > 180_000 and not page.startswith("reference/")]
    assert sorted(heavy) == HEAVY
    assert sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) < 10_200_000
