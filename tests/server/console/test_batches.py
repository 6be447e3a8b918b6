"""The page of a campaign behind a shuffler: who takes the reports, and how far the batch is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sordino_server.models import Role
from sordino_shared.protocol.sealed import BatchEnd
from tests.server.console.conftest import Browsers
from tests.server.shuffled.collected import USERS, Shuffled, shuffled_campaign
from tests.server.shuffled.collected_series import shuffled_series


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


def test_the_page_says_that_a_key_is_lost_and_what_to_do(shuffled: Shuffled, opened: Browsers) -> None:
    file = shuffled.folder / shuffled.campaign["id"] / "round-0.key"
    kept = file.read_text()
    file.unlink()
    shuffled.release([*shuffled.sealed([0] * USERS), *shuffled.blanket()])
    shuffled.end()
    path = f"/console/campaigns/{shuffled.campaign['id']}"
    page = " ".join(opened.of(Role.ANALYST).page(path).split())
    assert "unreadable: the key that opens this round" in page
    assert "restore the folder from its backup and retry the round" in page
    file.write_text(kept)
    shuffled.home.api.post(f"{shuffled.path}/rounds/0/retry").raise_for_status()
    shuffled.home.work()
    assert "random ones of mix, less none refused" in " ".join(opened.of(Role.ANALYST).page(path).split())


def test_the_page_of_a_series_waits_for_its_first_batch_and_says_what_all_answers_tell(
    migrated_sqlite_url: str, tmp_path: Path
) -> None:
    with shuffled_series(migrated_sqlite_url, tmp_path / "keys") as series:
        opened = Browsers(series.home)
        path = f"/console/campaigns/{series.id}"
        page = " ".join(opened.of(Role.ANALYST).page(path).split())
        assert "All of them, against this server" in page
        assert "as long as mix adds its random reports" in page
        assert "waits for the first batch" not in page
        series.to_end_of(0)
        page = opened.of(Role.ANALYST).page(path)
        assert "waits for the first batch of mix, which is due" in page
        opened.close()
