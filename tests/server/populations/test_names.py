"""A cap is not left by spelling: names that read alike are one, and what could pass for another is refused."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from sqlalchemy import text

from sordino_server.campaigns import service as campaigns
from sordino_server.campaigns.schemas import CampaignOrder
from sordino_server.config import Settings
from sordino_server.kit import migrations
from sordino_server.kit.db import Database
from sordino_server.models import Population, Role
from sordino_server.populations.names import check_population, folded, identifier_of
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import OpenCampaigns, Problem
from tests.server.console.conftest import Browsers

Check = Callable[..., dict[str, Any]]
ALIKE = ["Users", "USERS", "ｕｓｅｒｓ", "𝐮𝐬𝐞𝐫𝐬", "uſers", "ⓤⓢⓔⓡⓢ"]
# An invisible space, Cyrillic е and ѕ, Greek ν, phonetic ʀ and ɡ, Cherokee, Lisu, whole words of Cyrillic and of Greek;
# signs like letters, an emoji's selector behind ℹ, private use, unassigned, digits like o, a second dot on i, a letter
# struck through, a mark alone, marks of another script, one mark twice, Han and parts of Hangul like l and o, tatweel.
REFUSED = [
    "users\u200b",
    "us\u00aders",
    "us\u0435rs",
    "u\u0455ers",
    "user\u03bd",
    "useʀs",
    "ɡroup",
    "ꭰꮪ",
    "ꓴꓢ",
    "соре",
    "ΤΟΡ",
    "us℮rs",
    "user∫",
    "groupǀ",
    "₿eta",
    "usersℹ\ufe0f",
    "users\ue000",
    "users\U000f0000",
    "users\u0378",
    "users\u2800",
    "users٠",
    "us൦rs",
    "wi\u0307de",
    "use\u0337rs",
    "users \u0301x",
    "use\u093frs",
    "use\u0301\u0301rs",
    "group丨",
    "grㅇup",
    "مستخـدمون",
    "users\u20dd",
    "tasĸ",
    "users 😀",
]
TAKEN = [
    "users",
    "Élèves de 3ᵉ",
    "пользователи",
    "χρήστες",
    "東京の user",
    "한국 users",
    "उपयोगकर्ता",
    "مستخدمون",
    "group 1",
    "R&D: beta (v2.1) #3 + o'neil's_x, a-b@c",
    "人々",
    "サーバー群",
    "LINEユーザー",
    "사용자",
    "Người dùng",
    "ọ́mọ",
    "İstanbul",
    "ผู้ใช้",
    "ဂျပန်",
    "பயனர்கள்",
    "ተጠቃሚዎች",
    "משתמשים",
    "მომხმარებლები",
    "օգտատերեր",
    "អ្នកប្រើ",
    "ผู้ใช้ 2",
]
# Unicode 14's Default_Ignorable_Code_Point, but for what other rules catch before.
INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
SCRIPTS_BESIDE_LATIN = ("LATIN ", "CJK ", "IDEOGRAPHIC ITERATION", "HIRAGANA ", "KATAKANA", "HANGUL SYLLABLE ")
# Without the ideographs and the syllables of Hangul, which the slow test adds.
EVERY_BLOCK = [
    *range(0x3400),
    *range(0xA000, 0xAC00),
    *range(0xD7A4, 0x20000),
    *range(0xE0000, 0xE1000),
    0xF0000,
    0x10FFFD,
]


@pytest.mark.parametrize("name", TAKEN)
def test_the_worlds_names_are_taken(name: str) -> None:
    check_population(name)
    assert folded(folded(name)) == folded(name)


@pytest.mark.parametrize("name", ["x/y", "/", "..", ".", "a/.."])
def test_a_name_that_no_address_can_have_is_refused(running: Any, name: str) -> None:
    """Devices and monitors would find nothing under it: proxies and routes take `%2F` for a slash."""
    with pytest.raises(InvalidValue, match="divides the address"):
        check_population(name)
    check_population(name.replace("/", "-") + "x", "dataset")
    made = running.api.post("/v1/populations", json={"name": name, "epsilon_lifetime": 12})
    assert (made.status_code, "divides the address" in made.text) == (422, True)


def test_every_sign_of_a_name_comes_through_an_address(running: Any) -> None:
    [name] = [each for each in TAKEN if set(" -_.,:&+#@()'") <= set(each)]
    order = {"name": "x", "purpose": "We ask.", "population": name, "plan_request": running.ready_plan()["id"]}
    campaign = running.api.post("/v1/campaigns", json=order).raise_for_status().json()["id"]
    running.api.post(f"/v1/campaigns/{campaign}/open").raise_for_status()
    answer = running.anonymous.get(f"/v1/populations/{quote(name, safe='')}/open").raise_for_status()
    assert [str(each) for each in OpenCampaigns.read(answer.content).campaigns] == [campaign]


def leaves_a_cap(character: str) -> bool:
    """Whether a name with it is taken, and is a population of its own, though it may show as nothing or as another."""
    name = f"us{character}ers"
    try:
        check_population(name)
    except InvalidValue:
        return False
    return not all(is_seen_and_known(each) for each in folded(name))


def is_seen_and_known(character: str) -> bool:
    """ASCII, a letter of the scripts that are written beside Latin, or a mark; a table of its own, not the code's."""
    if character.isascii():
        return character.isalnum() or character in " &',./:@()+#-_"
    category, word = unicodedata.category(character), unicodedata.name(character, "")
    if INVISIBLE.match(character) or category not in ("Ll", "Lo", "Lm", "Mn"):
        return False
    if category == "Mn":
        return word.startswith("COMBINING ") and "OVERLAY" not in word and "ENCLOSING" not in word
    if word.startswith("LATIN "):
        # Letters of alphabets, with their marks, and none of phonetics.
        return unicodedata.normalize("NFD", character)[0] <= "\u017f" or character == "ə"
    return word.startswith(SCRIPTS_BESIDE_LATIN)


def test_no_code_point_leaves_a_cap() -> None:
    assert [hex(number) for number in EVERY_BLOCK if leaves_a_cap(chr(number))] == []


@pytest.mark.slow
def test_no_code_point_of_any_plane_leaves_a_cap() -> None:
    assert [hex(number) for number in range(0x110000) if leaves_a_cap(chr(number))] == []


@pytest.mark.parametrize("name", REFUSED)
def test_names_that_could_pass_for_others_are_refused(running: Any, check_problem: Check, name: str) -> None:
    with pytest.raises(InvalidValue):
        check_population(name)
    check_problem(running.api.post("/v1/populations", json={"name": name}), Problem.INVALID_REQUEST, "population")
    terms = {"name": "x", "purpose": "x", "population": name, "plan_request": running.ready_plan()["id"]}
    check_problem(running.api.post("/v1/campaigns", json=terms), Problem.INVALID_REQUEST)


@pytest.mark.parametrize("name", ALIKE)
def test_another_spelling_meets_the_same_cap(running: Any, check_problem: Check, name: str) -> None:
    running.api.post("/v1/populations", json={"name": "users", "epsilon_lifetime": "0.5"}).raise_for_status()
    check_problem(running.api.post("/v1/populations", json={"name": name}), Problem.ALREADY_EXISTS, "'users'")
    terms = {"name": "x", "purpose": "x", "population": name, "plan_request": running.ready_plan()["id"]}
    campaign = running.api.post("/v1/campaigns", json=terms).raise_for_status().json()["id"]
    check_problem(running.api.post(f"/v1/campaigns/{campaign}/open"), Problem.BUDGET_EXCEEDED, "'users'")
    assert len(running.api.get("/v1/populations").json()["populations"]) == 1


def test_where_populations_are_declared_no_other_is_asked(running: Any) -> None:
    order = {"name": "x", "purpose": "x", "population": "travellers", "plan_request": running.ready_plan()["id"]}

    def create(name: str, mode: Any) -> str:
        with running.database.write("create") as session:
            body = CampaignOrder.model_validate(order | {"name": name})
            return campaigns.create(session, body, running.clock.now(), mode).id

    def opened(campaign: str, mode: Any) -> str:
        with running.database.write("open") as session:
            return campaigns.open_campaign(running.database, session, campaign, running.clock.now(), mode).state

    with pytest.raises(InvalidValue, match="made by no admin"):
        create("early", "declared")
    early, late = create("early", "open"), create("late", "open")
    with pytest.raises(InvalidValue, match="SORDINO_POPULATIONS"):
        opened(early, "declared")
    assert opened(early, "open") == "open"
    # The population is there now, and still nobody's.
    assert not running.api.get(f"/v1/populations/{identifier_of('travellers')}").json()["declared"]
    with pytest.raises(InvalidValue, match="made by no admin"):
        opened(late, "declared")
    made = (
        running.api.post("/v1/populations", json={"name": "Travellers", "epsilon_lifetime": None})
        .raise_for_status()
        .json()
    )
    assert (made["name"], made["declared"], made["asked"]) == ("travellers", True, 1)
    assert opened(late, "declared") == "open"
    assert running.settings.population_mode == "open"


@pytest.mark.parametrize(
    ("given", "mode"),
    [
        ({}, "open"),
        ({"host": "localhost"}, "open"),
        ({"host": "127.0.1.1"}, "open"),
        ({"host": "::1"}, "open"),
        ({"host": "0.0.0.0"}, "declared"),
        ({"host": "::"}, "declared"),
        ({"host": "10.0.0.1"}, "declared"),
        ({"host": "telemetry.example"}, "declared"),
        ({"trusted_proxies": "127.0.0.1"}, "declared"),
        ({"host": "0.0.0.0", "populations": "open"}, "open"),
        ({"populations": "declared"}, "declared"),
    ],
)
def test_where_others_reach_a_server_populations_are_declared_by_default(given: dict[str, str], mode: str) -> None:
    assert Settings.model_validate(given).population_mode == mode


@pytest.mark.parametrize("engine", ["sqlite_url", "postgres_url"])
def test_an_upgrade_makes_one_of_names_that_are_alike(engine: str, request: pytest.FixtureRequest) -> None:
    database = Database(request.getfixturevalue(engine))
    migrations.upgrade(database, "202611220945")
    rows = [
        ("a" * 64, "Users", 5, 30, 9),
        ("b" * 64, "users\u200b", 7, 10, None),
        ("c" * 64, "others", None, None, None),
    ]
    with database.write("before") as session:
        for at, (identifier, name, nano, days, life) in enumerate(rows):
            row = {"id": identifier, "name": name, "nano": nano, "days": days, "life": life, "at": at}
            session.execute(
                text(
                    "INSERT INTO populations (id, name, period_nano, period_days, lifetime_nano, version, created_at)"
                    " VALUES (:id, :name, :nano, :days, :life, 1, :at)"
                ),
                row,
            )
            campaign = {"id": str(at) * 64, "population": identifier, "at": at}
            session.execute(
                text(
                    "INSERT INTO campaigns (id, name, population, manifest, state, created_at, needs_token)"
                    " VALUES (:id, 'x', 'x', :manifest, 'open', :at, FALSE)"
                ),
                campaign | {"manifest": b""},
            )
            session.execute(text("INSERT INTO population_ledger VALUES (:id, :population, 3, :at)"), campaign)
    migrations.upgrade(database)
    with database.read("after") as session:
        after = session.execute(
            text("SELECT name, id, period_nano, period_days, lifetime_nano, declared FROM populations")
        )
        found = {row.name: tuple(row)[1:] for row in after}
        owners = [
            row[0] for row in session.execute(text("SELECT population_id FROM population_ledger ORDER BY created_at"))
        ]
    users, others = identifier_of("users"), identifier_of("others")
    assert found == {"Users": (users, 5, 30, 9, True), "others": (others, None, None, None, True)}
    assert owners == [users, users, others]
    with pytest.raises(Exception, match="append-only"), database.write("forge") as session:
        session.execute(text("UPDATE population_ledger SET nano = 0"))
    migrations.downgrade(database, "202611220945")
    database.close()


def test_a_name_from_before_the_rule_stays_and_is_marked(running: Any) -> None:
    for number, name in enumerate(("us\N{ESTIMATED SYMBOL}rs", "travellers")):
        with running.database.write("as before the rule") as session:
            session.add(
                Population(id=f"{number:064x}", name=name, version=1, declared=True, created_at=number, lifetime_nano=1)
            )
    listed = running.api.get("/v1/populations").raise_for_status().json()["populations"]
    assert [each["name_problem"] is None for each in listed] == [True, False]
    one = running.api.get(f"/v1/populations/{0:064x}").raise_for_status().json()
    assert "us\N{ESTIMATED SYMBOL}rs" in one["name_problem"]
    page = Browsers(running).of(Role.ANALYST).page("/console/populations")
    assert page.count("a name of before") == 1
