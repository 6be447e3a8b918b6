"""A site whose name was made to mean this machine (DNS rebinding) gets no page of the console."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.patience import PATIENCE_S
from tests.server.console.browser.conftest import ARGUMENTS, chromium_path


def test_a_browser_that_takes_another_name_for_this_machine_gets_no_form(running: Any) -> None:
    from playwright.sync_api import sync_playwright

    path = chromium_path()
    if path is None:
        pytest.skip("no browser found")
    port = urlsplit(running.address).port
    rebound = "--host-resolver-rules=MAP rebound.example 127.0.0.1"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=[*ARGUMENTS, rebound], timeout=1000 * PATIENCE_S)
        page = browser.new_page()
        page.set_default_timeout(1000 * PATIENCE_S)
        for name, status in (("rebound.example", 403), ("localhost", 200), ("127.0.0.1", 200)):
            response = page.goto(f"http://{name}:{port}/console/sign-in")
            assert response is not None
            assert (name, response.status) == (name, status)
            assert page.get_by_label("Key").count() == (status == 200)
        browser.close()
