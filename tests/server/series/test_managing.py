"""What is for every campaign, of a series: its predicted error, an audit, no place in a list, deleting a draft."""

from __future__ import annotations

import json
from typing import Any

from typer.testing import CliRunner

from sordino_server.cli import app
from sordino_shared.protocol import OpenCampaigns
from tests.server.series.conftest import terms_of


def test_a_series_is_audited_and_in_no_list_and_a_draft_of_one_is_deleted(running: Any, series: Any) -> None:
    audited = CliRunner().invoke(app, ["audit", series.id, "--server", running.address, "--json"])
    assert audited.exit_code == 0, audited.stderr
    checks = {check["name"]: check for check in json.loads(audited.stdout)["checks"]}
    spent = series.manifest.assignment.answers_max * series.manifest.rounds[0].guarantee.nano
    assert checks["ε of one device"]["recomputed"] == f"{spent / 1e9:g}"
    listed = running.anonymous.get("/v1/populations/travellers/open").content
    assert series.manifest.campaign not in OpenCampaigns.read(listed).campaigns
    running.clock.advance(1)
    draft = running.api.post("/v1/campaigns", json=terms_of(running)).raise_for_status().json()["id"]
    running.api.delete(f"/v1/campaigns/{draft}").raise_for_status()
    assert running.anonymous.get(f"/v1/campaigns/{draft}").status_code == 404
