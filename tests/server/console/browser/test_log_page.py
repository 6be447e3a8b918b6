"""The page of the public log in a browser, with a witness, and with a log that the server witnesses itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from sordino_server.jobs.log_keeper import LogKeeper
from sordino_server.kit.db import Database
from sordino_server.kit.migrations import upgrade
from sordino_server.models import Role
from sordino_server.public_log import setup
from sordino_server.public_log.signing import NoteSigner, read_key_file
from tests.server.conftest import RunningServer, served
from tests.server.console.browser.conftest import Window
from tests.server.console.browser.test_every_page import look_at
from tests.server.public_log.conftest import ORIGIN, begin


def _vouch(server: RunningServer, **changed: str) -> None:
    """Change the settings of a server that runs."""
    settings = server.settings.model_copy(update=changed)
    server.app.state.context = replace(server.app.state.context, settings=settings)
    LogKeeper(server.database, server.clock, settings).step()


@pytest.fixture
def neighbour(running: RunningServer, tmp_path: Path) -> Iterator[tuple[RunningServer, NoteSigner]]:
    """A server that witnesses the log of `running`, and the key of its own log."""
    url, key = f"sqlite:///{tmp_path}/neighbour.sqlite3", tmp_path / "neighbour.key"
    database = Database(url)
    upgrade(database)
    database.close()
    begin(url, key)
    setup.prepare(running.settings, running.database, running.clock.now())
    own = running.api.get("/v1/log").json()["key"]
    with ExitStack() as stack:
        server = stack.enter_context(served(url, log_key=key, witnessed_logs=own))
        yield server, NoteSigner.of_log(ORIGIN, read_key_file(key))


def test_the_log_is_shown_with_its_witnesses(
    running: RunningServer, neighbour: tuple[RunningServer, NoteSigner], window: Window
) -> None:
    other, signer = neighbour
    witness = NoteSigner.of_witness(ORIGIN, signer.seed).key
    for name in ("versions", "late"):
        running.campaign("open", name=name)
    _vouch(running, witnesses=f"{other.address} {witness}", witnessed_logs=str(signer.key))
    running.campaign(name="waits")
    own = running.api.get("/v1/log").json()["key"]
    vouching = setup.witness_of(running.app.state.context.settings, running.database).key
    other.campaign("open")
    _vouch(other, witnesses=f"{running.address} {vouching}", witnessed_logs=own)
    window.sign_in(running.key(Role.ADMIN))
    look_at(window, "/console/log", "log")
    window.menu("Log")
    text = window.page.locator("main").inner_text()
    for shown in (witness.name, ORIGIN, "1 that wait", "campaign 'versions' of population 'travellers'"):
        assert shown in text
    assert not window.faults
    link = window.page.get_by_role("link", name=running.api.get("/v1/log/entries").json()["entries"][0]["subject"][:12])
    link.click()
    window.page.get_by_role("heading", name="late").wait_for()
