"""Pages of a batch read and opened, by several processes where there are many: what takes the most of counting them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from sordino_analysis.archive.process_pool import ProcessDied, imap_unordered
from sordino_server.kit.db import Database
from sordino_server.kit.logs import logger
from sordino_server.shuffled import repository
from sordino_shared.protocol import ReportId
from sordino_shared.sealing import opener

log = logger(__name__)

# Of 4,096 reports or fewer each: another process starts in the time that it takes to open five of them.
_LEAST_POOLED_PAGES = 20


@dataclass(frozen=True)
class OpenedPage:
    """A page by its number: the ids of its reports, and what was sealed in each; None for what does not open."""

    number: int
    ids: list[bytes]
    opened: list[bytes | None]


def opened_pages(
    database: Database, round_id: int, numbers: Sequence[int], key: bytes, info: bytes, processes: int
) -> Iterator[OpenedPage]:
    """The pages of a round that are still sealed when they are read, in any order.

    Where a process that opens dies, this one opens what is left: a round must not fail for what may pass.
    """
    left = set(numbers)
    if processes > 1 and len(numbers) >= _LEAST_POOLED_PAGES:
        url = database.url.render_as_string(hide_password=False)
        try:
            for number, page in imap_unordered(partial(_opened_there, url, round_id, key, info), numbers, processes):
                left.discard(number)
                if page is not None:
                    yield page
        except ProcessDied:
            log.warning("a process that opened reports died; the worker opens the others by itself", round=round_id)
    for number in sorted(left):
        if (page := opened_page(database, round_id, number, key, info)) is not None:
            yield page


def opened_page(database: Database, round_id: int, number: int, key: bytes, info: bytes) -> OpenedPage | None:
    """One page; None where another worker has counted it."""
    with database.read("read sealed page") as session:
        page = repository.page(session, round_id, number)
    if page is None or page.sealed is None:
        return None
    ids = [page.ids[start : start + ReportId.LENGTH] for start in range(0, len(page.ids), ReportId.LENGTH)]
    width, opened = len(page.sealed) // len(ids), opener(key, info)
    sealed = (page.sealed[start : start + width] for start in range(0, len(page.sealed), width))
    return OpenedPage(number, ids, [opened(one) for one in sealed])


@lru_cache(maxsize=1)
def _database(url: str) -> Database:
    return Database(url, connections=1)


def _opened_there(url: str, round_id: int, key: bytes, info: bytes, number: int) -> tuple[int, OpenedPage | None]:
    return number, opened_page(_database(url), round_id, number, key, info)
