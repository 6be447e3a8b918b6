"""`GET /v1/questions`: the tiles of the first page, from stored headlines alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from sordino_analysis.answers.headline import Headline
from sordino_server import models
from sordino_server.models import Role
from tests.conftest import OPENED_AT, StoredRound
from tests.server.console.conftest import Browsers
from tests.server.console.test_question_pages import MOST_BYTES, answered
from tests.server.console.test_statements import server, statements

__all__ = ["server"]

PATH, PAGE = "/v1/questions", "/console/questions"
# The key, campaigns, their rounds with counts, and how many there are in each state.
MOST_STATEMENTS = 4
MANY = 500
# As large a picture as a headline has.
STEPS = [
    (round(1.37**place, 3), round(place / 24, 4), round(place / 25, 4), round(place / 22, 4)) for place in range(24)
]


def fill(server: Any, store_round: Callable[..., StoredRound], count: int) -> None:
    """So many closed campaigns with an answer of 24 steps, each with a round of three reports."""
    sentence = f"Most start within two seconds, at every step of the curve: {STEPS[9][1]:.1%} ± 2.1"
    headline = Headline(sentences=(sentence,), number="37.5 % ± 2.1", label="2 s", form="steps", points=tuple(STEPS))
    first = store_round(server.database)
    with server.database.write("test rows") as session:
        campaign, opened = session.get(models.Campaign, first.campaign), session.get(models.Round, first.id)
        terms = {"manifest": campaign.manifest, "population": "p", "state": "closed", "kind": "linear"}
        # Its part of a plan is all that is wanted.
        campaign.archived_at = OPENED_AT
        for number in range(count):
            identifier, moment = f"{number:064x}", OPENED_AT + number
            session.add(
                models.Campaign(
                    id=identifier, name=f"app start of week {number}", created_at=moment, closed_at=moment,
                    headline=headline.content(), **terms,
                )
            )  # fmt: skip
            row = models.Round(
                campaign_id=identifier, index=0, device_digest=opened.device_digest, state="estimated",
                analyst_digest=opened.analyst_digest, epoch=0,
            )  # fmt: skip
            session.add(row)
            session.flush()
            session.add(models.Accumulator(round_id=row.id, shard="writer", count=3, sums=b""))


def test_five_hundred_questions_take_four_statements_and_no_estimate(
    server: Any, store_round: Callable[..., StoredRound]
) -> None:
    fill(server, store_round, MANY)
    browsers = Browsers(server)
    browser = browsers.of(Role.ANALYST)
    for ask in (lambda: server.api.get(PATH).text, lambda: browser.page(PAGE)):
        # The first request looks more up.
        ask()
        with statements(server) as sent:
            content = ask()
        assert len(sent) <= MOST_STATEMENTS, sent
        assert not any("estimates" in each for each in sent)
        assert len(content.encode()) <= (2 * MOST_BYTES if content.startswith("{") else MOST_BYTES)
    browsers.close()
    names, token = [], ""
    while token is not None:
        shown = server.api.get(PATH, params={"page_token": token} if token else {}).raise_for_status().json()
        names += [(each["name"], each["devices"]) for each in shown["questions"]]
        token = shown["next_page_token"]
    assert names == [(f"app start of week {number}", 3) for number in reversed(range(MANY))]
    assert shown["counts"] == {"all": MANY, "answered": MANY, "collecting": 0, "drafts": 0, "cancelled": 0}


def test_the_api_and_the_page_say_the_same(running: Any, browsers: Any) -> None:
    told = answered(running, "late trains", [0] * 600 + [1] * 300 + [3] * 100)
    running.campaign("open", "cancel", name="late planes")
    running.campaign(name="late buses")
    shown = running.api.get(PATH).raise_for_status().json()
    tiles = {each["name"]: each for each in shown["questions"]}
    assert json.loads(browsers.of(Role.ANALYST).page(PAGE + ".json")) == shown
    finding = running.api.get(f"/v1/campaigns/{told}/finding").json()
    assert tiles["late trains"]["headline"]["sentences"] == finding["sentences"]
    assert tiles["late trains"]["path"] == f"/console/campaigns/{told}/estimate"
    assert tiles["late planes"]["says"] == "0 devices answered; no result is shown"
    assert tiles["late buses"]["headline"] is None
    for show, name in (("answered", "late trains"), ("cancelled", "late planes"), ("drafts", "late buses")):
        [only] = running.api.get(PATH, params={"show": show}).json()["questions"]
        assert only["name"] == name
        assert shown["counts"][show] == 1
    running.api.post(f"/v1/campaigns/{told}/archive").raise_for_status()
    assert running.api.get(PATH).json()["counts"]["all"] == 2


@pytest.mark.parametrize(
    ("unit", "said"), [({"unit": "ms"}, r"expected error 1,\d{3} ms with 1,000"), ({}, "of the range with")]
)
def test_the_error_of_a_mean_is_in_its_unit(running: Any, unit: dict[str, str], said: str) -> None:
    attribute = {"name": "start", "kind": "integers", "low": 0, "high": 60_000} | unit
    asked = {"name": "m", "domain": [attribute], "queries": {"start": ["mean"]}}
    running.campaign(workload=running.workload(asked), mechanism=None, users=1000)
    [tile] = running.api.get(PATH).json()["questions"]
    assert re.search(said, tile["says"]), tile["says"]
    share = re.search(r"([\d.]+) % of", tile["says"])
    # One report changes a mean by its whole range at most: with 1,000 of ε = 1 about 3 %.
    assert unit or (share and 2 < float(share[1]) < 5), tile["says"]


def test_who_may_read_questions(running: Any) -> None:
    for role in Role:
        if role in (Role.AGGREGATOR, Role.SHUFFLER, Role.ISSUER):
            continue
        with running.client(running.key(role)) as client:
            expected = 403 if role is Role.UPLOADER else 200
            assert client.get(PATH).status_code == expected, role
    assert running.anonymous.get(PATH).status_code == 401


@pytest.mark.parametrize("wrong", ["page_size=61", "page_size=0", "show=none", "page_token=x", "since=1"])
def test_bad_parameters_are_named(running: Any, wrong: str) -> None:
    refused = running.api.get(f"{PATH}?{wrong}")
    assert refused.status_code == 422
    assert wrong.partition("=")[0] in refused.text


def test_the_command_prints_the_tiles(running: Any, run_command: Any, json_of: Any) -> None:
    answered(running, "late [b]trains[/b]", [0] * 600 + [1] * 300 + [3] * 100)
    running.campaign(name="late buses")
    operator = {"SORDINO_SERVER": running.address, "SORDINO_KEY": running.admin_key}
    assert json_of("questions", **operator)["questions"] == running.api.get(PATH).json()["questions"]
    assert len(json_of("questions", "--limit", "1", **operator)["questions"]) == 1
    text = run_command("questions", "--show", "answered", **operator).stdout
    tile = running.api.get(PATH, params={"show": "answered"}).json()["questions"][0]
    assert f"{tile['number']} {tile['error']}" in text
    assert "late [b]trains[/b]" in text
    assert "late buses" not in text
    assert "show" in run_command("questions", "--show", "none", code=2, **operator).stderr
