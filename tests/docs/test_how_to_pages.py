"""The pages that answer one question each: short, and their blocks run."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

import sordino_analysis as sa
from sordino_server.cli import app, output

DOCS = Path(__file__).parents[2] / "docs"
MOST_WORDS = 400
PAGES = ("numbers", "two-groups", "two-months", "how-long")


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return found


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_400_words_at_most(page: str) -> None:
    """Words that are read: blocks of code do not count."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    assert len(re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE).split()) <= MOST_WORDS


def two_groups() -> dict[str, Any]:
    (asked,) = [yaml.safe_load(text) for text in blocks("two-groups", "yaml")]
    plan = sa.plan(sa.workload(asked), epsilon=4, mechanism="randomized_response")
    rng = np.random.default_rng(1)
    users = {"country": rng.choice(["DE", "FR", "IN"], 3000), "delay": rng.choice([-5.0, 10.0, 30.0], 3000)}
    return {"estimate": sa.simulate(plan, users, seed=1).estimate}


def two_months() -> dict[str, Any]:
    plan = sa.plan(sa.prefix([0.0, 15.0, 60.0], name="delay", unit="min"), epsilon=4, mechanism="randomized_response")
    laws = {"may": [-5.0] * 60 + [30.0] * 40, "june": [-5.0] * 40 + [30.0] * 60}
    return {"sa": sa} | {
        name: sa.simulate(plan, np.array(held * 20), seed=len(name)).estimate for name, held in laws.items()
    }


@pytest.mark.parametrize(
    ("page", "names", "least"),
    [("two-groups", two_groups, 2), ("two-months", two_months, 1), ("how-long", dict, 1)],
)
def test_the_python_of_a_page_runs(page: str, names: Callable[[], dict[str, Any]], least: int) -> None:
    written, space = blocks(page, "python"), names()
    assert len(written) >= least
    for text in written:
        exec(compile(text, f"{page}.md", "exec"), space)


def test_the_users_of_an_experiment_are_those_that_the_command_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = next(text for text in blocks("how-long", "") if text.startswith("$ sordino"))
    command, _, printed = shown.removeprefix("$ ").partition("\n")
    monkeypatch.setenv("SORDINO_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(output.console, "width", 80)
    done = CliRunner().invoke(app, command.split()[1:], env={"COLUMNS": "80"})
    assert done.exit_code == 0, done.output
    assert done.stdout == printed


@pytest.mark.parametrize("page", ["numbers", "two-groups"])
def test_every_workload_of_a_page_is_one(page: str) -> None:
    written = [yaml.safe_load(text) for text in blocks(page, "yaml")]
    assert written
    for each in written:
        assert sa.workload(each).queries
