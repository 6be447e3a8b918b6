"""Pictures of the console hold the numbers of the API: counts, the ledger, variances, ranges, rules."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from sordino_server import aggregates, rounds
from sordino_server.answers import picture
from sordino_server.console.shared_texts import SharedTexts
from sordino_server.models import Role
from sordino_server.populations import service as populations
from sordino_server.populations.charges import charges_of, history
from sordino_shared.guarantees import NANO
from tests.server.console.conftest import Browsers

SVG = "{http://www.w3.org/2000/svg}"
DAY = 86400


def description(text: str) -> str:
    found = ET.fromstring(text).findtext(SVG + "desc")
    assert found is not None
    return found


@pytest.mark.parametrize("engine", ["running", "running_on_postgres"])
def test_reports_over_time(request: pytest.FixtureRequest, engine: str) -> None:
    running = request.getfixturevalue(engine)
    browsers = Browsers(running)
    browser, campaign = browsers.of(Role.ANALYST), running.campaign("open")
    path = f"/console/campaigns/{campaign['id']}"
    assert browser.http.get(f"{path}/reports.svg").status_code == 404
    assert "reports.svg" not in browser.page(path)
    opened = running.clock.now()
    for seed in (1, 2, 3):
        running.clock.advance(60)
        running.report(campaign, [0] * 10 * seed, seed)
    with running.database.read("test") as session:
        (row,) = rounds.of_campaign(session, campaign["id"])
        expected = [(opened + 60, 10), (opened + 120, 30), (opened + 180, 60)]
        assert aggregates.counted_over_time(session, row.id, 200) == expected
        assert aggregates.counted_over_time(session, row.id, 1) == expected[-1:]
    running.app.state.live_counts = SharedTexts(0.0)
    assert "round 0: 60 at last" in description(browser.page(f"{path}/reports.svg"))
    assert "reports.svg" in browser.page(path)
    browsers.close()


def test_the_ledger_over_time_ends_with_what_the_population_says(running: Any, browsers: Any) -> None:
    running.api.post(
        "/v1/populations",
        json={"name": "travellers", "epsilon_per_period": 3, "period_days": 7, "epsilon_lifetime": 5},
    ).raise_for_status()
    start = running.clock.now()
    for _ in range(3):
        running.campaign("open")
        running.clock.advance(4 * DAY)
    identifier = running.api.get("/v1/populations").json()["populations"][0]["id"]
    now = running.clock.now()
    with running.database.read("test") as session:
        population = populations.get(session, identifier)
        shown = populations.document(session, population, now)
        steps = history(charges_of(session, population), round(shown.asked * NANO), now)
    found = [((moment - start) // DAY, period // NANO, life // NANO) for moment, period, life in steps]
    days = [(0, 1, 1), (4, 2, 2), (7, 1, 2), (8, 2, 3), (11, 1, 3)]
    assert found == days
    assert (found[-1][1], found[-1][2]) == (shown.asked_in_period, shown.asked)
    drawn = browsers.of(Role.ANALYST).page(f"/console/populations/{identifier}/ledger.svg")
    assert "ε for life: 3 at last; ε in 7 days: 1 at last; cap for life: 5; cap of 7 days: 3" in description(drawn)


def test_variances_of_all_plans_of_a_workload(running: Any, browsers: Any) -> None:
    plans = [running.ready_plan(epsilon=epsilon)["id"] for epsilon in (1, 2, 2)]
    running.ready_plan(epsilon=4, objective="mean")
    browser = browsers.of(Role.ANALYST)
    drawn = browser.page(f"/console/plans/{plans[1]}/variances.svg")
    assert "1 mechanism at 2 values of ε" in description(drawn)
    assert "largest variance" in drawn
    waiting = running.plan_request(epsilon=3)["id"]
    assert browser.http.get(f"/console/plans/{waiting}/variances.svg").status_code == 409
    assert browser.http.get(f"/console/plans/{waiting}/kernel.svg").status_code == 409
    assert "kernel.svg" not in browser.page(f"/console/plans/{waiting}")
    kernel = browser.page(f"/console/plans/{plans[0]}/kernel.svg")
    assert "4 × 4 cells, from 0 to 1" in description(kernel)


def test_an_estimate_of_ranges_is_a_heat_map(running: Any, browsers: Any) -> None:
    domain = [{"name": "delay", "kind": "ordinal", "edges": [0, 15, 60], "unit": "min"}]
    workload = running.workload({"name": "ranges", "domain": domain, "queries": "ranges"})
    campaign = running.campaign("open", workload=workload)
    running.report(campaign, [0] * 60 + [1] * 40)
    running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    running.work()
    content = running.api.get(f"/v1/campaigns/{campaign['id']}/estimates").content
    drawn = browsers.of(Role.ANALYST).page(f"/console/campaigns/{campaign['id']}/estimate.svg")
    assert drawn == picture.draw(content, "delays")
    assert "from delay in min" in drawn
    shares = re.search(r"share of users: 4 × 4 cells, from (\S+) % to", description(drawn))
    assert shares is not None
    values = json.loads(content)["table"]["best"]
    assert float(shares[1]) == pytest.approx(100 * min(values), rel=1e-2)
