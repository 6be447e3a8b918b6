"""No answer of a campaign is a share below 0 or above 1, whoever reads it; the unbiased answer has its own field."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import Any

import pytest

from sordino_server.console.shared_texts import SharedTexts
from sordino_server.models import Role
from tests.estimates import answers_of, ends_of

TERMS = {"name": "delays", "purpose": "We ask how late you were.", "population": "travellers"}
ENDS = ("lower", "upper", "band_lower", "band_upper", "population_lower", "population_upper")
MEAN = {
    "name": "waiting",
    "domain": [{"name": "wait", "kind": "ordinal", "unit": "ms", "edges": [500, 1000, 2000]}],
    "queries": {"matrix": [[250, 750, 1500, 2500], [0, 0, 1, 1]], "labels": ["mean", "slow"]},
}


@pytest.fixture
def closed(running: Any) -> dict[str, Any]:
    """A public campaign whose four users all hold the least value, which reports overshoot."""
    running.app.state.public_texts = SharedTexts(0.0)
    terms = {**TERMS, "plan_request": running.ready_plan()["id"], "public": True}
    campaign: dict[str, Any] = running.api.post("/v1/campaigns", json=terms).json()
    running.api.post(f"/v1/campaigns/{campaign['id']}/open").raise_for_status()
    running.report(campaign, [0] * 4)
    running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    running.work()
    return campaign


def values(rows: list[dict[str, Any]]) -> Iterator[float]:
    for row in rows:
        yield row["value"]
        for prefix in ("", "band_", "population_"):
            yield from ends_of(row, prefix)


def test_shares_of_every_answer_lie_between_0_and_1(running: Any, closed: dict[str, Any]) -> None:
    path = f"/v1/campaigns/{closed['id']}"
    queries = answers_of(running.api.get(f"{path}/estimates").json())
    asked = answers_of(running.api.get(f"{path}/answers", params={"range": ["..0", "0..", "..15"]}).json())
    for rows in (queries, asked):
        assert all(0 <= value <= 1 for value in values(rows))
        assert any(not 0 <= row["uncut"] <= 1 for row in rows)
        assert all(row["value"] == min(1, max(0, row["uncut"])) for row in rows)
    assert {row["unit"] for row in queries} == {"share"}
    for address in (f"{path}/estimates?format=csv", f"{path}/answers?range=..0&format=csv"):
        for row in csv.DictReader(io.StringIO(running.api.get(address).text)):
            assert row["unit"] == "share"
            assert all(0 <= float(row[end]) <= 1 for end in ("value", *ENDS))
            assert float(row["uncut"]) == next(
                each["uncut"] for each in (*queries, *asked) if each["label"] == row["label"]
            )


def test_pages_show_no_share_below_nothing(running: Any, closed: dict[str, Any], browsers: Any) -> None:
    console = browsers.of(Role.ANALYST)
    public = running.anonymous.get(f"/status/{closed['id']}").raise_for_status().text
    # Above it are the chances of what a device sends.
    public = public[public.index("What we learned") :]
    pages = [
        public,
        console.page(f"/console/campaigns/{closed['id']}/estimate"),
        console.page(f"/console/campaigns/{closed['id']}/answers?kind=range&question=..0&question=0.."),
    ]
    for text in pages:
        table = text[text.index("<tbody>") : text.index("</tbody>")]
        assert re.search(r"\b100(\.0+)? %", table)
        assert "−" not in table
        assert "-" not in table.replace("scope=", "")
        assert "101" not in table
    picture = running.anonymous.get(f"/status/{closed['id']}/estimate.svg").text
    assert ">100 %<" in picture
    assert ">120 %<" not in picture
    assert ">−20 %<" not in picture


def test_a_mean_is_written_in_its_unit(running: Any, browsers: Any) -> None:
    campaign = running.campaign("open", workload=running.workload(MEAN))
    running.report(campaign, [0, 1, 2, 3] * 500)
    running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    running.work()
    mean, slow = answers_of(running.api.get(f"/v1/campaigns/{campaign['id']}/estimates").json())
    assert (mean["unit"], slow["unit"]) == ("ms", "share")
    assert mean["value"] == mean["uncut"]
    assert 500 < mean["value"] < 2000
    page = browsers.of(Role.ANALYST).page(f"/console/campaigns/{campaign['id']}/estimate")
    row = page[page.index(">mean</th>") :]
    assert " ms</td>" in row[: row.index("</tr>")]
    # The last cell says how often the interval holds.
    assert row[: row.index("</tr>")].count("%") == 1
