"""`sordino campaigns compare` and `sordino campaigns answers --given`, against a running server."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest

from tests.server.answers.test_answers_on_demand_api import TABLE, closed
from tests.server.answers.test_comparisons_api import DELAY, JUNE, MAY, order

Run = Callable[..., Any]


@pytest.fixture
def operator(running: Any) -> dict[str, str]:
    """The environment of commands that work on the running server, which has the campaigns may and june."""
    for name, cells in (("may", MAY), ("june", JUNE)):
        closed(running, cells, **order(running, name, 4))
    return {"SORDINO_SERVER": running.address, "SORDINO_KEY": running.admin_key}


def test_two_campaigns_by_their_names(run_command: Run, json_of: Run, operator: dict[str, str]) -> None:
    told = run_command("campaigns", "compare", "may", "june", **operator)
    assert "is lower: june − may = −" in told.stdout
    assert "verdict" in told.stdout
    assert "left: may, 1,000 users, ε = 4" in told.stdout
    document = json_of("campaigns", "compare", "may", "june", "--level", "0.9", **operator)
    assert (document["kind"], document["terms"]["level"]) == ("comparison", 0.9)
    label = document["table"]["label"][0]
    asked = ("campaigns", "compare", "may", "june", "--query", label)
    table = run_command(*asked, "--population", "--csv", **operator).stdout
    (row,) = csv.DictReader(io.StringIO(table))
    assert (row["label"], row["left"], row["right"], row["verdict"]) == (label, "may", "june", "lower")
    assert "assumes different people" in row["warnings"]


def test_shifts_of_quantiles(running: Any, run_command: Run, operator: dict[str, str]) -> None:
    for name, cells in (("before", [2] * 900 + [6] * 300), ("after", [4] * 900 + [7] * 300)):
        closed(running, cells, **order(running, name, 4, DELAY))
    asked = ("campaigns", "compare", "before", "after", "--quantile", "0.5", "--quantile", "0.99")
    told = run_command(*asked, **operator).stdout
    assert "0.5 quantile of delay is higher: after − before: " in told
    assert "0.99 quantile of delay: a 0.99 quantile may lie in a bin without an end" in told
    rows = list(csv.DictReader(io.StringIO(run_command(*asked, "--csv", **operator).stdout)))
    assert [row["verdict"] for row in rows] == ["higher", "higher"]
    for share, said in (("0", "greater than 0"), ("1.5", "less than 1"), ("nan", "less than 1")):
        failed = run_command("campaigns", "compare", "before", "after", "--quantile", share, code=2, **operator)
        assert said in " ".join(failed.stderr.split())


def test_a_name_may_have_a_colon(running: Any, json_of: Run, operator: dict[str, str]) -> None:
    closed(running, JUNE, **order(running, "delays: july", 4))
    document = json_of("campaigns", "compare", "may", "delays: july", **operator)
    assert document["extras"]["right"]["name"] == "delays: july"


def test_what_cannot_be_compared_says_why(run_command: Run, operator: dict[str, str]) -> None:
    failed = run_command("campaigns", "compare", "may", "march", code=2, **operator)
    assert "no campaign has the name or the id 'march'" in failed.stderr
    for arguments, said in (
        (("may", "may"), "compare two campaigns"),
        (("may", "june", "--query", "late"), "no query 'late'"),
        (("may", "june", "--level", "1"), "less than 1"),
        (("may:B", "june"), "no arm 'B'"),
        (("may:", "june"), "no campaign has the name or the id 'may:'"),
        (("may:new one", "june"), "no campaign has the name or the id 'may:new one'"),
    ):
        failed = run_command("campaigns", "compare", *arguments, code=2, **operator)
        assert said in " ".join(failed.stderr.split())


def test_answers_given_a_group(run_command: Run, json_of: Run, operator: dict[str, str]) -> None:
    asked = ("campaigns", "answers", "may", "--marginal", "wifi:yes", "--given", "os=linux")
    told = run_command(*asked, **operator).stdout
    assert "wifi: yes given os: linux" in told
    assert "share of the group" in told
    assert json_of(*asked, **operator)["table"]["given"] == ["os: linux"]
    failed = run_command(*asked[:-1], "os=mac", code=2, **operator)
    assert "'mac'" in failed.stderr
    assert TABLE["domain"][0]["name"] == "os"
