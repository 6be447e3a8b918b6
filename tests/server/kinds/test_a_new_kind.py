"""The recipe "add a kind of question": a class that an entry point names, and nothing else anywhere.

Real processes on SQLite: a server and its worker, their forks, apps with ledgers, a console; each finds the kind by
itself.
"""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from rich.console import Console

from sordino_server.cli.simulation.progress import Stages
from sordino_server.cli.simulation.server_process import create_key, local_server
from tests.patience import PATIENCE_S
from tests.server.console.conftest import Browser

Sordino = Callable[..., str]
SPECIFICATION = {
    "name": "favourite colour",
    "domain": [{"name": "colour", "kind": "categorical", "labels": ["red", "green", "blue"]}],
    "most_common": "member",
}
# Green is held by half of 3,000, red by a third: the difference is 20 standard errors at ε = 4.
COLOURS = ["red"] * 1000 + ["green"] * 1500 + ["blue"] * 500


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A distribution whose entry point names the kind, on the path of all processes that are started from here."""
    metadata = tmp_path / "site" / "most_common-1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: most-common\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[sordino.kinds]\nmost_common = tests.server.kinds.most_common:KIND\n")
    places = [str(tmp_path / "site"), str(Path(__file__).parents[3])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(places))
    monkeypatch.setenv("COLUMNS", "160")
    return tmp_path


@pytest.fixture
def sordino(installed: Path) -> Sordino:
    """The standard output of a command that succeeds, in a process of its own."""

    def run(*command: str, **environment: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "sordino_server", *command],
            cwd=installed,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_a_kind_of_another_distribution_goes_the_whole_way(installed: Path, sordino: Sordino) -> None:
    (installed / "colours.csv").write_text("colour\n" + "\n".join(COLOURS) + "\n")
    (installed / "colours.json").write_text(json.dumps(SPECIFICATION))
    asked = ("--csv", "colours.csv", "--column", "colour", "--spec", "colours.json", "--epsilon", "4", "--apps", "3")
    with local_server(installed, Stages(Console(stderr=True))) as address:
        operator = {"SORDINO_SERVER": address, "SORDINO_KEY": create_key(installed)}
        # Plan, campaign, reports, estimate and truth.
        result = json.loads(
            sordino("simulate", *asked, "--server", address, "--chart", "truth.svg", "--json", **operator)
        )
        assert (result["kind"], result["users"], result["apps"]) == ("most_common", 3000, 3)
        (answer,) = result["answers"]
        assert (answer["label"], answer["truth"], result["most_common_share"]) == ("colour: green", 0.5, 0.5)
        assert (result["runner_up"], result["is_sure"], result["band_holds"]) == ("colour: red", True, True)
        assert (installed / "truth.svg").read_text().startswith("<svg")
        _check_text_and_files(sordino, operator, result["campaign"], answer)
        _check_rest_and_console(address, operator, result["campaign"])
        # A plan without a server, and what the kind has no use for.
        plan = json.loads(sordino("plan", "--file", "colours.json", "--epsilon", "4", "--no-cache", "--json"))
        assert plan["workload"] == "favourite colour"


def _check_text_and_files(sordino: Sordino, operator: dict[str, str], campaign: str, answer: dict[str, Any]) -> None:
    text = sordino("campaigns", "estimates", campaign, "--chart", "estimate.svg", **operator)
    assert "colour: green is the most common, before colour: red" in text
    assert text.splitlines()[1].split()[:2] == ["most", "common"]
    (row,) = csv.DictReader(io.StringIO(sordino("campaigns", "estimates", campaign, "--csv", **operator)))
    assert (row["label"], float(row["value"]), row["kind"]) == ("colour: green", answer["value"], "most_common")
    exported = sordino("export", "estimates", campaign, "--output", "all.csv", **operator)
    assert "all.csv" in exported or exported == ""


def _check_rest_and_console(address: str, operator: dict[str, str], campaign: str) -> None:
    key = operator["SORDINO_KEY"]
    with httpx.Client(base_url=address, timeout=PATIENCE_S) as client:
        described = client.get("/openapi.json", headers={"Authorization": f"Bearer {key}"})
        if described.status_code == 200:
            assert "Most_commonEstimate" in described.text
        browser = Browser(client)
        assert browser.sign_in(key).status_code == 303
        page = browser.page(f"/console/campaigns/{campaign}/estimate")
        assert "colour: green is the most common, before colour: red" in page
        assert ">most common</th>" in page
        assert browser.page(f"/console/campaigns/{campaign}/estimate.svg").startswith("<svg")
