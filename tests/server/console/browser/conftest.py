"""A real browser: Debian's Chromium, driven by Playwright. A page that logs an error or breaks its policy fails."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sordino_server.models import Role
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    # Takes a fifth of a second to import: only the worker that drives the browser does.
    from playwright.sync_api import Browser, BrowserContext, FloatRect, Page, Response

AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text(encoding="utf-8")
ROOT = Path(__file__).parents[4]
# Nothing of a browser's own traffic leaves the machine, and no test waits for it.
ARGUMENTS = (
    "--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run",
)  # fmt: skip
DESKTOP = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}
_HOW_TO = "no browser found: `apt-get install chromium`, or give the path of a Chromium in CHROMIUM"
# Pages that answer 4xx are logged as errors; tests of such pages look at them without a browser.
_LOGGED = ("error", "warning")


def chromium_path() -> str | None:
    """The browser to use; fails where the environment says that tests in a browser must run."""
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None and os.environ.get("BROWSER_TESTS") == "required":
        pytest.fail(_HOW_TO, pytrace=False)
    return found


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser for the tests of a file. While it runs, the thread has an event loop: no other test may need one."""
    path = chromium_path()
    if path is None:
        pytest.skip(_HOW_TO)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(ARGUMENTS), timeout=1000 * PATIENCE_S)
        yield browser
        browser.close()


@dataclass
class Window:
    """A tab of one visitor: `faults` has what the browser complained about, on any page."""

    address: str
    page: Page
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(1000 * PATIENCE_S)
        self.page.on("console", lambda said: self._fault(f"{said.type}: {said.text}", said.type in _LOGGED))
        self.page.on("pageerror", lambda error: self._fault(str(error)))
        self.page.on("requestfailed", lambda request: self._fault(f"{request.url}: {request.failure}"))
        self.page.on("request", lambda request: self._fault(request.url, not request.url.startswith(self.address)))
        self.page.on("response", lambda answer: self._fault(f"{answer.status} {answer.url}", answer.status >= 400))

    def _fault(self, text: str, is_one: bool = True) -> None:
        # A page that is left while it loads something aborts it.
        if is_one and "ERR_ABORTED" not in text:
            self.faults.append(f"{self.page.url}: {text}")

    def open(self, path: str) -> Response:
        """Go to a page of the server."""
        response = self.page.goto(self.address + path)
        assert response is not None
        assert response.status == 200, (path, response.status, self.page.inner_text("body")[:400])
        return response

    def sign_in(self, key: str) -> None:
        """Sign in as a person does."""
        self.open("/console/sign-in")
        self.page.get_by_label("Key").fill(key)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.get_by_role("heading", name="What we know").wait_for()

    def menu(self, name: str) -> None:
        """Follow a link of the menu behind the visitor's name."""
        self.page.get_by_role("button", name="Menu of").click()
        self.page.get_by_role("link", name=name, exact=True).click()

    def violations(self, only: str | None = None) -> list[str]:
        """What axe finds on the page: the rule, and the first element that breaks it."""
        self.page.evaluate(f"if (!window.axe) {{ {AXE} }}")
        options = {"resultTypes": ["violations"]} | ({} if only is None else {"runOnly": [only]})
        found = self.page.evaluate("options => axe.run(document, options)", options)["violations"]
        return [f"{each['id']}: {each['help']}: {each['nodes'][0]['html'][:200]}" for each in found]

    def overflow(self) -> list[str]:
        """What is wider than the window, unless it stands in a part that scrolls by itself."""
        script = """() => [...document.querySelectorAll('main *, header *')].filter(each =>
            each.getBoundingClientRect().right > document.documentElement.clientWidth + 1 &&
            !each.closest('.scroll, pre, .skip')).map(each => each.outerHTML.slice(0, 200))"""
        found: list[str] = self.page.evaluate(script)
        root = "document.documentElement"
        wider = self.page.evaluate(f"{root}.scrollWidth > {root}.clientWidth")
        return [*found, *(["the page scrolls sideways"] if wider else [])]

    def unseen_pictures(self) -> list[str]:
        """Addresses of pictures that did not load."""
        script = "[...document.images].filter(image => !image.complete || !image.naturalWidth).map(image => image.src)"
        found: list[str] = self.page.evaluate(script)
        return found

    def keep(self, name: str, most: int = 20_000) -> Path:
        """Write a screenshot of the first `most` pixels of the page to the folder SCREENSHOTS or build/screenshots."""
        folder = Path(os.environ.get("SCREENSHOTS") or ROOT / "build" / "screenshots")
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.png"
        height: int = self.page.evaluate("document.documentElement.scrollHeight")
        width: int = self.page.evaluate("document.documentElement.clientWidth")
        shown: FloatRect = {"x": 0, "y": 0, "width": width, "height": min(height, most)}
        self.page.screenshot(path=path, full_page=True, clip=shown)
        return path


@pytest.fixture
def window(chromium: Browser, running: Any) -> Iterator[Window]:
    """A window of an admin; fails at the end where the browser complained about anything."""
    context: BrowserContext = chromium.new_context(viewport=DESKTOP, color_scheme="light")
    made = Window(running.address, context.new_page())
    made.sign_in(running.key(Role.ADMIN))
    yield made
    faults = list(made.faults)
    context.close()
    assert not faults, faults
