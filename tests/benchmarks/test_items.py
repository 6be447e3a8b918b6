"""The benchmark of long histograms measures every domain, and only what a plan has."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_a_row_for_each_domain_and_objective() -> None:
    command = [sys.executable, "-m", "benchmarks.items", "--users", "2000", "--epsilon", "2", "--json"]
    rows = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    assert [(row["domain"], row["objective"]) for row in rows] == [
        (domain, objective)
        for domain in ("integers below 2^20", "integers below 2^24", "hashed, 64 bits")
        for objective in ("mean", "max")
    ]
    assert all(1 <= row["ratio"] < 1.01 and row["report_bytes"] <= 10 for row in rows)
    assert [row["all_items_s"] is None for row in rows] == [False] * 4 + [True] * 2
