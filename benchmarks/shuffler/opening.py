"""What a batch costs its collector: processor time of taking its pages, of opening and counting reports."""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path

from sordino_server.kit import migrations
from sordino_server.kit.db import Database
from sordino_server.models import Round
from sordino_server.shuffled import opening, service
from sordino_server.shuffled.round_keys import RoundKeys
from sordino_shuffler.rounds import page_size
from tests.server.shuffled import collected
from tests.server.shuffled.collected import Shuffled, shuffled_campaign


def opening_costs(folder: Path, reports: int, processes: int) -> dict[str, float]:
    """Of a batch on SQLite with so many `reports`, whose pages are as large as a shuffler's."""
    url = f"sqlite:///{folder}/collector.sqlite3"
    database = Database(url)
    migrations.upgrade(database)
    database.close()
    with shuffled_campaign(url, folder / "keys") as shuffled:
        return _costs(shuffled, reports, processes)


def _costs(shuffled: Shuffled, reports: int, processes: int) -> dict[str, float]:
    database, now = shuffled.home.database, shuffled.home.clock.now()
    batch = [*shuffled.sealed([number % 3 for number in range(reports)]), *shuffled.blanket()]
    collected.PAGE = page_size(len(batch[0]))
    pages = [page.content for page in shuffled.pages(batch)]

    def take() -> None:
        for number, content in enumerate(pages):
            page = service.ShuffledPage.read(content)
            database.run(
                "take page",
                lambda session, page=page, number=number: service.take_page(
                    database, session, shuffled.campaign["id"], 0, number, page, now
                ),
            )

    taken = _used(take)
    assert shuffled.state(shuffled.statement(batch)).status_code == 201
    with database.read("round of the benchmark") as session:
        row = session.query(Round).filter_by(campaign_id=shuffled.campaign["id"]).one()
    keys = RoundKeys(shuffled.folder)
    opened = _used(lambda: opening.open_batch(database, row, keys, now, processes))
    return {
        "CPU-µs of taking a report in pages": 1e6 * taken / len(batch),
        "CPU-µs of opening and counting a report": 1e6 * opened / len(batch),
        "reports opened and counted a CPU-s": len(batch) / opened,
    }


def _used(act: Callable[[], object]) -> float:
    """Processor seconds of this process and of those that it started and waited for."""
    before = _cpu_s()
    act()
    return _cpu_s() - before


def _cpu_s() -> float:
    own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime
