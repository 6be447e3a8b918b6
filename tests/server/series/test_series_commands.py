"""`sordino series` against a running server, and the file that it reads."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sordino_server.cli import app
from sordino_server.cli.series_file import read_series, series_terms
from sordino_shared.errors import SordinoError
from tests.server.series.conftest import DAY

FILE = """
name: versions
domain:
  - {name: version, kind: categorical, labels: ["1.0", "1.1", "2.0"]}
queries: histogram
series: {every: day, slots: 30, answers: 12, value_of: previous, late: 2d}
"""
ORDER = {"epsilon": "1", "mechanism": "randomized_response", "objective": "max"}
Command = Callable[..., Any]


@pytest.fixture
def command(running: Any) -> Command:
    """Runs `sordino series` as JSON, or expects that it fails and returns what it says."""
    environment = {"SORDINO_SERVER": running.address, "SORDINO_KEY": running.admin_key, "COLUMNS": "200"}

    def run(*arguments: str, fails: bool = False, as_json: bool = True) -> Any:
        words = ["series", *arguments, *(["--json"] if as_json and not fails else [])]
        result = CliRunner().invoke(app, words, env=environment)
        assert (result.exit_code != 0) == fails, (result.stdout, result.stderr, result.exception)
        if fails:
            return result.stderr
        return json.loads(result.stdout) if as_json else result.stdout

    return run


def test_a_series_from_its_file_to_its_estimates(running, command, tmp_path):
    path = tmp_path / "versions.yaml"
    path.write_text(FILE)
    workload, _ = read_series(path)
    # The same plan, computed before: the command finds it ready.
    running.ready_plan(workload=running.workload(workload), **ORDER)
    told = ("--name", "versions", "--purpose", "Which version?", "--population", "app", "--epsilon", "1")
    made = command(
        "create", "--file", str(path), *told, "--mechanism", "randomized_response", "--active", "1000000", "--open"
    )
    few = ("create", "--file", str(path), *told, "--mechanism", "randomized_response", "--active", "3000", "--open")
    # A period has one device in 30.
    assert "with 100 reports an answer may be off by" in command(*few, fails=True)
    assert [row["id"] for row in command("list")["series"]] == [made["id"]]
    assert (made["state"], made["series"]["slots"], made["series"]["late_s"]) == ("open", 30, 2 * DAY)
    assert (made["series"]["value_of"], made["series"]["answers_max"]) == ("previous", 12)
    rates = made["rates"]
    assert (rates["epsilon_per_year"], rates["epsilon_for_life"]) == (12, 12)
    assert (rates["cap_epsilon"], rates["cap_days"]) == (1, 27)
    assert rates["error_of_week"] == pytest.approx(rates["error_of_period"] / 7**0.5)
    assert made["id"] in {row["id"] for row in command("list")["series"]}
    other = running.campaign("open")
    assert other["id"] not in {row["id"] for row in command("list")["series"]}
    assert command("pause", made["id"])["series"]["paused"]
    assert "paused" in command("show", "versions", as_json=False)
    assert not command("resume", "versions")["series"]["paused"]
    assert "paused already" not in command("resume", "versions", fails=True)
    assert command("estimates", "versions", "--window", "3", "--trend")["extras"]["window"] == 3
    assert "one answer in 30 periods" in command("estimates", "versions", as_json=False)
    environment = {"SORDINO_SERVER": running.address, "SORDINO_KEY": running.admin_key, "COLUMNS": "200"}
    audited = CliRunner().invoke(app, ["audit", made["id"], "--json"], env=environment)
    assert audited.exit_code == 0, audited.stderr
    assert json.loads(audited.stdout)["holds"]
    for words in (["campaigns", "show", made["id"], "--verbose"], ["campaigns", "list"]):
        assert CliRunner().invoke(app, words, env=environment).exit_code == 0
    assert command("end", "versions")["state"] == "closed"
    assert "is no series" in command("estimates", other["id"], fails=True)


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ("every day", "must be a mapping"),
        ({"answers": 1}, "series.slots is missing"),
        ({"slots": 1}, "series.answers is missing"),
        ({"slots": 1, "answers": 1, "period": 1}, "series.period: not a term"),
        ({"slots": 1, "answers": 1, "every": "month"}, "series.every: write hour, day, week"),
        ({"slots": 1, "answers": 1, "late": "2 days"}, "series.late"),
        ({"slots": 1, "answers": 1, "start": "tomorrow"}, "series.start"),
    ],
)
def test_terms_of_a_file_that_make_no_series_are_told(terms, message):
    with pytest.raises(SordinoError, match=message):
        series_terms(terms)


def test_lengths_and_moments_are_read_in_words_and_in_seconds():
    read = series_terms({"slots": 1, "answers": 1, "every": "week", "late": "36h", "start": "2026-12-01"})
    assert (read["period_s"], read["late_s"], read["start"]) == (604_800, 129_600, 1_796_083_200)
    assert series_terms({"slots": 1, "answers": 1, "every": 900, "late": "15m"})["late_s"] == 900


def test_a_workload_without_terms_is_no_series(tmp_path: Path) -> None:
    path = tmp_path / "versions.yaml"
    path.write_text(FILE.split("series:")[0])
    with pytest.raises(SordinoError, match="has no `series`"):
        read_series(path)
