"""The page of a campaign and that of keys show who else adds up its reports."""

from __future__ import annotations

from typing import Any

from sordino_server.models import Role


def test_whose_sums_came_and_whose_a_round_waits_for(running: Any, browsers: Any) -> None:
    campaign = running.campaign("open")["id"]
    bound = {"role": "aggregator", "campaign": campaign, "max_reports": 9}
    for source in ("eu", "us"):
        running.api.post("/v1/keys", json={"name": source, "source": source} | bound).raise_for_status()
    running.api.post(f"/v1/campaigns/{campaign}/close").raise_for_status()
    page = browsers.of(Role.ANALYST).page(f"/console/campaigns/{campaign}")
    assert "waits for eu, us" in page
    keys = browsers.of(Role.ADMIN).page("/console/keys")
    assert "source eu" in keys
    assert '<option value="aggregator">' not in keys
