"""The page of a closed round follows the batch of its shuffler by itself, in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.patience import PATIENCE_S
from tests.server.console.browser.conftest import DESKTOP, PHONE, Window
from tests.server.shuffled.collected import USERS, Shuffled, shuffled_campaign

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture
def shuffled(migrated_sqlite_url: str, tmp_path: Path) -> Iterator[Shuffled]:
    with shuffled_campaign(migrated_sqlite_url, tmp_path / "keys") as found:
        yield found


@pytest.fixture
def running(shuffled: Shuffled) -> Any:
    """The collector, which the window opens."""
    return shuffled.home


def test_a_page_that_waits_for_a_batch_shows_it_when_it_comes(
    chromium: Browser, window: Window, shuffled: Shuffled
) -> None:
    shuffled.end()
    # The first session has ended with the hour.
    window.sign_in(shuffled.home.admin_key)
    window.open(f"/console/campaigns/{shuffled.campaign['id']}")
    counts = window.page.locator("#counts")
    assert "waiting for the batch of mix" in counts.inner_text()
    assert not window.violations()
    window.page.set_viewport_size(PHONE)
    assert not window.overflow()
    window.page.set_viewport_size(DESKTOP)
    window.keep("batch-waiting-1440")
    shuffled.release([*shuffled.sealed([0] * USERS), *shuffled.blanket()])
    stated = f"{USERS} reports of devices and {shuffled.route.blanket} random ones is here"
    counts.get_by_text(stated).wait_for(timeout=1000 * PATIENCE_S)
    shuffled.home.work()
    counts.get_by_text("less none refused").wait_for(timeout=1000 * PATIENCE_S)
    # Nothing is left to come, so that the page asks no more.
    assert window.page.locator("#counts[hx-get]").count() == 0
    window.keep("batch-counted-1440")
