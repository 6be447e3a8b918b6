"""`sordino export`: files of results, and what it says when it writes none."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import sordino_analysis as sa
from sordino_analysis.answers import parquet

Run = Callable[..., Any]
needs_pyarrow = pytest.mark.skipif(find_spec("pyarrow") is None, reason="Parquet: `pip install pyarrow` to run this")


@pytest.fixture
def exported(running: Any) -> dict[str, str]:
    """The environment of commands on a server with two closed campaigns of one question, named delays."""
    for cells in ([0] * 600 + [1] * 400, [2] * 500 + [3] * 500):
        campaign = running.campaign("open")
        assert running.report(campaign, cells).status_code == 200
        running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
        running.work()
        running.clock.advance(1)
    return {"SORDINO_SERVER": running.address, "SORDINO_KEY": running.admin_key}


def _ids(json_of: Run, operator: dict[str, str]) -> list[str]:
    listed = json_of("campaigns", "list", **operator)["campaigns"]
    return [campaign["id"] for campaign in reversed(listed)]


def test_csv_and_json_of_two_campaigns_hold_the_same(
    run_command: Run, json_of: Run, exported: dict[str, str], tmp_path: Path
) -> None:
    first, second = _ids(json_of, exported)
    run_command("export", "estimates", first[:12], second, "--output", "both.csv", **exported)
    done = json_of("export", "estimates", first, second, "--output", "both.json", **exported)
    assert done == {"file": "both.json", "format": "json", "campaigns": [first, second]}
    assert json_of("export", "estimates", first, second, **exported) == json.loads((tmp_path / "both.json").read_text())
    printed = run_command("export", "estimates", first, second, **exported).stdout
    assert printed.splitlines() == (tmp_path / "both.csv").read_text().splitlines()
    tables = [sa.read_estimates(tmp_path / name, frame="columns") for name in ("both.csv", "both.json")]
    assert list(tables[0]) == list(tables[1])
    assert tables[0]["campaign_id"] == tables[1]["campaign_id"] == [first] * 3 + [second] * 3
    for name in ("value", "delay_high", "users"):
        assert tables[0][name].tolist() == tables[1][name].tolist()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@needs_pyarrow
def test_parquet_keeps_types_and_empty_cells(
    run_command: Run, json_of: Run, exported: dict[str, str], tmp_path: Path
) -> None:
    from pyarrow import parquet

    first, second = _ids(json_of, exported)
    run_command("export", "estimates", first, second, "--output", "both.parquet", **exported)
    run_command("export", "estimates", first, second, "--output", "both.json", **exported)
    schema = parquet.read_schema(tmp_path / "both.parquet")
    types = {name: str(schema.field(name).type) for name in ("campaign", "users", "value", "delay_high")}
    assert types == {"campaign": "string", "users": "int64", "value": "double", "delay_high": "double"}
    rows = json.loads((tmp_path / "both.json").read_text())["rows"]
    assert parquet.read_table(tmp_path / "both.parquet").to_pylist() == rows
    columns = sa.read_estimates(tmp_path / "both.parquet", frame="columns")
    assert columns["value"].tolist() == [row["value"] for row in rows]


def test_nothing_is_written_over_and_every_refusal_says_what_to_do(
    run_command: Run, exported: dict[str, str], json_of: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = _ids(json_of, exported)

    def refused(*arguments: str, campaign: str = first) -> str:
        shown = run_command("export", "estimates", campaign, *arguments, code=2, **exported).stderr
        return " ".join(shown.split())

    (tmp_path / "old.csv").write_text("mine")
    assert "--force" in refused("--output", "old.csv")
    assert (tmp_path / "old.csv").read_text() == "mine"
    assert "--format csv, json or parquet" in refused("--output", "table.txt")
    assert "--output FILE" in refused("--format", "parquet")
    assert "--json prints the table as JSON" in refused("--format", "csv", "--json")
    assert "means 2 campaigns" in refused("--output", "new.csv", campaign="delays")
    assert "no campaign" in refused("--output", "old.csv", "--force", campaign="delay")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    assert "the extra `lake`" in refused("--output", "new.parquet")
    assert [path.name for path in tmp_path.iterdir() if "sqlite" not in path.name] == ["old.csv"]
    assert (tmp_path / "old.csv").read_text() == "mine"
    run_command("export", "estimates", first, "--output", "old.csv", "--force", **exported)
    assert (tmp_path / "old.csv").read_text().startswith("campaign,campaign_id,")


def test_an_open_campaign_is_named(run_command: Run, running: Any) -> None:
    campaign = running.campaign("open")
    operator = {"SORDINO_SERVER": running.address, "SORDINO_KEY": running.admin_key}
    shown = run_command("export", "estimates", campaign["id"], code=2, **operator).stderr
    assert f"campaign {campaign['id']}" in shown
    assert "close it first" in " ".join(shown.split())


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(sa.SordinoError, match="needs pyarrow"):
        parquet.check_pyarrow()
