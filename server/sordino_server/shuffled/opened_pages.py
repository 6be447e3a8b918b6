"""Pages of a batch read, opened and redeemed, by several processes where there are many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from sordino_analysis.archive.process_pool import ProcessDied, imap_unordered
from sordino_server.kit.db import Database
from sordino_server.kit.logs import logger
from sordino_server.shuffled import repository
from sordino_server.tokens.redemption import is_valid
from sordino_shared.protocol import ReportId
from sordino_shared.protocol.tokens import TOKEN_BYTES
from sordino_shared.sealing import opener
from sordino_shared.tokens import IssuerKey

log = logger(__name__)

# Of 4,096 reports or fewer each: another process starts in the time that it takes to open five of them.
_LEAST_POOLED_PAGES = 20


@dataclass(frozen=True)
class RoundOpening:
    """What opens the reports of a round: the collector's key, the `info` of sealing, the issuer's key if it has one."""

    key: bytes
    info: bytes
    issuer: IssuerKey | None


@dataclass(frozen=True)
class OpenedPage:
    """A page by its number: the ids of its reports, and what was sealed in each; None for what does not open.

    `valid` has those whose last bytes are a token of the round, which takes a millisecond each to tell; empty where
    there are no tokens.
    """

    number: int
    ids: list[bytes]
    opened: list[bytes | None]
    valid: frozenset[bytes] = frozenset()


def opened_pages(
    database: Database, round_id: int, numbers: Sequence[int], opening: RoundOpening, processes: int
) -> Iterator[OpenedPage]:
    """The pages of a round that are still sealed when they are read, in any order.

    Where a process that opens dies, this one opens what is left: a round must not fail for what may pass.
    """
    left = set(numbers)
    if processes > 1 and len(numbers) >= _LEAST_POOLED_PAGES:
        url = database.url.render_as_string(hide_password=False)
        try:
            for number, page in imap_unordered(partial(_opened_there, url, round_id, opening), numbers, processes):
                left.discard(number)
                if page is not None:
                    yield page
        except ProcessDied:
            log.warning("a process that opened reports died; the worker opens the others by itself", round=round_id)
    for number in sorted(left):
        if (page := opened_page(database, round_id, number, opening)) is not None:
            yield page


def opened_page(database: Database, round_id: int, number: int, opening: RoundOpening) -> OpenedPage | None:
    """One page; None where another worker has counted it."""
    with database.read("read sealed page") as session:
        page = repository.page(session, round_id, number)
    if page is None or page.sealed is None:
        return None
    ids = [page.ids[start : start + ReportId.LENGTH] for start in range(0, len(page.ids), ReportId.LENGTH)]
    width, open_one = len(page.sealed) // len(ids), opener(opening.key, opening.info)
    opened = [open_one(page.sealed[start : start + width]) for start in range(0, len(page.sealed), width)]
    return OpenedPage(number, ids, opened, _valid(opening.issuer, ids, opened))


def _valid(issuer: IssuerKey | None, ids: Sequence[bytes], opened: Sequence[bytes | None]) -> frozenset[bytes]:
    if issuer is None:
        return frozenset()
    found = ((one, plaintext[-TOKEN_BYTES:]) for one, plaintext in zip(ids, opened, strict=True) if plaintext)
    return frozenset(one for one, token in found if is_valid(issuer, token))


@lru_cache(maxsize=1)
def _database(url: str) -> Database:
    return Database(url, connections=1)


def _opened_there(url: str, round_id: int, opening: RoundOpening, number: int) -> tuple[int, OpenedPage | None]:
    return number, opened_page(_database(url), round_id, number, opening)
