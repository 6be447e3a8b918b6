"""`sordino campaigns show` and `watch` of a campaign behind a shuffler, in text and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.shuffled.collected import USERS, Shuffled, shuffled_campaign

Run = Callable[..., Any]


@pytest.fixture
def shuffled(migrated_sqlite_url: str, tmp_path: Path) -> Iterator[Shuffled]:
    with shuffled_campaign(migrated_sqlite_url, tmp_path / "keys") as found:
        yield found


def test_show_and_watch_say_how_far_the_batch_is(run_command: Run, json_of: Run, shuffled: Shuffled) -> None:
    operator = {"SORDINO_SERVER": shuffled.home.address, "SORDINO_KEY": shuffled.home.admin_key}
    campaign = shuffled.campaign["id"][:12]

    def said() -> str:
        return str(run_command("campaigns", "show", campaign, **operator).stdout)

    assert "round 0: mix takes reports until 20" in said()
    shuffled.end()
    assert "round 0: waiting for the batch of mix, whose last report was due at 20" in said()
    assert "sums of" not in said()
    verbose = run_command("campaigns", "show", campaign, "--verbose", **operator).stdout
    assert "devices report to the shuffler mix" in verbose
    assert "round 0: closed, 0 reports, waiting for mix" in verbose
    assert "  batch receiving: waiting for the batch of mix" in verbose
    shuffled.release([*shuffled.sealed([0] * USERS), *shuffled.blanket()])
    shuffled.home.work()
    parts = f"counted {USERS} reports of devices and {shuffled.route.blanket} random ones of mix, less none refused"
    assert f"round 0: {parts}" in said()
    assert f"predicted error with {USERS} users" in said()
    status = json_of("campaigns", "show", campaign, **operator)
    assert status["shuffler"] == "mix"
    assert (status["rounds"][0]["batch"]["message"], status["rounds"][0]["users"]) == (parts, USERS)
    assert f"round 0 estimated: {parts}" in run_command("campaigns", "watch", campaign, **operator).stdout
