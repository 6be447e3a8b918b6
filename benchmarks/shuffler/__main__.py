"""What a shuffler costs, and its collector: processor time of uploads, proofs, mixing and opening, bytes on disk."""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import time
from pathlib import Path

from benchmarks.ingest.load import request, send
from benchmarks.shuffler.large_batch import large_batch
from benchmarks.shuffler.opening import opening_costs
from sordino_shared.arrays import Array
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import SealedReports
from sordino_shared.randomizers import AnyRandomizer, FiniteKernel, SubsetSelection
from sordino_shared.randomizers.finite_kernel import TwoLevelRows
from sordino_shared.randomness import SystemRandomness
from sordino_shared.shuffling.claims import bound_of
from sordino_shuffler.mixing import may_leave, mix
from sordino_shuffler.released import Released
from sordino_shuffler.rounds import draw_blanket, page_size
from sordino_shuffler.store import Store
from tests.shuffler.processes import Setup
from tests.shuffler.small_collector import PART, SmallCollector, true_claims

WIDTH = 81
_TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Print a table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reports", type=int, default=200_000, help="of the batch that is mixed and paged")
    parser.add_argument("--uploads", type=int, default=20_000, help="single reports over HTTP")
    parser.add_argument("--only", choices=("large", "opening"), help="the end of a large round, or opening a batch")
    parser.add_argument("--processes", type=int, default=1, help="that open a batch of 20 pages or more")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.only == "large":
            measured = large_batch(Path(folder), arguments.reports)
        elif arguments.only == "opening":
            measured = opening_costs(Path(folder), arguments.reports, arguments.processes)
        else:
            measured = uploads(Path(folder), arguments.uploads) | batch(Path(folder), arguments.reports)
            measured |= blanket(5000) | proofs()
    if arguments.json:
        print(json.dumps(measured, indent=2))
        return
    print("| what | measured |\n|---|---|")
    for name, value in measured.items():
        print(f"| {name} | {value:,.4g} |")


def uploads(folder: Path, count: int) -> dict[str, float]:
    """Single reports to a real process, committed before each is answered."""
    setup = Setup(folder, end=int(time.time()) + 3600)
    width = len(setup.collector().sealed())
    bodies = [SealedReports(random.randbytes(width), 1).content for _ in range(count)]
    path = f"/v1/campaigns/{setup.campaign}/rounds/0/sealed"
    try:
        for name in ("collector", "shuffler"):
            setup.start(name)
        setup.wait_until_served()
        send(setup.shuffler_port, [request(path, body) for body in bodies[:500]], 64)
        pid = setup.running["shuffler"].pid
        before = _cpu_s(pid)
        sent = send(setup.shuffler_port, [request(path, body) for body in bodies[500:]], 64)
        used = _cpu_s(pid) - before
    finally:
        setup.close()
    return {"CPU-µs of a single upload": 1e6 * used / (count - 500), "uploads a CPU-s": len(sent.answers) / used}


def batch(folder: Path, count: int) -> dict[str, float]:
    """Insert, mix and page reports of 81 bytes."""
    path = folder / "batch.sqlite3"
    store, reports = Store(path), [random.randbytes(WIDTH) for _ in range(count)]
    row = store.pin(bytes(32), 0, bytes(32), 1)
    began = time.process_time()
    for start in range(0, count, 256):
        with store.transaction():
            store.add(row, reports[start : start + 256])
    inserted = time.process_time()
    with Released(folder / "released-of-batch") as released:
        row = mix(store, released, row, 1, [random.randbytes(WIDTH)], lambda *_: b"signed")
        assert may_leave(store, released, row, lambda *_: b"signed")
    after, pages = None, 0
    while found := store.page(row, after, page_size(WIDTH)):
        after, pages = found[-1][0], pages + len(found)
    done = time.process_time()
    assert pages == count + 1
    store.close()
    return {
        "CPU-µs of an insert": 1e6 * (inserted - began) / count,
        "CPU-µs of mixing and paging a report": 1e6 * (done - inserted) / count,
        "bytes on disk of a report of 81 bytes": path.stat().st_size / count,
    }


def blanket(count: int) -> dict[str, float]:
    """Random reports, drawn and sealed."""
    collector = SmallCollector(bytes(32), blanket=count, claims=true_claims(count, 10**9))
    began = time.process_time()
    draw_blanket(collector.manifest.route, PART, collector.campaign, 0, SystemRandomness())  # type: ignore[arg-type]
    return {"CPU-µs of a random report": 1e6 * (time.process_time() - began) / count}


def proofs() -> dict[str, float]:
    """One claim of a law in closed form, and one of a table of 128 types and 256 outputs."""
    four = PureEpsilon.of(4)
    cases: dict[str, AnyRandomizer] = {
        "sets of 64": SubsetSelection.for_guarantee(64, 2, four),
        "a table of 128 types and 256 outputs": _table(128, 256),
    }
    measured = {}
    for name, randomizer in cases.items():
        began = time.process_time()
        bound_of(randomizer, 500, 10**9)
        measured[f"CPU-s of a claim of {name}"] = time.process_time() - began
    return measured


def _table(types: int, outputs: int) -> FiniteKernel:
    """Staircase rows over random halves of the types."""
    chosen, width = random.Random(types), (types + 7) // 8
    low = 2**60 // outputs // 55
    rows = b"".join(chosen.getrandbits(types).to_bytes(width, "little") for _ in range(outputs))

    def levels(level: int) -> Array:
        return Array("<u8", (outputs,), level.to_bytes(8, "little") * outputs)

    return FiniteKernel(60, TwoLevelRows(types, levels(low), levels(low * 54), Array("|u1", (outputs, width), rows)))


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


if __name__ == "__main__":
    main()
