"""`sordino export reports`, `sordino aggregate` and `sordino aggregates add`, from a database to one file."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sordino_analysis.archive.aggregate_document import AggregateDocument
from sordino_server import aggregates
from sordino_server.archives import archiving
from sordino_shared.protocol import CampaignId, Digest
from tests.patience import PATIENCE_S

Run = Callable[..., Any]


@pytest.fixture
def closed(running: Any) -> tuple[str, dict[str, str]]:
    """A campaign whose round is closed, and the environment of commands on its database."""
    campaign = running.campaign("open")
    for seed in range(3):
        assert running.report(campaign, [0, 1, 2, 3] * 50, seed).status_code == 200
    running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    running.work()
    return campaign["id"], {"SORDINO_DATABASE_URL": running.database.url.render_as_string(hide_password=False)}


def test_from_the_database_to_the_sums(
    run_command: Run, json_of: Run, running: Any, closed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archiving, "PART_BYTES", 1)
    campaign, database = closed
    shown = run_command("export", "reports", campaign, "--to", "lake", "--keep", **database)
    assert "deleting it is up to you" in " ".join(shown.stderr.split())
    folder = shown.stdout.strip()
    assert Path(folder) == Path("lake", f"campaign={campaign}", "round=0")
    shown = run_command("export", "reports", campaign, "--to", "lake", **database)
    assert "deleted when the reports are purged" in " ".join(shown.stderr.split())
    again = json_of("export", "reports", campaign[:12], "--to", "lake", **database)
    assert len(again["parts"]) == 3
    whole = json_of("aggregate", "--from", folder, "--processes", "1", "--output", "whole.cbor")
    run_command("aggregate", "--from", folder, "--processes", "1", "--parts", "0-1", "--output", "first.cbor")
    run_command("aggregate", "--from", folder, "--processes", "1", "--parts", "2", "--output", "last.cbor")
    total = json_of("aggregates", "add", "last.cbor", "first.cbor", "--output", "total.cbor")
    assert total == {"reports": 600, "missing_parts": 0, "digest": whole["digest"]}
    assert "still missing" in run_command("aggregates", "add", "last.cbor", "--output", "some.cbor").stderr
    document = AggregateDocument.read((tmp_path / "total.cbor").read_bytes())
    with running.database.read() as session:
        [row] = archiving.rounds.of_campaign(session, campaign)
    randomizer = running.device_part({"id": campaign}).randomizer
    expected = aggregates.re_aggregate(running.database, row.id, randomizer, 600)
    assert (document.count, document.sums) == (600, expected.to_bytes())


def test_a_round_without_reports_adds_up_to_nothing(run_command: Run, json_of: Run, running: Any) -> None:
    campaign = running.campaign("open")["id"]
    running.api.post(f"/v1/campaigns/{campaign}/close").raise_for_status()
    database = {"SORDINO_DATABASE_URL": running.database.url.render_as_string(hide_password=False)}
    folder = run_command("export", "reports", campaign, "--to", "lake", **database).stdout.strip()
    assert json_of("aggregate", "--from", folder, "--output", "none.cbor")["reports"] == 0
    assert json_of("aggregates", "add", "none.cbor", "--output", "total.cbor")["missing_parts"] == 0


def test_refusals_say_what_to_do(
    run_command: Run, closed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign, database = closed

    def refused(*arguments: str, **environment: str) -> str:
        return " ".join(run_command(*arguments, code=2, **environment).stderr.split())

    assert "cannot be opened" in refused("export", "reports", campaign, "--to", "sftp://a/b", **database)
    assert "no campaign has the name" in refused("export", "reports", "other", "--to", "lake", **database)
    assert "no round 7" in refused("export", "reports", campaign, "--round", "7", "--to", "lake", **database)
    assert "no finished archive" in refused("aggregate", "--from", "nowhere")
    folder = run_command("export", "reports", campaign, "--to", "lake", **database).stdout.strip()
    assert "0-99" in refused("aggregate", "--from", folder, "--parts", "all")
    assert "parts 0 to 0" in refused("aggregate", "--from", folder, "--parts", "0-99")
    assert "only --engine spark has one" in refused("aggregate", "--from", folder, "--master", "spark://a:7077")
    several = "--engine", "spark", "--master", "spark://a:7077", "--processes", "2"
    assert "the cluster has its own" in refused("aggregate", "--from", folder, *several)
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "pyspark", None)
        assert "install the extra `spark`" in refused("aggregate", "--from", folder, "--engine", "spark")
        without.setitem(sys.modules, "pyarrow", None)
        assert "install the extra `lake`" in refused("aggregate", "--from", "s3://bucket/campaign/round=0")
        assert "install the extra `lake`" in refused("export", "reports", campaign, "--to", "s3://bucket", **database)
    (tmp_path / "mine.cbor").write_bytes(b"mine")
    assert "choose another file" in refused("aggregate", "--from", folder, "--output", "mine.cbor")
    assert "holds no sums" in refused("aggregates", "add", "mine.cbor", "--output", "new.cbor")
    assert (tmp_path / "mine.cbor").read_bytes() == b"mine"
    assert not (tmp_path / "new.cbor").exists()


def test_an_archive_out_of_reach_keeps_the_reports_until_it_is_forgotten(
    run_command: Run, json_of: Run, closed: Any, running: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign, database = closed
    running.clock.advance(1)
    monkeypatch.setattr("sordino_server.cli.db.WallClock", lambda: running.clock)
    folder = run_command("export", "reports", campaign, "--to", "lake", **database).stdout.strip()
    (tmp_path / folder).rename(tmp_path / "elsewhere")
    purge = ("db", "purge", "--older-than-days", "0")
    shown = run_command(*purge, code=2, **database)
    assert f"sordino export forget {tmp_path / folder}" in " ".join(shown.stderr.split())
    assert len(json_of(*purge, "--dry-run", **database)["rounds"]) == 1
    assert "no archive of this database" in run_command("export", "forget", "nowhere", code=2, **database).stderr
    run_command("export", "forget", folder, **database)
    assert len(json_of(*purge, **database)["rounds"]) == 1
    assert (tmp_path / "elsewhere" / "part-00000.parquet").exists()


@pytest.mark.slow
def test_the_nightly_script_may_run_again(closed: Any, tmp_path: Path) -> None:
    campaign, database = closed
    program = tmp_path / "bin" / "sordino"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m sordino_server "$@"\n')
    program.chmod(0o755)
    path = f"{program.parent}:{os.environ['PATH']}"
    environment = os.environ | database | {"PATH": path, "CAMPAIGN": campaign, "LAKE": str(tmp_path / "lake")}
    script = Path(__file__).parents[3] / "examples" / "scale-out" / "nightly.sh"
    for _ in range(2):
        subprocess.run(["sh", script], env=environment, cwd=tmp_path, check=True, timeout=PATIENCE_S)
    document = AggregateDocument.read((tmp_path / f"sums-{campaign}-0.cbor").read_bytes())
    assert (document.count, document.missing) == (600, 0)


def test_sums_of_a_source_from_its_key_to_the_round(
    run_command: Run, json_of: Run, running: Any, tmp_path: Path
) -> None:
    campaign = running.campaign("open")
    home = {
        "SORDINO_DATABASE_URL": running.database.url.render_as_string(hide_password=False),
        "SORDINO_SERVER": running.address,
    }
    bound = ("--role", "aggregator", "--name", "eu", "--campaign", campaign["id"])
    refused = run_command("keys", "create", *bound, code=2, **home).stderr
    assert "one campaign and one source" in " ".join(refused.split())
    key = json_of("keys", "create", *bound, "--source", "eu", "--max-reports", "100", **home)["key"]
    assert "eu of " in run_command("keys", "list", **home).stdout
    part = running.device_part(campaign)
    sums = AggregateDocument(
        campaign=CampaignId.parse(campaign["id"]),
        round=0,
        device_digest=part.digest,
        source=None,
        number=0,
        count=7,
        sums=np.array([3, 2, 1, 1], dtype="<i8").tobytes(),
        manifest=Digest.of(b"manifest"),
        parts=(0,),
        parts_in_all=1,
    )
    (tmp_path / "part.cbor").write_bytes(sums.content)
    aggregator = home | {"SORDINO_KEY": key}
    assert "name no source" in run_command("aggregates", "import", "part.cbor", code=2, **aggregator).stderr
    run_command("aggregates", "add", "part.cbor", "--source", "eu", "--number", "4", "--output", "eu.cbor")
    shown = json_of("aggregates", "import", "eu.cbor", **aggregator)
    assert (shown["source"], shown["number"], shown["reports"]) == ("eu", 4, 7)
    assert "7 reports of eu count" in run_command("aggregates", "import", "eu.cbor", **aggregator).stderr
    key_of_us = json_of("keys", "create", *bound, "--source", "us", "--max-reports", "100", **home)["key"]
    assert "not for eu" in run_command("aggregates", "import", "eu.cbor", code=2, **home, SORDINO_KEY=key_of_us).stderr
    operator = home | {"SORDINO_KEY": running.admin_key}
    assert "waiting for us" in run_command("campaigns", "close", campaign["id"], **operator).stdout
    waited = run_command("campaigns", "estimates", campaign["id"], code=2, **operator)
    assert "waits for the sums of us" in " ".join(waited.stderr.split())
    assert "waiting" not in run_command("campaigns", "waive-sources", campaign["id"], "0", **operator).stdout
