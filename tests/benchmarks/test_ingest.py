"""The ingest benchmark counts what it sends, and fails where the server does not count it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from benchmarks.ingest import measure, processes
from benchmarks.ingest.load import Sent, send
from benchmarks.ingest.measure import Extent
from benchmarks.ingest.store import Store
from sordino_server import aggregates

TINY = Extent(
    stored=4096,
    single_requests=600,
    batches=4,
    seconds_at_half=0.2,
    reports_in_all=10_000,
    reports_added_up=1000,
    repeats=2,
)


@pytest.fixture(autouse=True)
def _every_core() -> Iterator[None]:
    cores = os.sched_getaffinity(0)
    yield
    os.sched_setaffinity(0, cores)


def test_every_figure_is_measured() -> None:
    found = list(measure.figures(TINY, "sqlite"))
    assert all(figure.value > 0 for figure in found)
    assert [figure.target for figure in found if figure.target] == [
        "≥ 0.30",
        "< 100",
        "≥ 80,000",
        "≥ 80,000",
        "flat",
        "≥ 0.5",
        "≥ 0.5",
        "≥ 500,000",
    ]
    assert any(figure.name.startswith("re-aggregating 1,000 reports in ") for figure in found)


def test_what_is_sent_is_counted_once_and_what_is_sent_again_is_noticed() -> None:
    with processes.sqlite() as url:
        store = Store.create(url)
        with measure._servers(url) as (server, _):
            requests = store.requests(20, 3)
            measure._counted(send(server.port, requests, 4), 3)
            with store.database.read() as session:
                assert aggregates.counts_by_round(session, [store.round]) == {store.round: 60}
            with pytest.raises(RuntimeError):
                measure._counted(send(server.port, requests[:1], 1), 3)
            with pytest.raises(RuntimeError, match="409"):
                send(server.port, [requests[0][:-1] + bytes([requests[0][-1] ^ 1])], 1)
        store.database.close()


def test_a_rate_is_kept_whatever_is_answered() -> None:
    with processes.served("benchmarks.ingest.echo") as echo:
        sent: Sent = send(echo.port, [b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n"] * 50, 4, rate=200)
    assert len(sent.latencies) == 50
    assert sent.seconds >= 49 / 200
