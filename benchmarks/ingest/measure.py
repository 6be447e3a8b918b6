"""The figures of the path from an upload to the sums, with both servers on one core and the load on another."""

import os
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

import numpy as np
from sqlalchemy import func, select

from benchmarks.ingest import processes
from benchmarks.ingest.load import Sent, send
from benchmarks.ingest.processes import Served
from benchmarks.ingest.store import Store
from sordino_analysis.evaluation.accumulate import accumulate
from sordino_analysis.vectorized.arrays import array_of
from sordino_server import aggregates, models
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import ReportOutcomes
from sordino_shared.randomizers import SeededDirection

CONNECTIONS = 1024
_FILES = 4096
BATCH_CONNECTIONS = 16
BATCH = 256
DIMENSION = 64


@dataclass(frozen=True)
class Extent:
    """How much is measured."""

    stored: int
    single_requests: int
    batches: int
    seconds_at_half: float
    reports_in_all: int
    reports_added_up: int
    repeats: int


QUICK = Extent(262_144, 10_000, 200, 3.0, 1_000_000, 1_000_000, 3)
FULL = Extent(4_000_000, 20_000, 400, 20.0, 10_000_000, 1_000_000, 5)


@dataclass(frozen=True)
class Figure:
    """One measured number, and what it should be."""

    name: str
    value: float
    unit: str
    target: str
    met: bool


def figures(extent: Extent, engine: str) -> Iterator[Figure]:
    """Every figure in turn, each as soon as it is known."""
    os.sched_setaffinity(0, {processes.LOAD_CORE})
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (_FILES if hard < 0 else min(_FILES, hard), hard))
    make = processes.sqlite if engine == "sqlite" else processes.postgres
    with make() as url:
        store = Store.create(url)
        with _servers(url) as (server, echo):
            yield from _single_figures(server, echo, store, extent)
            _say(f"storing {extent.stored:,} reports")
            before = store.disk_bytes()
            store.fill(extent.stored)
            disk = (store.disk_bytes() - before) / extent.stored
            yield Figure("disk of one report of one byte, with its id", disk, "bytes", "", True)
            yield from _batch_figures(server, store, extent)
        yield _re_aggregation(store, extent.repeats)
        store.database.close()
    with make() as url:
        store = _batches_alone(url, extent.reports_added_up)
        yield _re_aggregation(store, extent.repeats)
        store.database.close()
    yield _decoding(extent.repeats)


def as_json(figures: list[Figure]) -> list[dict[str, object]]:
    """ErrorFigures as plain dictionaries."""
    return [asdict(figure) for figure in figures]


@contextmanager
def _servers(url: str) -> Iterator[tuple[Served, Served]]:
    serve = ("sordino_server", "serve", "--no-worker", "--port", "0")
    with (
        processes.served(*serve, SORDINO_DATABASE_URL=url, SORDINO_IDLE_CONNECTIONS="0") as server,
        processes.served("benchmarks.ingest.echo") as echo,
    ):
        yield server, echo


def _single_figures(server: Served, echo: Served, store: Store, extent: Extent) -> Iterator[Figure]:
    """One report a request: echo and server in turns, so that both meet the same machine."""
    rates: tuple[list[float], list[float]] = ([], [])
    cpu_s: tuple[list[float], list[float]] = ([], [])
    loop_s: tuple[list[float], list[float]] = ([], [])
    for _ in range(extent.repeats):
        requests = store.requests(extent.single_requests, 1)
        for which, served in enumerate((echo, server)):
            before, loop_before = served.cpu_s(), served.loop_cpu_s()
            sent = send(served.port, requests, CONNECTIONS)
            rates[which].append(len(requests) / sent.seconds)
            cpu_s[which].append((served.cpu_s() - before) / len(requests))
            loop_s[which].append((served.loop_cpu_s() - loop_before) / len(requests))
            if served is server:
                _counted(sent, 1)
    ratio = statistics.median(ours / theirs for theirs, ours in zip(*rates, strict=True))
    cost = statistics.median(theirs / ours for theirs, ours in zip(*cpu_s, strict=True))
    rate = statistics.median(rates[1])
    yield Figure("echo", statistics.median(rates[0]), "requests/s", "", True)
    yield Figure("one report a request", rate, "reports/s", "", True)
    yield Figure("one report a request, share of echo", ratio, "", "≥ 0.30", ratio >= 0.30)
    yield Figure("processor time of an echo, share of one report's", cost, "", "", True)
    yield Figure("processor time of one report", 1e6 * statistics.median(cpu_s[1]), "µs", "", True)
    yield from _spent(*map(statistics.median, (loop_s[0], loop_s[1], cpu_s[1])))
    requests = store.requests(int(rate / 2 * extent.seconds_at_half), 1)
    latencies = np.array(_counted(send(server.port, requests, CONNECTIONS, rate / 2), 1).latencies) * 1000
    median, tail = np.percentile(latencies, [50, 99])
    yield Figure("latency at half the peak, median", float(median), "ms", "", True)
    yield Figure("latency at half the peak, 99 %", float(tail), "ms", "< 100", bool(tail < 100))


def _spent(echo: float, loop: float, whole: float) -> Iterator[Figure]:
    """Where the processor time of a report goes, by thread: the event loop's is the echo's and what is done besides."""
    yield Figure("of it, an echo", 1e6 * echo, "µs", "", True)
    besides = "of it, in the event loop besides: headers, batch, figures"
    yield Figure(besides, 1e6 * (loop - echo), "µs", "", True)
    yield Figure("of it, in the writer's thread", 1e6 * (whole - loop), "µs", "", True)


def _batch_figures(server: Served, store: Store, extent: Extent) -> Iterator[Figure]:
    """Batches, until as many reports are stored as shall be in all."""
    rates: list[float] = []
    memory: list[float] = []
    stored = extent.stored
    while stored < extent.reports_in_all or len(rates) < extent.repeats:
        requests = store.requests(extent.batches, BATCH)
        before = server.cpu_s()
        _counted(send(server.port, requests, BATCH_CONNECTIONS), BATCH)
        reports = BATCH * len(requests)
        rates.append(reports / (server.cpu_s() - before))
        memory.append(server.memory_mb())
        stored += reports
        if len(rates) == extent.repeats:
            rate = statistics.median(rates)
            name = f"batches of {BATCH}, {extent.stored:,} ids stored before"
            yield Figure(name, rate, "reports/CPU-s", "≥ 80,000", rate >= 80_000)
    rate = statistics.median(rates[-extent.repeats :])
    yield Figure(f"batches of {BATCH}, {stored:,} ids stored after", rate, "reports/CPU-s", "≥ 80,000", rate >= 80_000)
    # The page cache fills first; from then on nothing should grow.
    settled, end = memory[len(memory) // 4], memory[-1]
    yield Figure(f"memory at {stored:,} reports", end, "MiB", "flat", end < 1.1 * settled)
    yield Figure("memory after a quarter of them", settled, "MiB", "", True)


def _batches_alone(url: str, reports: int) -> Store:
    """A new round of so many reports, in chunks as a server makes them of batches."""
    store = Store.create(url)
    _say(f"sending {reports:,} reports")
    with _servers(url) as (server, _):
        _counted(send(server.port, store.requests(reports // BATCH, BATCH), BATCH_CONNECTIONS), BATCH)
        if rest := reports % BATCH:
            _counted(send(server.port, store.requests(1, rest), 1), rest)
    return store


def _re_aggregation(store: Store, repeats: int) -> Figure:
    """The stored log added up, beside numpy counting the same outputs, decoded before."""
    with store.database.read() as session:
        counted = aggregates.counts_by_round(session, [store.round])[store.round]
        of_the_round = models.ReportChunk.round_id == store.round
        chunks = session.scalar(select(func.count()).select_from(models.ReportChunk).where(of_the_round))
    decoded = np.random.default_rng(0).integers(0, 64, counted)
    randomizer = store.part.randomizer
    ours = _seconds(lambda: aggregates.re_aggregate(store.database, store.round, randomizer, counted), 10 * repeats)
    theirs = _seconds(lambda: np.bincount(decoded, minlength=64), 10 * repeats)
    name = f"re-aggregating {counted:,} reports in {chunks:,} chunks, speed beside numpy's"
    return Figure(name, theirs / ours, "", "≥ 0.5", theirs >= 0.5 * ours)


def _decoding(repeats: int) -> Figure:
    """Reports of random directions added up."""
    weights = np.full(2, SeededDirection.largest_keep_weight(PureEpsilon(10**9)), dtype=np.uint64)
    vectors = array_of(np.eye(2, DIMENSION, dtype=np.int32), "<i4")
    randomizer = SeededDirection(60, vectors, array_of(weights, "<u8"))
    payloads = np.random.default_rng(0).integers(0, 256, (200_000, 17), dtype=np.uint8)
    payloads[:, 16] &= 1
    rate = len(payloads) / _seconds(lambda: accumulate(randomizer, payloads), repeats)
    return Figure(f"directions decoded, d = {DIMENSION}", rate, "seeds/CPU-s", "≥ 500,000", rate >= 500_000)


def _counted(sent: Sent, reports: int) -> Sent:
    """What was sent, if every report of it was new and is counted."""
    expected = ReportOutcomes(reports, 0, ()).content
    if any(answer != expected for answer in sent.answers):
        raise RuntimeError("the server did not count every report")
    return sent


def _seconds(action: Callable[[], object], repeats: int) -> float:
    """Processor seconds, the least of several: other processes only add to them."""
    taken = []
    for _ in range(repeats):
        start = time.process_time()
        action()
        taken.append(time.process_time() - start)
    return min(taken)


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)
