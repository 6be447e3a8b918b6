"""Every number of a card is the API's, the eleven questions have answers, and what nothing states is not stated."""

from __future__ import annotations

import json
import math
from html import unescape
from pathlib import Path
from typing import Any, get_args

import pytest

from sordino_server.cards import dpia, page
from sordino_server.cards.recipients import _BY_ROUTE
from sordino_server.cards.schemas import NOT_STATED, Card
from sordino_server.models import Role
from sordino_server.populations.names import identifier_of
from sordino_shared.odds import odds, share
from sordino_shared.protocol import Problem
from sordino_shared.protocol.routes import Route
from tests.server.campaigns.test_reports_end import WORDS, created
from tests.server.console.conftest import Browsers
from tests.server.experiments.test_experiments import order_of
from tests.server.shuffled.collected import shuffled_campaign
from tests.server.shuffled.test_shuffled_tokens import GATE

ROOT = Path(__file__).parents[3]
# By number, as docs/cards.md lists them: the fields that answer each question.
ELEVEN = (
    ("name", "contact"),
    ("purpose", "question"),
    ("population", "opened", "closed"),
    ("attributes", "randomised"),
    ("guarantee", "unit", "neighbours"),
    ("epsilon_report",),
    ("epsilon_period", "epsilon_life", "cap_life", "spent", "not_summed"),
    ("recipients", "unprotected"),
    ("retention", "kept", "device"),
    ("error", "users", "fake", "admitted"),
    ("proved", "audit", "manifest_digest", "log", "review"),
)


def card_of(running: Any, campaign: str) -> dict[str, Any]:
    document: dict[str, Any] = running.api.get(f"/v1/campaigns/{campaign}/card").raise_for_status().json()
    return document


def fields(card: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = [field for part in card["parts"] for field in part["fields"]]
    assert len({field["name"] for field in found}) == len(found)
    return {field["name"]: field for field in found}


def documents(running: Any, campaign: str) -> dict[str, Any]:
    """What the API has of a campaign, as each endpoint returns it."""

    def got(path: str) -> Any:
        return running.api.get(path, headers={"Accept": "application/json"}).raise_for_status().json()

    status, manifest = got(f"/v1/campaigns/{campaign}/status"), got(f"/v1/campaigns/{campaign}")
    plan = got(f"/v1/plan-requests/{status['question']['plan_request']}")
    population = running.api.get(f"/v1/populations/{identifier_of(manifest['population'])}")
    known = population.json() if population.status_code == 200 else None
    return {"manifest": manifest, "status": status, "plan": plan, "population": known}


def differing(card: dict[str, Any], known: dict[str, Any]) -> list[str]:
    """Names of fields whose value is not that of the API at their source."""
    wrong = []
    for name, field in fields(card).items():
        document, _, pointer = (field["source"] or "").partition(":")
        if not pointer or pointer == "/assignment":
            continue
        found = known[document]
        for step in pointer.split("/")[1:]:
            found = found[int(step)] if isinstance(found, list) else found[step]
        if field["value"] != (found / 10**9 if pointer.endswith("/nano") else found):
            wrong.append(name)
    return wrong


def closed_campaign(running: Any, **order: Any) -> str:
    running.api.post("/v1/populations", json={"name": "travellers", "epsilon_lifetime": "12"}).raise_for_status()
    campaign = running.campaign("open", users=1000, **order)
    running.report(campaign, [0, 1, 2, 3] * 50).raise_for_status()
    running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    running.work()
    return str(campaign["id"])


def test_every_number_is_that_of_the_api(running: Any) -> None:
    campaign = closed_campaign(running)
    card, known = card_of(running, campaign), documents(running, campaign)
    assert differing(card, known) == []
    with_pointers = [each for each in fields(card).values() if ":" in (each["source"] or "")]
    assert len(with_pointers) > 20
    assert (fields(card)["users"]["value"], fields(card)["spent"]["value"]) == (200, 1)
    # A card with another number is told apart.
    fields(card)["error"]["value"] *= 1.01
    assert differing(card, known) == ["error"]


def test_epsilon_in_words_is_rounded_up_in_integers(running: Any) -> None:
    found = fields(card_of(running, running.campaign("open", epsilon="0.7")["id"]))
    for name in ("epsilon_report", "epsilon_life", "epsilon_period"):
        nano = math.ceil(round(found[name]["value"] * 1e9, 3))
        assert f"{odds(nano)}-fold" in found[name]["text"]
        assert f"{share(nano)} %" in found[name]["text"]
    assert found["proved"]["value"] <= found["epsilon_report"]["value"] == 0.7


@pytest.mark.parametrize(("epsilon", "said"), [("1", "within"), ("1.5", "above"), ("13", "above")])
def test_caps_of_a_period_and_for_life_are_both_advised(running: Any, epsilon: str, said: str) -> None:
    found = fields(card_of(running, running.campaign("open", epsilon=epsilon)["id"]))
    assert found["advised_caps"]["text"] == f"ε 1 in 28 days and 12 for life; the campaign is {said} it"


def test_the_eleven_questions_have_answers(running: Any) -> None:
    found = fields(card_of(running, closed_campaign(running)))
    rows = (ROOT / "docs" / "cards.md").read_text(encoding="utf-8")
    for number, names in enumerate(ELEVEN, start=1):
        assert any(found[name]["source"] for name in names), number
        row = next(line for line in rows.splitlines() if line.startswith(f"| {number}. "))
        assert all(f"`{name}`" in row for name in names), number


def test_nine_of_ten_fields_are_filled_without_typing(running: Any) -> None:
    found = fields(card_of(running, closed_campaign(running)))
    unstated = [name for name, field in found.items() if field["source"] is None]
    assert len(unstated) <= 0.1 * len(found)
    assert unstated == ["contact", "audit", "log"]
    assert all(found[name]["text"].startswith(NOT_STATED) and found[name]["value"] is None for name in unstated)


def test_the_same_state_makes_the_same_bytes(running: Any) -> None:
    campaign = closed_campaign(running)
    first = running.api.get(f"/v1/campaigns/{campaign}/card").content
    assert running.api.get(f"/v1/campaigns/{campaign}/card").content == first
    card = Card.model_validate_json(first)
    assert page.page(card) == page.page(Card.model_validate_json(first))
    html = page.page(card)
    assert "<script" not in html
    assert "http:" not in html
    assert "https:" not in html


def test_text_of_people_is_text(running: Any) -> None:
    campaign = running.campaign(name="<script>alert(1)</script>")
    card = Card.model_validate(card_of(running, campaign["id"]))
    assert "<script>" not in page.page(card)
    assert "&lt;script&gt;" in page.page(card)


def test_settings_name_contact_and_review(running: Any) -> None:
    campaign = running.campaign()["id"]
    settings = vars(running.app.state.context.settings)
    settings.update(
        card_contact="dpo@example.org", card_review="Example Lab, 2026", raw_report_retention_days="forever"
    )
    found = fields(card_of(running, campaign))
    assert (found["contact"]["value"], found["review"]["value"]) == ("dpo@example.org", "Example Lab, 2026")
    assert (found["retention"]["value"], found["retention"]["text"]) == (None, "kept without an end")
    assert found["cap_life"]["text"] == "no cap of the population"


def test_the_assessment_has_every_field_it_names(running: Any) -> None:
    page_of_docs = (ROOT / "docs" / "dpia.md").read_text(encoding="utf-8")
    assert page_of_docs == dpia.template() + "\nTerms: [glossary](glossary.md).\n"
    text = dpia.filled(Card.model_validate(card_of(running, closed_campaign(running))))
    assert "{" not in text
    assert "We ask how late you were." in text
    assert "operator of the server: address" in text
    assert "deleted 30 days after the campaign ends" in text


def test_the_schema_is_that_of_the_code() -> None:
    written = json.loads((ROOT / "docs" / "card.schema.json").read_text(encoding="utf-8"))
    assert {name: value for name, value in written.items() if name != "$schema"} == Card.model_json_schema()


@pytest.mark.parametrize(
    ("terms", "said", "source"),
    [
        ({"gate": {"kind": "address", "per_day": 5}}, "a network address gets 5 a day", "status:/gate"),
        ({"gate": {"kind": "account", "per_day": None}}, "keyed hash of the account", "status:/gate"),
        ({"gate": {"kind": "hook", "per_day": None}}, "a program of the server's operator", "status:/gate"),
        ({"upload_token": True}, "the same on all of them", "status:/needs_token"),
        ({}, "anybody who knows the campaign's id", "status:/needs_token"),
    ],
)
def test_a_card_and_the_console_say_whose_reports_count(
    running: Any, terms: dict[str, Any], said: str, source: str
) -> None:
    vars(running.app.state.context.settings)["token_hook"] = Path("/bin/true")
    order = {"name": "late", "purpose": "We ask.", "population": "travellers", **terms}
    order["plan_request"] = running.ready_plan()["id"]
    campaign = running.api.post("/v1/campaigns", json=order).raise_for_status().json()["id"]
    card = card_of(running, campaign)
    assert differing(card, documents(running, campaign)) == []
    admitted = fields(card)["admitted"]
    assert (said in admitted["text"], admitted["source"]) == (True, source)
    page = unescape(Browsers(running).of(Role.ANALYST).page(f"/console/campaigns/{campaign}"))
    assert ("gate" in terms) is ("<dt>Tokens</dt>" in page) is (admitted["text"] in page)


SERIES = {"period_s": 86400, "slots": 3, "answers_max": 2, "value_of": "current", "late_s": 0}


@pytest.mark.parametrize("kind", ["strings", "series", "experiment"])
def test_cards_of_every_kind_are_whole(running: Any, kind: str) -> None:
    made = {
        "strings": lambda: created(running, WORDS),
        "series": lambda: created(running, None, series=SERIES),
        "experiment": lambda: running.api.post("/v1/campaigns", json=order_of(running)).raise_for_status().json(),
    }[kind]()
    card = card_of(running, made["id"])
    assert differing(card, documents(running, made["id"])) == []
    found = fields(card)
    assert [name for name, field in found.items() if field["source"] is None] == ["contact", "audit", "log"]
    assert ("arms" in found) is ("which arm" in found["unprotected"]["text"]) is (kind == "experiment")
    if kind == "experiment":
        assert found["arms"]["text"] == "A (50.0 % of devices), B (50.0 % of devices); a device draws its arm itself"


def test_the_card_of_a_campaign_with_a_shuffler_and_tokens_is_whole(migrated_sqlite_url: str, tmp_path: Path) -> None:
    with shuffled_campaign(migrated_sqlite_url, tmp_path / "keys", changes=GATE) as shuffled:
        campaign = shuffled.campaign["id"]
        card = card_of(shuffled.home, campaign)
        assert differing(card, documents(shuffled.home, campaign)) == []
    found = fields(card)
    assert "a network address gets 3 a day" in found["admitted"]["text"]
    assert "operator of the server: address no" in found["recipients"]["text"]
    assert "as long as shuffler and collector do not collude" in found["epsilon_collector"]["text"]


def test_every_route_has_its_table_of_recipients() -> None:
    assert {each.kind for each in get_args(Route)} == set(_BY_ROUTE)


def test_who_may_read_a_card(running: Any, check_problem: Any) -> None:
    campaign = running.campaign("open")["id"]
    check_problem(running.anonymous.get(f"/v1/campaigns/{campaign}/card"), Problem.UNAUTHORIZED)
    with running.client(running.key(Role.ANALYST)) as analyst:
        assert analyst.get(f"/v1/campaigns/{campaign}/card").status_code == 200
    check_problem(running.api.get(f"/v1/campaigns/{'0' * 64}/card"), Problem.NOT_FOUND)


def test_a_public_card_leaves_out_what_the_population_spent(running: Any) -> None:
    terms = {"name": "late", "purpose": "We ask.", "population": "travellers", "public": True}
    terms["plan_request"] = running.ready_plan()["id"]
    campaign = running.api.post("/v1/campaigns", json=terms).raise_for_status().json()["id"]
    assert running.anonymous.get(f"/status/{campaign}/card").status_code == 404
    running.api.post(f"/v1/campaigns/{campaign}/open").raise_for_status()
    running.clock.advance(60)
    assert f'href="/status/{campaign}/card"' in running.anonymous.get(f"/status/{campaign}").text
    shown = running.anonymous.get(f"/status/{campaign}/card")
    assert shown.status_code == 200
    assert 'id="recipients"' in shown.text
    assert 'id="accounting"' not in shown.text
    assert "script-src" not in shown.headers["Content-Security-Policy"]
    assert "default-src 'none'" in shown.headers["Content-Security-Policy"]


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_the_card_of_a_dataset(running: Any, neighbours: str) -> None:
    order = {
        "name": "flights",
        "domain": [{"name": "delay", "kind": "ordinal", "edges": [0, 15]}],
        "neighbours": neighbours,
        "cap": {"rho": "0.5"},
        "columns": {"delay": [1, 20, 3]},
    }
    made = running.api.post("/v1/datasets", json=order, headers={"Idempotency-Key": "a"}).raise_for_status().json()
    card = running.api.get(f"/v1/datasets/{made['id']}/card").raise_for_status().json()
    document = running.api.get(f"/v1/datasets/{made['id']}").raise_for_status().json()
    assert differing(card, {"dataset": document}) == []
    found = fields(card)
    assert found["cap"]["value"] == 0.5
    assert "secret" in found["rows"]["text" if neighbours == "add-remove" else "title"] or found["rows"]["value"] == 3
    assert "one row" in found["neighbours"]["text"] or "a row more" in found["neighbours"]["text"]
