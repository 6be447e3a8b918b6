"""The pictures of docs/console.md: with SCREENSHOTS=docs/images this writes them anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sordino_server.console.shared_texts import SharedTexts
from sordino_server.keys import service as keys
from sordino_server.models import Role
from tests.server.console.browser.conftest import Window
from tests.server.console.browser.small_png import with_palette

DESK, PHONE = {"width": 1100, "height": 800}, {"width": 390, "height": 844}
MOST_BYTES = 90_000
EDGES = [200, 300, 500, 800, 1000, 1500, 2000, 3000, 4000, 6000]
START = {
    "name": "app start",
    "domain": [{"name": "start", "kind": "ordinal", "edges": EDGES, "unit": "ms"}],
    "queries": "prefix",
}
SYSTEMS = ["Android", "iOS", "Windows", "Linux", "macOS"]
SYSTEM = {
    "name": "system",
    "domain": [{"name": "system", "kind": "categorical", "labels": SYSTEMS}],
    "queries": "histogram",
}
THEMES = {
    "name": "theme",
    "domain": [{"name": "theme", "kind": "categorical", "labels": ["light", "dark", "as the system"]}],
    "queries": "histogram",
}
NOTES = {
    "name": "notes",
    "domain": [{"name": "notes", "kind": "categorical", "labels": ["none", "1 to 9", "10 to 99", "100 or more"]}],
    "queries": "histogram",
}
DELAYS = {
    "name": "delays",
    "domain": [
        {"name": "delay", "kind": "ordinal", "edges": [-15, -5, 0, 5, 15, 30, 45, 60, 90, 120, 180], "unit": "min"}
    ],
    "queries": "ranges",
}
POPULATION = "people who use the app"
PURPOSE = "Your app answers one question, and adds noise before it does."
DAY_S = 86_400


class Team:
    """Asks and answers for a small company, as days go by; Mara has an admin's key."""

    def __init__(self, running: Any) -> None:
        self.running = running
        self.random = np.random.default_rng(7)
        self.plans: dict[str, str] = {}
        with running.database.write("test key") as session:
            self.key = keys.create(session, "Mara", Role.ADMIN, running.clock.now()).text
        self.api = running.client(self.key)

    def ask(self, name: str, workload: dict[str, Any], wanted: int = 20_000, **terms: Any) -> dict[str, Any]:
        """A campaign that is not open."""
        registered = self.api.post("/v1/workloads", json=workload).raise_for_status().json()["id"]
        request = {"workload": registered, "epsilon": 1, "users": wanted, "effort": "quick"}
        plan = self.api.post("/v1/plan-requests", json=request).raise_for_status().json()["id"]
        self.running.work()
        self.plans[name] = plan
        order = {"name": name, "purpose": PURPOSE, "population": POPULATION, "public": True, "plan_request": plan}
        order |= {"close_after_reports": wanted, **terms}
        campaign: dict[str, Any] = self.api.post("/v1/campaigns", json=order).raise_for_status().json()
        return campaign

    def open(self, campaign: dict[str, Any]) -> None:
        """Ask the devices."""
        self.api.post(f"/v1/campaigns/{campaign['id']}/open").raise_for_status()

    def answer(self, campaign: dict[str, Any], cells: list[int], hours: int = 20) -> None:
        """Reports that come over some hours."""
        for part, some in enumerate(np.array_split(np.array(cells), hours)):
            self.running.clock.advance(3000 + 300 * (part % 5))
            self.running.report(campaign, some.tolist(), seed=part).raise_for_status()

    def wait(self) -> None:
        """Rounds close by their rules, answers are computed, and a day goes by."""
        self.running.work()
        self.running.clock.advance(DAY_S)

    def drawn(self, shares: list[float], count: int) -> list[int]:
        """So many cells by these shares."""
        return [int(each) for each in self.random.choice(len(shares), count, p=shares)]


def _world(running: Any) -> tuple[str, dict[str, str]]:
    """Mara's key, and addresses of what the pictures show."""
    team = Team(running)
    cap = {"name": POPULATION, "epsilon_per_period": "4", "period_days": 30, "epsilon_lifetime": "20"}
    team.api.post("/v1/populations", json=cap).raise_for_status()
    delays = team.ask("Delays of flights", DELAYS)
    team.open(delays)
    values = team.random.gumbel(0, 18, 20_000) - 4
    team.answer(delays, np.searchsorted(DELAYS["domain"][0]["edges"], values).tolist())
    team.wait()
    running.clock.advance(30 * DAY_S)
    before = team.ask("System in October", SYSTEM)
    team.open(before)
    team.answer(before, team.drawn([0.52, 0.28, 0.12, 0.05, 0.03], 20_000))
    team.wait()
    few = team.ask("System on the beta channel", SYSTEM, 10_000, close_after_s=DAY_S)
    team.open(few)
    team.answer(few, team.drawn([0.4, 0.3, 0.1, 0.1, 0.1], 60))
    running.clock.advance(DAY_S)
    team.wait()
    running.clock.advance(25 * DAY_S)
    after = team.ask("System in November", SYSTEM)
    team.open(after)
    team.answer(after, team.drawn([0.47, 0.33, 0.11, 0.06, 0.03], 20_000))
    team.wait()
    start = team.ask("How long does the app take to start?", START)
    team.open(start)
    team.answer(start, np.searchsorted(EDGES, team.random.lognormal(6.9, 0.7, 20_000)).tolist())
    team.wait()
    team.api.post(f"/v1/campaigns/{start['id']}/share-links", json={"until": None}).raise_for_status()
    theme = team.ask("Which theme do people use?", THEMES, 50_000)
    team.open(theme)
    team.answer(theme, team.drawn([0.3, 0.5, 0.2], 12_000), hours=12)
    running.work()
    draft = team.ask("How many notes does a person keep?", NOTES, 50_000)
    running.app.state.live_counts = SharedTexts(0.0)
    console, plan = "/console/campaigns/", team.plans["Delays of flights"]
    population = running.api.get("/v1/populations").json()["populations"][0]["id"]
    return team.key, {
        "console-front": "/console/questions",
        "console-finding": f"{console}{start['id']}/estimate",
        "console-compare": f"/console/compare?left={before['id']}&right={after['id']}",
        "console-new": "/console/new",
        "console-opening": f"{console}{draft['id']}/actions/open",
        "console-campaign": f"{console}{theme['id']}",
        "console-budget": f"/console/populations/{population}",
        "console-activity": "/console/activity",
        "console-owners": f"/status/{after['id']}",
        "console-estimate": f"{console}{delays['id']}/estimate",
        "console-plan": f"/console/plans/{plan}",
        "console-answers": f"{console}{delays['id']}/answers?pick=..15&question=delay:60..",
    }


@pytest.mark.slow
def test_pictures_of_the_docs(window: Window, running: Any) -> None:
    """The questions of a small company: one is read, compared, shared, opened, watched, and priced."""
    key, pages = _world(running)
    window.sign_in(key)
    sizes = dict.fromkeys(pages, DESK) | {"console-phone": PHONE}
    for name, size in sizes.items():
        window.page.set_viewport_size(size)
        window.open(pages.get(name, pages["console-front"]))
        assert not window.unseen_pictures()
        assert not window.violations(), name
        kept = window.keep(name, 1_500)
        kept.write_bytes(with_palette(window.page.context, kept.read_bytes()))
        assert kept.stat().st_size < MOST_BYTES, name
