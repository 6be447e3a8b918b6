"""The benchmark of stores measures what it says: an answer is below a kilobyte."""

from __future__ import annotations

import pytest

from benchmarks import backends
from benchmarks.backends import __main__ as benchmark


@pytest.mark.parametrize("name", ["sqlite", "postgres"])
def test_a_small_run_counts_every_answer(name, request, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(benchmark, "OWNERS", 20)
    database = benchmark.SqliteFile(tmp_path)
    if name == "postgres":
        url = request.getfixturevalue("postgres_url")
        database = benchmark.Postgres(url.replace("postgresql+psycopg://", "postgresql://"))
    found = benchmark.measured(database)
    assert backends.__doc__
    assert found["ms_a_report_sent"] > 0
    assert found["ms_of_the_database"] >= 0
    assert found["bytes_an_answer"] > 30
