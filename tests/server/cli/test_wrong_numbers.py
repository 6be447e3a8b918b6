"""What a new user may write wrong about numbers: each is refused with what to write instead, and nothing is planned."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
LOAD = {"name": "load_ms", "kind": "number", "low": 0, "high": 60000, "unit": "ms"}


def written(folder: Path, queries: Any = None, **attribute: Any) -> str:
    path = folder / "load.json"
    asked = {"name": "load", "domain": [LOAD | attribute], "queries": queries or {"load_ms": "mean"}}
    path.write_text(json.dumps(asked))
    return str(path)


@pytest.mark.parametrize(
    ("queries", "attribute", "said"),
    [
        (None, {"low": 60000}, "low must be below high"),
        (None, {"low": 70000}, "low must be below high"),
        (None, {"low": "zero"}, "low: Input should be a valid number"),
        (None, {"high": float("inf")}, "high: Input should be a finite number"),
        (None, {"low": float("nan")}, "low: Input should be a finite number"),
        (None, {"low": -1e308, "high": 1e308}, "difference a finite number"),
        (None, {"high": 1e300}, "take another unit"),
        (None, {"other": True}, "no such field"),
        ({"load_ms": "median"}, {}, "of numbers one of mean"),
        ({"load": "mean"}, {}, "there is no attribute 'load'"),
        ({"load_ms": {"share_above": 60000}}, {}, "ask for the share above one of them"),
        ({"load_ms": {"mean_within": [5, 1]}}, {}, "takes the lower number first"),
        ({"load_ms": ["mean", "mean"]}, {}, "asked once each"),
    ],
)
def test_a_wrong_workload(run_command: Run, tmp_path: Path, queries: Any, attribute: dict[str, Any], said: str) -> None:
    path = written(tmp_path, queries, **attribute)
    failed = run_command("plan", "--file", path, "--epsilon", "1", "--users", "1000", code=2)
    assert said in " ".join(failed.stderr.split())


@pytest.mark.parametrize(
    ("margin", "said"),
    [
        ("50 parsecs", 'answers in ms: give 0.01 or 1%, or "50 ms"'),
        ("0.5 s", 'or "50 ms"'),
        ("-5 ms", "is above 0"),
        ("1e400 ms", "is above 0"),
        ("0", "is above 0"),
        ("nan", "takes a number"),
        ("ms", "takes a number"),
    ],
)
def test_a_wrong_margin(run_command: Run, tmp_path: Path, margin: str, said: str) -> None:
    failed = run_command("size", "--file", written(tmp_path), "--epsilon", "1", "--margin", margin, code=2)
    assert said in " ".join(failed.stderr.split())


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("", "no rows below its header"),
        ("5\n", "2 to 10,000,000 devices, not 1"),
        ("5\nfast\n", "in line 3: 'fast'; give the attribute `missing: true`"),
        ("5\ninf\n", "'inf'; give the attribute `missing: true`"),
    ],
)
def test_a_wrong_file_of_numbers(run_command: Run, tmp_path: Path, rows: str, said: str) -> None:
    (tmp_path / "rows.csv").write_text(f"load_ms\n{rows}")
    given = ("--csv", str(tmp_path / "rows.csv"), "--column", "load_ms", "--spec", written(tmp_path))
    failed = run_command("simulate", *given, code=2)
    assert said in " ".join(failed.stderr.split())
