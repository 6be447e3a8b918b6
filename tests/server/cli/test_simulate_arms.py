"""`sordino simulate --arms`: A/A tests on the rows of a file, without a server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest


@pytest.fixture
def rows(tmp_path: Path) -> str:
    path = tmp_path / "rows.csv"
    numbers = np.random.default_rng(1).exponential(800, 400)
    path.write_text("load\n" + "\n".join(f"{number:.0f}" for number in numbers))
    return str(path)


def asked(rows: str, *more: str) -> tuple[str, ...]:
    of_file = ("simulate", "--csv", rows, "--column", "load", "--edges", "500,1000", "--workload", "prefix")
    return (*of_file, "--epsilon", "4", "--mechanism", "randomized_response", "--seed", "1", *more)


def test_an_a_a_test_counts_false_alarms_and_an_effect_what_is_found(run_command: Any, rows: str) -> None:
    experiment = ("--primary", "load ≤ 500", "--days", "4", "--daily", "200", "--repeat", "40", "--arms", "2")
    nothing = json.loads(run_command(*asked(rows, *experiment, "--effect", "0", "--json")).stdout)
    assert (nothing["runs"], nothing["daily"], nothing["looks"]) == (40, 200, "planned")
    # .05 of 40: seven or more with chance .003.
    assert nothing["found"] <= 6
    some = json.loads(run_command(*asked(rows, *experiment, "--effect", "30%", "--json")).stdout)
    assert some["found"] == 40
    assert max(some["stopped_on_days"]) <= 4
    printed = run_command(*asked(rows, *experiment), COLUMNS="120").stdout
    assert "load ≤ 500: 2 arms, 200 users a day for 4 days, ε = 4" in printed
    assert f"40 experiments: {nothing['found']} false alarms by the rule" in printed


def test_experiments_behind_a_shuffler_have_random_reports_in_each_arm(run_command: Any, rows: str) -> None:
    experiment = ("--primary", "load ≤ 500", "--days", "2", "--daily", "300", "--repeat", "40", "--arms", "2")
    shuffled = (*experiment, "--collector", "1,1e-6", "--target-error", "0.05")
    found = json.loads(run_command(*asked(rows, *shuffled, "--effect", "0", "--json")).stdout)
    assert found["blanket"] > 0
    assert (found["looks"], found["runs"]) == ("end", 40)
    # .05 of 40: seven or more with chance .003; random reports that stayed in would shift no null, but an effect.
    assert found["found"] <= 6
    some = json.loads(run_command(*asked(rows, *shuffled, "--effect", "30%", "--json")).stdout)
    assert some["found"] == 40
    assert set(some["stopped_on_days"]) == {2}
    told = run_command(*asked(rows, *shuffled, "--looks", "any"), code=2, COLUMNS="200").stderr
    assert "one look: say --looks end" in " ".join(told.split())


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--effect", "0"), "leave out --effect: there is no --arms"),
        (("--arms", "2"), "--primary names the query that decides, one of 'load ≤ 500', 'load ≤ 1000'"),
        (("--arms", "2", "--primary", "load"), "--primary names the query"),
        (("--arms", "17"), "2 to 16 arms"),
        (("--arms", "2", "--effect", "much"), "--effect takes a number"),
        (("--arms", "2", "--effect", "200%"), "between −1 and 1"),
        (("--arms", "2", "--keep"), "leave out --keep: --arms simulates experiments without a server"),
    ],
)
def test_what_makes_no_experiment_is_refused(run_command: Any, rows: str, more: tuple[str, ...], said: str) -> None:
    told = run_command(*asked(rows, *more), code=2, COLUMNS="200").stderr
    assert said in " ".join(told.split())
