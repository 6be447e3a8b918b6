"""Releases at the cap at the same moment: threads that ask, processes that make them, on both engines."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sordino_server.datasets import service as datasets
from sordino_server.datasets.schemas import CapChange
from sordino_server.datasets.service import DatasetBudgetExceeded
from sordino_server.kit.db import Database

ASKED = 6


def asked_at_once(curator: Any, dataset: str, keys: list[str]) -> list[str]:
    """Ids of the releases of these keys, or `refused`, each asked for by a thread of its own."""

    def ask(key: str) -> str:
        try:
            return str(curator.request(dataset, key).id)
        except DatasetBudgetExceeded:
            return "refused"

    with ThreadPoolExecutor(len(keys)) as pool:
        return list(pool.map(ask, keys))


def test_threads_that_ask_at_once_share_what_is_left(curator: Any) -> None:
    dataset = curator.add(cap={"rho": "0.05"})
    found = asked_at_once(curator, dataset.id, [f"key {number}" for number in range(ASKED)])
    assert found.count("refused") == ASKED - 2
    curator.work()
    assert curator.spent(dataset.id) == 40_000_000


def test_threads_that_ask_with_one_key_have_one_release(curator: Any) -> None:
    dataset = curator.add()
    assert len(set(asked_at_once(curator, dataset.id, ["key"] * ASKED))) == 1
    curator.work()
    assert curator.spent(dataset.id) == 20_000_000


def test_processes_never_charge_beyond_the_cap_together(curator: Any) -> None:
    """The cap was lowered after releases were queued, so that only the charge itself can hold it."""
    dataset = curator.add(cap={"rho": "1"})
    asked = [curator.request(dataset.id, f"key {number}").id for number in range(ASKED)]
    etag = datasets.etag_of(dataset)
    curator.database.run("lower", lambda session: datasets.change_cap(session, dataset.id, CapChange(rho="0.05"), etag))
    children = []
    for _ in range(4):
        pid = os.fork()
        if not pid:
            try:
                database = Database(curator.settings.database_url.get_secret_value())
                curator.elsewhere(database=database).work()
            finally:
                os._exit(0)
        children.append(pid)
    assert all(os.waitpid(pid, 0)[1] == 0 for pid in children)
    states = [curator.release(each).state for each in asked]
    assert sorted(states) == ["failed"] * (ASKED - 2) + ["released"] * 2
    failed = curator.release(asked[states.index("failed")])
    assert "0.04 is spent" in (failed.error or "")
    assert curator.spent(dataset.id) == 40_000_000
