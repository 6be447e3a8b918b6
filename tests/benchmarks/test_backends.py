"""The benchmark of stores measures what it says: an answer is below a kilobyte."""

from __future__ import annotations

from benchmarks import backends
from benchmarks.backends import __main__ as benchmark


def test_a_small_run_counts_every_answer(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(benchmark, "OWNERS", 20)
    found = benchmark.measured(tmp_path)
    assert backends.__doc__
    assert found["ms_a_report_sent"] > 0
    assert found["bytes_an_answer"] > 30
