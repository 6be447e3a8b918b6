"""The page of a campaign behind a shuffler: who takes the reports, and how far the batch is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sordino_server.models import Role
from sordino_shared.protocol.sealed import BatchEnd
from tests.server.console.conftest import Browsers
from tests.server.shuffled.collected import USERS, Shuffled, shuffled_campaign


@pytest.fixture
def shuffled(migrated_sqlite_url: str, tmp_path: Path) -> Iterator[Shuffled]:
    with shuffled_campaign(migrated_sqlite_url, tmp_path / "keys") as found:
        yield found


@pytest.fixture
def opened(shuffled: Shuffled) -> Iterator[Browsers]:
    """Browsers of the collector."""
    made = Browsers(shuffled.home)
    yield made
    made.close()


def test_the_page_follows_a_batch_until_it_is_counted(shuffled: Shuffled, opened: Browsers) -> None:
    page = f"/console/campaigns/{shuffled.campaign['id']}"

    def seen(path: str = page) -> str:
        """With a new session: the clock moves by hours."""
        return " ".join(opened.of(Role.ANALYST).page(path).split())

    assert "<dt>Shuffler</dt><dd>mix, to which devices report</dd>" in seen()
    assert "receiving: mix takes reports until" in seen()
    shuffled.end()
    waiting = seen()
    assert "receiving: waiting for the batch of mix" in waiting
    assert "waits for mix" in waiting
    # Closed, and still followed: the batch may come at any time.
    assert f'hx-get="{page}/counts"' in waiting
    assert "waiting for the batch of mix" in seen(f"{page}/counts")
    width = len(shuffled.sealed([0])[0])
    shuffled.release([*shuffled.sealed([0] * USERS), bytes(width), *shuffled.blanket()])
    assert "stated: the batch of mix with" in seen()
    shuffled.home.work()
    counted = seen()
    assert "random ones of mix, less 1 report refused" in counted
    assert f"<p>{USERS} of devices</p>" in counted
    assert "unopenable" in counted
    assert "hx-get" not in counted


def test_the_page_says_why_nothing_came(shuffled: Shuffled, opened: Browsers) -> None:
    assert shuffled.state(shuffled.statement([], BatchEnd.MISSED)).status_code == 201
    shuffled.end()
    page = opened.of(Role.ANALYST).page(f"/console/campaigns/{shuffled.campaign['id']}")
    assert "withheld: too few devices took part" in page
