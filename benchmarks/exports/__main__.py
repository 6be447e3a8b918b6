"""`python -m benchmarks.exports [--campaigns N] [--rows N] [--json FILE]`: the memory that an export takes.

A real `sordino serve` writes the estimates of many campaigns as one table, CSV and JSON, to a client that throws them
away. Stated is the most memory that its process ever had, from `VmHWM` of the kernel, and before the first export.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from urllib.request import Request, urlopen

import numpy as np

from benchmarks.ingest.store import Store
from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.kinds.linear import LinearExtras
from sordino_server import models
from sordino_server.cli.simulation.server_process import create_key, environment
from sordino_shared.protocol import Manifest

CAMPAIGNS, ROWS = 40, 65_536
# What issue and docs/results.md promise for them.
MOST_MIB = 200.0
_PIECE = 1 << 20
_ID = "id of the campaign"


@dataclass(frozen=True)
class ExportFigures:
    """The peak memory of the server's process before and after the exports, and what they took."""

    campaigns: int
    rows: int
    idle_mib: float
    csv_mib: float
    json_mib: float
    csv_bytes: int
    json_bytes: int
    cpu_s: float


def measure(folder: Path, campaigns: int, rows: int) -> ExportFigures:
    """Fill a database with estimates of so many rows each, and export them from a server with a process of its own."""
    identifiers = _filled(folder, campaigns, rows)
    key = create_key(folder)
    with _served(folder) as (address, process):
        query = "&".join(f"campaign={each}" for each in identifiers)
        _read(f"{address}/v1/campaigns", key)
        idle, begun = _peak_mib(process), _cpu_s(process)
        csv_bytes = _read(f"{address}/v1/estimates?{query}&format=csv", key)
        csv_peak = _peak_mib(process)
        json_bytes = _read(f"{address}/v1/estimates?{query}&format=rows", key)
        peak, seconds = _peak_mib(process), _cpu_s(process) - begun
    return ExportFigures(campaigns, rows, idle, csv_peak, peak, csv_bytes, json_bytes, seconds)


def _filled(folder: Path, campaigns: int, rows: int) -> list[str]:
    """Ids of closed campaigns with an estimate each, in the database of `folder`."""
    store = Store.create(environment(folder)["SORDINO_DATABASE_URL"])
    first, digest = _manifest(store), str(store.part.digest)
    # The numbers of all are the same: a reader keeps nothing of an estimate that another could use.
    content = _estimate(_ID, rows).content()
    found = []
    for number in range(campaigns):
        manifest = replace(first, name=f"campaign {number}")
        campaign = str(manifest.campaign)
        with store.database.write("add campaign") as session:
            row = models.Campaign.of(manifest, 0, kind="linear", opened_at=0, closed_at=1)
            row.state = "closed"
            session.add(row)
            session.flush()
            closed = models.Round(
                campaign_id=campaign, index=0, state="estimated", device_digest=digest, analyst_digest=digest, epoch=7
            )
            session.add(closed)
            session.flush()
            own = content.replace(_ID.encode(), campaign.encode())
            session.add(models.Estimate(round_id=closed.id, content=own, created_at=1))
        found.append(campaign)
    return found


def _manifest(store: Store) -> Manifest:
    with store.database.read("read manifest") as session:
        return Manifest.read(session.get_one(models.Campaign, store.campaign).manifest)


def _estimate(campaign: str, rows: int) -> EstimateDocument:
    """A histogram of so many cells, every number with all its digits."""
    rng = np.random.default_rng(0)
    value, error = rng.random(rows), rng.random(rows) / 100
    places = range(rows)
    columns = {
        "kind": ["histogram"] * rows,
        "label": [f"size = {place}" for place in places],
        "size_low": [*places],
        "size_high": [*places],
        "unit": ["share"] * rows,
        **dict.fromkeys(("value", "uncut", "best"), value.tolist()),
        **dict.fromkeys(("standard_error", "population_standard_error"), error.tolist()),
        **dict.fromkeys(("lower", "band_lower", "population_lower"), (value - error).tolist()),
        **dict.fromkeys(("upper", "band_upper", "population_upper"), (value + error).tolist()),
    }
    extras = LinearExtras(workload="sizes", objective="max", unbiased=True, predicted_rmse_max=0.01, warnings=())
    terms = {"campaign_id": campaign, "users": 1_000_000, "unlisted": 0, "compared": rows, "epsilon": 1.0}
    shown = {"level": 0.95, "bias_bound": 0.0, "target": "reporters", "validity": "worst_case", "mechanism": "m"}
    digests = {"plan_device": "0" * 64, "plan_analyst": "0" * 64}
    return EstimateDocument.of_columns("linear", columns, extras, **terms, **shown, **digests)


@contextmanager
def _served(folder: Path) -> Iterator[tuple[str, int]]:
    """Address and process of a server on a free port, which ends with the block."""
    command = [sys.executable, "-m", "sordino_server", "serve", "--host", "127.0.0.1", "--port", "0"]
    process = subprocess.Popen(
        command, cwd=folder, env=environment(folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert process.stdout is not None
        address = next(found[1] for line in process.stdout if (found := re.search(r"listening on (http://\S+)", line)))
        yield address, process.pid
    finally:
        process.terminate()
        process.wait()


def _read(address: str, key: str) -> int:
    """Bytes of the answer, which are not kept."""
    count = 0
    with urlopen(Request(address, headers={"Authorization": f"Bearer {key}"})) as answer:
        while piece := answer.read(_PIECE):
            count += len(piece)
    return count


def _peak_mib(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def _cpu_s(process: int) -> float:
    # The clock of another process, as clock_getcpuclockid makes its number.
    return time.clock_gettime((~process << 3) | 2)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--campaigns", type=int, default=CAMPAIGNS)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), options.campaigns, options.rows)
    print(f"{found.campaigns} campaigns of {found.rows:,} rows, at most {MOST_MIB:.0f} MiB\n")
    print("| | peak of the server's process, MiB | MB sent |\n|---|---|---|")
    print(f"| before | {found.idle_mib:.0f} | |")
    print(f"| CSV | {found.csv_mib:.0f} | {found.csv_bytes / 1e6:.0f} |")
    print(f"| then JSON | {found.json_mib:.0f} | {found.json_bytes / 1e6:.0f} |")
    print(f"\n{found.cpu_s:.0f} s of processor time")
    if options.json is not None:
        options.json.write_text(json.dumps(asdict(found), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
