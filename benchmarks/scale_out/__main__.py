"""Archives, and adding up by one process, by two, or from files: `python -m benchmarks.scale_out`."""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from benchmarks.ingest import processes
from benchmarks.ingest.store import Store
from benchmarks.scale_out.archives import ONE, direction, random_archive, random_payloads, response
from benchmarks.scale_out.model import model_figures
from sordino_analysis.archive.archive import Archive
from sordino_analysis.evaluation.accumulate import accumulate
from sordino_server import aggregates
from sordino_server.aggregates import log_pages
from sordino_server.aggregates.log_pool import add_up_in_pool
from sordino_server.archives.archiving import ArchivedRound, archive_folder, write_archive
from sordino_shared.domains import Categorical, Domain
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import AnyRandomizer, SeededDirection

CHUNK, BYTE_PART = 4096, 16_000_000
Figure = dict[str, object]


def _archived(store: Store, randomizer: AnyRandomizer, reports: int) -> tuple[ArchivedRound, np.ndarray]:
    """A log of random payloads of that randomizer in chunks of a full commit, and the payloads of one chunk."""
    with store.database.write("empty the log") as session:
        while aggregates.repository.delete_reports(session, store.round, 10_000):
            pass
    draw = np.random.default_rng(0)
    payloads = random_payloads(randomizer, CHUNK, draw)
    domain = store.part.domain
    if isinstance(randomizer, SeededDirection):
        domain = Domain((Categorical("type", tuple(map(str, range(2)))),))
    for first in range(0, reports, 100 * CHUNK):
        with store.database.write("fill the log") as session:
            for _ in range(first, min(first + 100 * CHUNK, reports), CHUNK):
                draw.shuffle(payloads)
                aggregates.add_chunk(session, store.round, CHUNK, payloads.tobytes(), 0)
    device = DevicePart(domain, ONE, randomizer)
    counted = -(-reports // CHUNK) * CHUNK
    archived = ArchivedRound(
        campaign=store.campaign,
        index=0,
        number=store.round,
        device=device,
        analyst=str(device.digest),
        counted=counted,
    )
    return archived, payloads


def _figures(engine: str, bytes_: int, directions: int) -> Iterator[Figure]:
    make = processes.sqlite if engine == "sqlite" else processes.postgres
    with make() as url, tempfile.TemporaryDirectory() as lake:
        store = Store.create(url)
        kinds = (("1 byte", store.part.randomizer, bytes_), ("17 bytes", direction(), directions))
        for name, randomizer, reports in kinds:
            archived, payloads = _archived(store, randomizer, reports)
            folder = archive_folder(os.path.join(lake, name.replace(" ", "-")), archived)
            taken = _processor(lambda archived=archived, folder=folder: write_archive(store.database, archived, folder))
            yield _figure(f"{engine}: export, {name}", archived.counted / taken / 1e6, "M reports/CPU-s")
            yield from _added_up(engine, name, archived, folder.url, payloads)
        yield from _pool(engine, store, archived)
        store.database.close()


def _added_up(engine: str, name: str, archived: ArchivedRound, url: str, payloads: np.ndarray) -> Iterator[Figure]:
    archive = Archive.open(url)
    numbers = archive.chosen(None, None)
    many = np.tile(payloads, (min(256, archived.counted // CHUNK), 1))
    memory = _processor(lambda: accumulate(archived.device.randomizer, many))
    files = _processor(lambda: archive.sums(numbers))
    in_memory, from_files = memory / len(many) * 1e9, files / archived.counted * 1e9
    yield _figure(f"{engine}: added up in memory, {name}", in_memory, "ns a report")
    yield _figure(f"{engine}: added up from the archive, {name}", from_files, "ns a report")


def _pool(engine: str, store: Store, archived: ArchivedRound) -> Iterator[Figure]:
    """Wall-clock seconds of the worker's pool: they mean something on a quiet machine alone."""
    asked = store.database, store.round, archived.device.randomizer, archived.counted
    seconds = []
    for name, add_up in (("one process", lambda: log_pages.add_up(*asked)), ("two", lambda: add_up_in_pool(*asked, 2))):
        began = time.perf_counter()
        add_up()
        seconds.append(time.perf_counter() - began)
        yield _figure(f"{engine}: {archived.counted:,} directions, {name}", seconds[-1], "s by the clock")
    yield _figure(f"{engine}: two processes beside one", seconds[0] / seconds[1], "times as fast")


def _processor(action: Callable[[], object]) -> float:
    began = time.process_time()
    action()
    return time.process_time() - began


def _figure(name: str, value: float, unit: str) -> Figure:
    return {"figure": name, "value": value, "unit": unit}


def _hundred_million(share: int) -> Iterator[Figure]:
    """10⁸ reports of a byte by one process."""
    with tempfile.TemporaryDirectory() as folder:
        archive = random_archive(os.path.join(folder, "archive"), response(), 6, 100_000_000 // 6 // share)
        taken = _processor(lambda: archive.sums(archive.chosen()))
        reports = sum(part.reports for part in archive.manifest.parts)
        yield _figure(f"{reports:,} reports of a byte, added up", taken, "CPU-s")


def _chosen_figures(chosen: argparse.Namespace) -> Iterator[Figure]:
    share = 10 if chosen.quick else 1
    if chosen.spark:
        from benchmarks.scale_out.spark_jobs import spark_figures

        yield from (_figure(*each) for each in spark_figures(share))
        return
    yield from _figures(chosen.database, 40_000_000 // share, 10_000_000 // share)
    yield from _hundred_million(share)
    yield from (_figure(*each) for each in model_figures(share))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale_out", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the reports")
    parser.add_argument("--database", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument("--spark", action="store_true", help="jobs of Spark instead; needs requirements/spark.txt")
    parser.add_argument("--json", action="store_true", help="one JSON array instead of a table")
    chosen = parser.parse_args()
    found = []
    for figure in _chosen_figures(chosen):
        found.append(figure)
        if not chosen.json:
            print("| {figure} | {value:.3g} {unit} |".format(**figure), flush=True)
    peak = _figure("peak memory of the process", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "MiB")
    if chosen.json:
        print(json.dumps([*found, peak], indent=2))
    else:
        print("| {figure} | {value:.3g} {unit} |".format(**peak))


if __name__ == "__main__":
    main()
