"""What the end of a large round costs a shuffler: processor time, most memory, and how long others wait meanwhile."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

from sordino_shuffler.store import State, Store
from tests.shuffler.processes import Setup
from tests.shuffler.small_collector import PART

_TICKS = os.sysconf("SC_CLK_TCK")
_TOGETHER = 4096
# A collector that takes everything: what it does with a batch is measured elsewhere.
_SINK = """
import pickle, sys, time
from pathlib import Path
from tests.shuffler.small_collector import SmallCollector
class Sink(SmallCollector):
    def take_page(self, *_):
        return 201, ""
    def take_statement(self, *_):
        return 201, ""
with Sink(**pickle.loads(Path(sys.argv[1]).read_bytes())).running(int(sys.argv[2])):
    time.sleep(1e6)
"""


def large_batch(folder: Path, reports: int) -> dict[str, float]:
    """A round of so many `reports`, over when the program starts: mixed, sent and forgotten."""
    setup = Setup(folder, end=int(time.time()) - 1)
    _fill(setup, reports)
    try:
        sink = [sys.executable, "-c", _SINK, str(folder / "terms"), str(setup.collector_port)]
        setup.running["collector"] = subprocess.Popen(sink, env=setup.environment)
        setup.start("shuffler")
        setup.wait_until_served()
        pid, before = setup.running["shuffler"].pid, _cpu_s(setup.running["shuffler"].pid)
        longest = _until_delivered(setup)
        used, memory = _cpu_s(pid) - before, _most_memory_mb(pid)
    finally:
        setup.close()
    return {
        "CPU-µs of mixing, sending and forgetting a report": 1e6 * used / reports,
        "CPU-s of it for the whole round": used,
        "MB of memory at most": memory,
        "s that another request waited at most": longest,
    }


def _fill(setup: Setup, reports: int) -> None:
    (setup.folder / "sealed").mkdir()
    store, width = Store(setup.folder / "sealed" / "shuffler.sqlite3"), len(setup.collector().sealed())
    row = store.pin(bytes(setup.campaign), 0, bytes(PART.digest), setup.terms["end"])
    for start in range(0, reports, _TOGETHER):
        with store.transaction():
            store.add(row, [random.randbytes(width) for _ in range(min(_TOGETHER, reports - start))])
    store.close()


def _until_delivered(setup: Setup) -> float:
    """Waits for the end of the round; the longest that a question about the open campaigns waited meanwhile."""
    done, longest = threading.Event(), [0.0]

    def ask() -> None:
        while not done.wait(0.05):
            began = time.monotonic()
            urllib.request.urlopen(f"{setup.url}/v1/populations/travellers/open", timeout=600).close()
            longest[0] = max(longest[0], time.monotonic() - began)

    asking = threading.Thread(target=ask)
    asking.start()
    store = Store(setup.folder / "sealed" / "shuffler.sqlite3")
    while store.round(bytes(setup.campaign), 0).state is not State.DELIVERED:
        time.sleep(0.2)
    store.leave()
    done.set()
    asking.join()
    return longest[0]


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _most_memory_mb(pid: int) -> float:
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1000
