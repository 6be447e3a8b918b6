"""Watched strings and least_share over HTTP, in commands and on pages; devices and logs have nothing of them."""

from __future__ import annotations

import csv
import io
import logging
from typing import Any

import pytest
from typer.testing import CliRunner

from sordino_server.cli import app
from sordino_server.models import Role
from sordino_server.string_searches import service
from tests.server.answers.test_answers_on_demand_api import report_texts
from tests.server.answers.test_strings_api import WORKLOAD, campaign_of
from tests.server.console.conftest import Browsers

WATCHED = WORKLOAD | {"watch": ["=1+1", "zebra crossing", "quagga"], "least_share": 0.2}


def test_watched_strings_go_the_whole_way(
    running: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with caplog.at_level(logging.DEBUG):
        campaign = campaign_of(running, "open", workload=WATCHED)
        path = f"/v1/campaigns/{campaign['id']}"
        texts = ["=1+1"] * 150 + ["the most"] * 600 + ["a third"] * 260
        assert report_texts(running, campaign, texts).status_code == 200
        running.api.post(f"{path}/close").raise_for_status()
        running.work()
        estimate = running.api.get(f"{path}/estimates").raise_for_status().json()
        text = running.api.get(f"{path}/estimates", params={"format": "csv"}).text
    rows = {row["label"]: row for row in csv.DictReader(io.StringIO(text))}
    # 15 % is below the least share, and watched; "a third" is above it.
    sentences = {label: row["sentence"] for label, row in rows.items()}
    assert sentences == {
        "the mos…[0111]": "certified",
        "a third…[1111]": "certified",
        "'=1+1": "certified, watched",
        "zebra c…[0111]": "watched, not certified",
        "quagga": "watched, not certified",
    }
    for label, share in (("'=1+1", 150 / 1010), ("quagga", 0.0)):
        assert float(rows[label]["band_lower"]) <= share <= float(rows[label]["band_upper"])
    assert (estimate["extras"]["watched"], estimate["extras"]["least_share"]) == (3, 0.2)
    logged = " ".join(f"{each.getMessage()} {each.__dict__}" for each in caplog.records)
    device = running.api.get(f"/v1/plans/{campaign['rounds'][0]['device_digest']}")
    for said in (logged, device.text, running.api.get(path).text):
        assert "zebra" not in said
        assert "quagga" not in said
    assert "certified, watched" in told(running, "campaigns", "estimates", campaign["id"])
    assert "a policy of who asks, and no guarantee" in running.api.get(f"{path}/card").text
    check_pages(running, campaign)
    # As if 40 paths, which the estimate followed, were the most that there can be.
    monkeypatch.setattr(service, "MAX_BEAM", 40)
    refused = running.api.post(f"{path}/strings", json={"beam": 50})
    assert refused.status_code == 422
    assert "the estimate has a beam of 40: that is the widest, so no search is wider" in refused.text


def told(running: Any, *arguments: str) -> str:
    environment = {"SORDINO_SERVER": running.address, "SORDINO_KEY": running.admin_key, "COLUMNS": "200"}
    result = CliRunner().invoke(app, arguments, env=environment)
    assert result.exit_code == 0, result.output
    return result.output


def check_pages(running: Any, campaign: dict[str, Any]) -> None:
    browsers = Browsers(running)
    try:
        browser = browsers.of(Role.ANALYST)
        page = browser.page(f"/console/campaigns/{campaign['id']}/estimate")
        picture = browser.page(f"/console/campaigns/{campaign['id']}/estimate.svg")
        plan = browser.page(f"/console/plans/{campaign['question']['plan_request']}")
    finally:
        browsers.close()
    assert "watched, not certified" in page
    assert "strings below least_share, 20 %, are not shown" in page
    assert "3 strings watched" in page
    assert "quagga" in picture
    assert "strings of 20 % or more: a policy, and no guarantee" in plan
    assert "3 strings, with half of the error" in plan


def test_a_search_that_fails_names_nothing_that_is_watched(running: Any) -> None:
    campaign = campaign_of(running, "open", "close", workload=WATCHED)
    running.work()
    status = running.api.get(f"/v1/campaigns/{campaign['id']}/status").json()
    assert "no report was counted" in status["rounds"][0]["error"]
    assert "quagga" not in str(status)


def test_what_cannot_be_watched_is_refused(running: Any) -> None:
    refused = running.api.post("/v1/workloads", json=WATCHED | {"watch": ["quagga", "quagga"]})
    assert (refused.status_code, "watch.1: the same text as watch.0" in refused.text) == (422, True)
    assert "quagga" not in refused.text
