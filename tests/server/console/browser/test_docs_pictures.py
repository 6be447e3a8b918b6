"""The pictures of docs/console.md: with SCREENSHOTS=docs/images this writes them anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sordino_server.console.shared_texts import SharedTexts
from tests.server.console.browser.conftest import Window

EDGES = [-15, -5, 0, 5, 15, 30, 45, 60, 90, 120, 180]
NAMES = ("console-campaign", "console-estimate", "console-plan", "console-answers")
WIDTH = {"width": 1100, "height": 800}


@pytest.mark.slow
def test_pictures_of_the_docs(window: Window, running: Any) -> None:
    """A campaign of 20,000 devices about ranges of delays: while it runs, its plan, its estimate, a question."""
    domain = [{"name": "delay", "kind": "ordinal", "edges": EDGES, "unit": "min"}]
    workload = running.workload({"name": "delays", "domain": domain, "queries": "ranges"})
    plans = [
        running.ready_plan(workload=workload, epsilon=epsilon, mechanism=None, effort="quick", users=25_000)["id"]
        for epsilon in (0.5, 1, 2)
    ]
    terms = {"name": "arrival delays", "purpose": "We ask how late you were.", "population": "travellers"}
    created = running.api.post("/v1/campaigns", json=terms | {"plan_request": plans[1]}).raise_for_status().json()
    campaign = running.api.post(f"/v1/campaigns/{created['id']}/open").raise_for_status().json()
    path = f"/console/campaigns/{campaign['id']}"
    delays = np.random.default_rng(7).gumbel(0, 18, 20_000) - 4
    cells = np.searchsorted(EDGES, delays).tolist()
    for part in range(20):
        running.clock.advance(240 + 60 * (part % 5))
        running.report(campaign, cells[part * 1000 : (part + 1) * 1000], seed=part).raise_for_status()
    running.app.state.live_counts = SharedTexts(0.0)
    window.page.set_viewport_size(WIDTH)
    addresses = [
        path,
        f"{path}/estimate",
        f"/console/plans/{plans[1]}",
        f"{path}/answers?pick=..15&question=delay:60..",
    ]
    for place, (name, address) in enumerate(zip(NAMES, addresses, strict=True)):
        if place == 1:
            running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
            running.work()
        window.open(address)
        assert not window.unseen_pictures()
        assert not window.violations(), name
        assert window.keep(name, 1_800).stat().st_size < 400_000
