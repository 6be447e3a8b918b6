"""`sordino export reports`, `sordino aggregate` and `sordino aggregates add`, from a database to one file."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sordino_analysis.archive.aggregate_document import AggregateDocument
from sordino_server import aggregates
from sordino_server.exports import archiving
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
    assert "deleting them is up to you" in " ".join(shown.stderr.split())
    folder = shown.stdout.strip()
    assert Path(folder) == Path("lake", f"campaign={campaign}", "round=0")
    shown = run_command("export", "reports", campaign, "--to", "lake", **database)
    assert "deleted when the reports are purged" in " ".join(shown.stderr.split())
    again = json_of("export", "reports", campaign[:12], "--to", "lake", **database)
    assert len(again["parts"]) == 3
    whole = json_of("aggregate", "--from", folder, "--processes", "1", "--out", "whole.cbor")
    run_command("aggregate", "--from", folder, "--processes", "1", "--parts", "0-1", "--out", "first.cbor")
    run_command("aggregate", "--from", folder, "--processes", "1", "--parts", "2", "--out", "last.cbor")
    total = json_of("aggregates", "add", "last.cbor", "first.cbor", "--out", "total.cbor")
    assert total == {"reports": 600, "missing_parts": 0, "digest": whole["digest"]}
    assert "still missing" in run_command("aggregates", "add", "last.cbor", "--out", "some.cbor").stderr
    document = AggregateDocument.read((tmp_path / "total.cbor").read_bytes())
    with running.database.read() as session:
        [row] = archiving.rounds.of_campaign(session, campaign)
    randomizer = running.device_part({"id": campaign}).randomizer
    expected = aggregates.re_aggregate(running.database, row.id, randomizer, 600)
    assert (document.count, document.sums) == (600, expected.to_bytes())


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
    assert "choose another file" in refused("aggregate", "--from", folder, "--out", "mine.cbor")
    assert "holds no sums" in refused("aggregates", "add", "mine.cbor", "--out", "new.cbor")
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
