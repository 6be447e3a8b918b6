"""`sordino populations` against a running server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture
def operator(running: Any) -> dict[str, str]:
    """The environment of commands that work on the running server."""
    return {"SORDINO_SERVER": running.address, "SORDINO_KEY": running.admin_key}


def test_caps_are_made_changed_and_shown(run_command: Run, json_of: Run, operator: dict[str, str]) -> None:
    period = ("--per-period", "2", "--period-days", "30")
    made = json_of("populations", "create", "travellers", *period, "--lifetime", "20", **operator)
    assert (made["epsilon_per_period"], made["period_days"], made["epsilon_lifetime"]) == (2, 30, 20)
    shown = run_command("populations", "show", "travellers", **operator).stdout
    assert "cap per period: ε = 2 in 30 days; ε = 0 used in the last one" in shown
    changed = json_of("populations", "update", "travellers", "--lifetime", "10", **operator)
    assert (changed["epsilon_per_period"], changed["epsilon_lifetime"]) == (2, 10)
    freed = json_of("populations", "update", "travellers", "--per-period", "none", "--lifetime", "none", **operator)
    assert freed["epsilon_per_period"] is freed["period_days"] is freed["epsilon_lifetime"] is None
    assert "travellers" in run_command("populations", "list", **operator).stdout
    assert len(json_of("populations", "list", **operator)["populations"]) == 1


def test_what_is_left_and_fits_is_shown(run_command: Run, running: Any, operator: dict[str, str]) -> None:
    run_command(
        "populations",
        "create",
        "travellers",
        "--per-period",
        "1.5",
        "--period-days",
        "30",
        "--lifetime",
        "4",
        **operator,
    )
    before = run_command("populations", "show", "travellers", **operator).stdout
    assert "left for one question now: ε = 1.5 (ε = 1.5 of the period, ε = 4 for life)" in before
    assert "fits at ε = 0.5: 3 questions, or one of every week that each device answers once in 2 weeks" in before
    assert "more room" not in before
    running.campaign("open")
    after = run_command("populations", "show", "travellers", **operator).stdout
    assert "left for one question now: ε = 0.5 (ε = 0.5 of the period, ε = 3 for life)" in after
    assert "fits at ε = 1" not in after
    assert "more room from 2027-02-14 08:00 UTC on: one question of ε = 1.5" in after
    run_command("populations", "create", "free", "--no-cap", **operator)
    assert "left" not in run_command("populations", "show", "free", **operator).stdout


def test_a_campaign_beyond_the_cap_is_told(run_command: Run, json_of: Run, running: Any, operator: dict[str, str]):
    json_of("populations", "create", "travellers", "--lifetime", "1.5", **operator)
    first = running.campaign("open")["id"]
    running.clock.advance(1)
    second = running.campaign()["id"]
    refused = run_command("campaigns", "open", second, code=2, **operator)
    assert "of ε = 1.5 that population 'travellers' allows" in " ".join(refused.stderr.split())
    assert [entry["campaign"] for entry in json_of("populations", "ledger", "travellers", **operator)["entries"]] == [
        first
    ]
    line = run_command("populations", "ledger", "travellers", COLUMNS="40", **operator).stdout.splitlines()[1]
    assert line.split() == [first, "1", "2027-01-15", "08:00", "UTC"]


def test_a_population_that_nobody_made_is_refused_before_the_planning(
    run_command: Run, running: Any, operator: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(vars(running.app.state.context.settings), "populations", "declared")
    file = tmp_path / "delays.yaml"
    file.write_text("name: d\ndomain:\n  - {name: d, kind: ordinal, edges: [0, 15]}\nqueries: prefix\n")
    command = ("campaigns", "create", "--name", "d", "--population", "a-b & c", "--purpose", "We ask.")
    command += ("--workload", str(file), "--epsilon", "1", "--timeout", "0")
    refused = " ".join(run_command(*command, code=2, **operator).stderr.split())
    assert "population 'a-b & c' was made by no admin" in refused
    assert running.api.get("/v1/plan-requests").json()["plan_requests"] == []
    run_command("populations", "create", "a-b & c", "--no-cap", **operator)
    assert "nothing is ready after 0 s" in " ".join(run_command(*command, code=2, **operator).stderr.split())
    assert len(running.api.get("/v1/plan-requests").json()["plan_requests"]) == 1


def test_what_cannot_be_done(run_command: Run, operator: dict[str, str]) -> None:
    assert "no population" in run_command("populations", "show", "nobody", code=2, **operator).stderr
    assert "nothing to change" in run_command("populations", "update", "nobody", code=2, **operator).stderr


@pytest.mark.parametrize("given", [(), ("--no-cap", "--lifetime", "12")])
def test_a_new_population_has_a_cap_or_says_that_it_has_none(
    run_command: Run, json_of: Run, operator: dict[str, str], given: tuple[str, ...]
) -> None:
    refused = run_command("populations", "create", "x", *given, code=2, **operator).stderr
    assert "--per-period 1 --period-days 28 --lifetime 12, or --no-cap" in " ".join(refused.split())
    assert json_of("populations", "list", **operator)["populations"] == []
    for name, none in (("x", ("--no-cap",)), ("y", ("--lifetime", "none"))):
        made = json_of("populations", "create", name, *none, **operator)
        assert made["epsilon_lifetime"] is made["epsilon_per_period"] is None
        assert made["declared"]


@pytest.mark.parametrize("half", [("--per-period", "2"), ("--period-days", "30")])
def test_half_a_cap_names_both_options(
    run_command: Run, json_of: Run, operator: dict[str, str], half: tuple[str, str]
) -> None:
    told = "--per-period and --period-days go together"
    assert told in run_command("populations", "create", "x", *half, code=2, **operator).stderr
    json_of("populations", "create", "x", "--lifetime", "9", **operator)
    assert told in run_command("populations", "update", "x", *half, code=2, **operator).stderr
    json_of("populations", "update", "x", "--per-period", "1", "--period-days", "7", **operator)
    json_of("populations", "update", "x", *half, **operator)


@pytest.mark.parametrize("command", ["create", "show", "update", "ledger"])
def test_a_name_that_is_not_utf8_is_told(run_command: Run, operator: dict[str, str], command: str) -> None:
    more = ("--lifetime", "1") if command in ("create", "update") else ()
    assert "UTF-8" in run_command("populations", command, "a\udcff", *more, code=2, **operator).stderr
