"""`sordino card`: text, JSON, HTML, audit and --strict."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sordino_server.cli import app

Run = Callable[..., Any]


@pytest.fixture
def card(running: Any) -> Run:
    def run(*arguments: str, code: int = 0) -> Any:
        environment = {"SORDINO_SERVER": running.address, "SORDINO_KEY": running.admin_key, "COLUMNS": "200"}
        done = CliRunner().invoke(app, ["card", *arguments], env=environment)
        assert done.exit_code == code, done.output
        return done

    return run


def test_the_json_is_that_of_the_api_and_the_same_twice(running: Any, card: Run) -> None:
    campaign = running.campaign("open")["id"]
    first, again = card("delays", "--json").stdout, card(campaign[:9], "--json").stdout
    assert first == again
    assert json.loads(first) == running.api.get(f"/v1/campaigns/{campaign}/card").json()


def test_the_file_has_no_script_and_the_same_bytes(running: Any, card: Run, tmp_path: Path) -> None:
    running.campaign("open")
    for name in ("a.html", "b.html"):
        shown = card("delays", "--html", str(tmp_path / name)).stdout
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    assert "2.72-fold" in (tmp_path / "a.html").read_text("utf-8")
    assert "ε of one report: ε = 1: the odds about an answer change at most 2.72-fold" in shown
    assert "cannot be written" in card("delays", "--html", str(tmp_path / "no" / "c.html"), code=2).stderr


def test_strict_fails_where_a_field_is_not_stated(running: Any, card: Run) -> None:
    running.campaign("open")
    assert "not stated: contact, audit, log" in card("delays", "--strict", code=1).stderr
    assert "not stated: contact, log" in card("delays", "--strict", "--audit", code=1).stderr


def test_the_audit_counts_what_holds(running: Any, card: Run) -> None:
    running.campaign("open")
    found = json.loads(card("delays", "--audit", "--json").stdout)
    audit = next(field for part in found["parts"] for field in part["fields"] if field["name"] == "audit")
    assert audit["value"]["held"] == audit["value"]["of"] > 10
    assert audit["text"] == f"{audit['value']['of']} of {audit['value']['of']} published values hold"


def test_the_assessment_is_filled(running: Any, card: Run) -> None:
    running.campaign("open")
    shown = card("delays", "--dpia").stdout
    assert shown.startswith("# Data protection impact assessment: delays")
    assert "article 35(7)" in shown
    assert json.loads(card("delays", "--dpia", "--json").stdout)["dpia"].rstrip() == shown.rstrip()
