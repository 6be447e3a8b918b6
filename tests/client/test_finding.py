"""Campaigns from a population's list: when it is asked, what is refused, what is joined, and what no request shows."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sordino_client import Client, PlanRefused, PlanUnavailable
from sordino_client._finding import asks_the_same
from sordino_shared.domains import Categorical, Domain, Hashed
from sordino_shared.ed25519 import verify
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import (
    CampaignServer,
    KeySignature,
    Manifest,
    ManifestSignatures,
    OpenCampaigns,
    Problem,
    signed_message,
)

DAY_S = 86_400
PRIVATE = Ed25519PrivateKey.from_private_bytes(b"\x01" * 32)
PINNED = PRIVATE.public_key().public_bytes_raw().hex()


class Listed:
    """A server with several campaigns of one population, and the list of them."""

    def __init__(self, *worlds: Any, population: str = "app users") -> None:
        self.worlds = {world.campaign: world for world in worlds}
        self.population, self.number = population, len(worlds)
        self.campaigns = tuple(sorted(self.worlds))
        self.signed: dict[Any, ManifestSignatures] = {}
        self.requests: list[httpx.Request] = []

    @property
    def paths(self) -> list[str]:
        return [request.url.raw_path.decode() for request in self.requests]

    @property
    def list(self) -> OpenCampaigns:
        return OpenCampaigns(population=self.population, number=self.number, campaigns=self.campaigns)

    def sign(self, manifest: Manifest, private: Ed25519PrivateKey = PRIVATE) -> None:
        key = KeySignature(private.public_key().public_bytes_raw(), private.sign(signed_message(manifest)))
        self.signed[manifest.campaign] = ManifestSignatures(manifest.campaign, (key,))

    def handle(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        path = request.url.path
        if path == "/v1/populations/app users/open":
            return httpx.Response(200, content=self.list.content)
        for campaign, world in self.worlds.items():
            if path == f"/v1/campaigns/{campaign}/signature":
                signed = self.signed.get(campaign)
                return (
                    world.problem(Problem.NOT_FOUND) if signed is None else httpx.Response(200, content=signed.content)
                )
            if path.startswith(f"/v1/campaigns/{campaign}"):
                return world.handle(request)
        for world in self.worlds.values():
            answer = world.handle(request)
            if answer.status_code == 200:
                return answer
        return httpx.Response(404)


@pytest.fixture
def listed(make_world: Any, make_part: Any) -> Listed:
    """Five campaigns that ask different things."""
    parts = [make_part(0.5 + number / 10) for number in range(5)]
    return Listed(*(make_world(part, purpose=f"Question {number}.") for number, part in enumerate(parts)))


def _look(client: Client, clock: Any, accept: Callable[[Manifest], bool] = lambda manifest: True, **how: Any) -> Any:
    """The look that is due next."""
    waiting = client.find("app users", accept, **how)
    assert not waiting.looked
    assert 0 < waiting.next_in_s < 2 * DAY_S
    clock.time += waiting.next_in_s
    found = client.find("app users", accept, **how)
    assert found.looked
    return found


def test_all_manifests_are_fetched_before_the_app_is_asked_and_at_most_three_are_joined(
    listed: Listed, make_client: Any, clock: Any
) -> None:
    client, seen = make_client(listed), []

    def accept(manifest: Manifest) -> bool:
        assert listed.paths == [
            "/v1/populations/app%20users/open",
            *(f"/v1/campaigns/{campaign}" for campaign in listed.campaigns),
        ]
        seen.append(manifest.campaign)
        return True

    found = _look(client, clock, accept)
    assert tuple(seen) == listed.campaigns
    assert (found.joined, found.postponed) == (listed.campaigns[:3], listed.campaigns[3:])
    account = client.account()
    assert [each.found for each in account.campaigns] == ["app users"] * 3
    assert "found in the list of:\n  > app users" in str(account)
    for request in listed.requests:
        assert not request.url.query
        assert not {"cookie", "if-none-match", "if-modified-since", "if-match"} & set(request.headers)
    for campaign in found.joined:
        assert client.answer(campaign, "red").status == "recorded"
    # The next ones in the next period, and the owner's own are not counted.
    assert _look(client, clock).postponed == listed.campaigns[3:]
    clock.time += 30 * DAY_S
    assert client.find("app users", lambda manifest: True).joined == listed.campaigns[3:]


def test_a_task_that_contradicts_an_earlier_one_ends_no_look(
    listed: Listed, make_client: Any, clock: Any, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process of the app has read another task between joining and fetching ahead; `answer` tells it."""
    first, *others = listed.campaigns[:3]
    handle = listed.handle

    def beside_another(request: httpx.Request) -> httpx.Response:
        if request.url.path == f"/v1/campaigns/{first}/task":
            with sqlite3.connect(ledger) as connection:
                connection.execute(
                    "INSERT INTO pinned_plans VALUES (?, 0, zeroblob(32)) ON CONFLICT DO NOTHING", (bytes(first),)
                )
        return handle(request)

    monkeypatch.setattr(listed, "handle", beside_another)
    client = make_client(listed)
    assert _look(client, clock).joined == (first, *others)
    with pytest.raises(PlanRefused):
        client.answer(first, "red")
    assert [client.answer(each, "red").status for each in others] == ["recorded"] * 2


def test_the_time_is_uniform_in_a_day_and_one_request_is_made_in_each(
    listed: Listed, make_client: Any, clock: Any
) -> None:
    """200 first times, by the Kolmogorov–Smirnov distance: 2e-7 false alarms at .2 (Massart); half a day has .5."""
    times = []
    for _ in range(200):
        client = make_client(listed, ledger=":memory:")
        times.append(client.find("app users", bool).next_in_s / DAY_S)
        client.close()
    ordered = sorted(times)
    assert max(abs((rank + 0.5) / 200 - time) for rank, time in enumerate(ordered)) < 0.2
    client, begun = make_client(listed), clock.time
    looks = []
    client.find("app users", lambda manifest: False)
    for hour in range(24 * 10):
        clock.time = begun + 3600 * hour
        if client.find("app users", lambda manifest: False).looked:
            looks.append(hour / 24)
    assert [int(day) for day in looks] == list(range(len(looks)))
    assert len(looks) >= 9


def test_requests_do_not_depend_on_what_is_decided_or_held(
    listed: Listed, make_world: Any, make_client: Any, clock: Any, ledger: Any
) -> None:
    """Until the app is asked, and on every later day, a device that joined all asks what one that joined none does."""
    begun, paths = clock.time, []
    for number, verdict in enumerate((True, False)):
        clock.time, listed.requests = begun, []
        client = make_client(listed, ledger=f"{ledger}{number}", joins_per_period=9)
        _look(client, clock, lambda manifest, verdict=verdict: verdict)
        for campaign in listed.campaigns if verdict else ():
            client.answer(campaign, "blue")
        first = listed.paths[:6]
        listed.requests = []
        _look(client, clock, lambda manifest: False)
        paths.append((first, listed.paths))
    assert paths[0] == paths[1]
    assert len(paths[0][1]) == 6


def test_an_older_list_and_another_one_of_the_same_number_are_refused(
    listed: Listed, make_client: Any, clock: Any
) -> None:
    client = make_client(listed)
    _look(client, clock, lambda manifest: False)
    for number, campaigns, why in ((4, (), "number is 4, and 5 was seen"), (5, listed.campaigns[1:], "another list")):
        listed.number, kept = number, listed.campaigns
        listed.campaigns = campaigns
        with pytest.raises(PlanRefused, match=why):
            _look(client, clock)
        listed.number, listed.campaigns = 5, kept
    assert client.account().campaigns == ()
    listed.number = 6
    assert len(_look(client, clock).joined) == 3


@pytest.mark.parametrize("fault", ["population", "other_manifest", "rounds", "list_of_another", "no_document"])
def test_a_list_that_is_not_what_it_should_be_joins_nothing(
    fault: str, listed: Listed, make_world: Any, make_client: Any, clock: Any
) -> None:
    last = listed.worlds[listed.campaigns[-1]]
    manifest, handle = last.manifest, listed.handle
    if fault == "other_manifest":
        last.manifest_content = replace(manifest, name="another").content
    if fault == "list_of_another":
        listed.population = "others"
    if fault in ("population", "rounds"):
        two = manifest.rounds * 2
        terms = {"population": "others"} if fault == "population" else {"rounds": two, "device_guarantee": 2}
        if fault == "rounds":
            terms["device_guarantee"] = replace(manifest.device_guarantee, nano=2 * manifest.device_guarantee.nano)
        listed = Listed(*listed.worlds.values(), make_world(**terms))
        handle = listed.handle
    if fault == "no_document":
        listed.handle = lambda r: httpx.Response(200, content=b"\xa0") if "open" in r.url.path else handle(r)
    client, asked = make_client(listed), []
    with pytest.raises(PlanRefused):
        _look(client, clock, lambda manifest: bool(asked.append(manifest)))
    assert (asked, client.account().campaigns) == ([], ())


def test_a_list_that_nobody_answers_is_asked_again_at_once_and_an_error_another_day(
    listed: Listed, make_client: Any, clock: Any
) -> None:
    handle, client = listed.handle, make_client(listed)
    answers: list[Any] = [httpx.ConnectError("offline"), httpx.Response(503)]

    def fail(request: httpx.Request) -> httpx.Response:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    listed.handle = fail
    clock.time += client.find("app users", bool).next_in_s
    for _ in range(2):
        with pytest.raises(PlanUnavailable):
            client.find("app users", bool)
    listed.handle = handle
    assert not client.find("app users", bool).looked
    assert len(_look(client, clock).joined) == 3


def test_two_campaigns_that_ask_the_same_count_as_one(make_world: Any, make_client: Any, clock: Any) -> None:
    """Also where the first was named by the app or the owner left it; the app may say otherwise."""
    worlds = [make_world(purpose="Which  Colour?"), make_world(purpose="which colour?", created_at=5)]
    listed = Listed(*worlds)
    client = make_client(listed)
    found = _look(client, clock)
    assert (found.joined, found.repeated) == (listed.campaigns[:1], listed.campaigns[1:])
    client.opt_out(found.joined[0])
    assert _look(client, clock).repeated == listed.campaigns[1:]
    assert _look(client, clock, allow_repeats=True).joined == listed.campaigns[1:]


def test_the_same_question_is_told_by_domain_and_plan_or_words(make_world: Any, make_part: Any) -> None:
    manifest = make_world().manifest
    assert asks_the_same(manifest, replace(manifest, purpose="Something else.", name="x"))
    other_plan = replace(make_world(make_part(0.5)).manifest, purpose=manifest.purpose)
    assert asks_the_same(manifest, other_plan)
    assert not asks_the_same(manifest, replace(other_plan, purpose="Something else."))
    wider = Domain((Categorical("colour", ("red", "green", "blue", "black"), other=True),))
    assert not asks_the_same(manifest, replace(make_world(make_part(domain=wider)).manifest))
    salted = [Domain((Hashed("word", 8, salt=bytes([number]) * 16),)) for number in (1, 2)]
    one, two = (replace(manifest, domain=domain) for domain in salted)
    assert asks_the_same(one, two)


def test_an_app_that_pins_keys_joins_what_one_of_them_signed(
    listed: Listed, make_client: Any, clock: Any, ledger: Any
) -> None:
    """Unsigned, by another key, a signature of another campaign, or one that was changed: none is asked about."""
    manifests = [listed.worlds[campaign].manifest for campaign in listed.campaigns]
    for manifest in manifests:
        listed.sign(manifest)
    listed.signed.pop(manifests[1].campaign)
    listed.sign(manifests[2], Ed25519PrivateKey.from_private_bytes(b"\x02" * 32))
    wrong = listed.signed[manifests[0].campaign]
    listed.signed[manifests[3].campaign] = wrong
    [signed] = listed.signed[manifests[4].campaign].signatures
    changed = replace(signed, signature=signed.signature[:-1] + bytes([signed.signature[-1] ^ 1]))
    listed.signed[manifests[4].campaign] = ManifestSignatures(manifests[4].campaign, (changed,))
    client = make_client(listed, manifest_keys=("00" * 32, PINNED))
    found = _look(client, clock)
    assert (found.joined, found.refused) == (listed.campaigns[:1], listed.campaigns[1:])
    with pytest.raises(PlanRefused, match="nobody signed the manifest"):
        client.join(listed.campaigns[1])
    with pytest.raises(PlanRefused, match="none of the keys that this app pins"):
        client.join(listed.campaigns[2])
    assert make_client(listed, ledger=f"{ledger}2").join(listed.campaigns[2]).id == listed.campaigns[2]


def test_signatures_hold_as_the_vectors_say() -> None:
    vectors = json.loads((Path(__file__).parents[1] / "vectors/v1/good/signatures.json").read_text())
    manifest = Manifest.read(bytes.fromhex(vectors["manifest"]))
    assert signed_message(manifest).hex() == vectors["message"]
    for each in vectors["vectors"]:
        found = verify(*(bytes.fromhex(text) for text in (each["key"], each["signature"], vectors["message"])))
        assert found is each["holds"], each["name"]


def test_a_campaign_of_other_servers_is_not_joined(make_world: Any, make_client: Any, clock: Any) -> None:
    """One names this server, the other one two others; the app is asked about the first alone."""
    here = (CampaignServer("eu", ("https://telemetry.example",)), CampaignServer("us", ("https://us.example",)))
    elsewhere = (CampaignServer("us", ("https://us.example",)),)
    worlds = [make_world(servers=servers) for servers in (here, elsewhere)]
    listed = Listed(*worlds)
    client = make_client(listed)
    found = _look(client, clock)
    assert (found.joined, found.refused) == ((worlds[0].campaign,), (worlds[1].campaign,))
    assert client.answer(worlds[0].campaign, "red").status.value == "recorded"


@pytest.mark.parametrize("keys", [("00" * 32,) * 2, ("ab",), (PINNED.upper(),), tuple(f"{n:064x}" for n in range(5))])
def test_keys_that_are_none_are_refused(keys: tuple[str, ...], make_client: Any) -> None:
    with pytest.raises(InvalidValue, match="up to 4 different Ed25519 keys"):
        make_client(manifest_keys=keys)


def test_bad_names_and_verdicts_are_refused(listed: Listed, make_client: Any, clock: Any) -> None:
    client = make_client(listed)
    for name in ("", "..", "a/b"):
        with pytest.raises(InvalidValue, match="without '/'"):
            client.find(name, bool)
    with pytest.raises(InvalidValue, match="accept returns True or False, got None"):
        _look(client, clock, lambda manifest: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(TypeError, match="accept"):
        client.find("app users")
    assert client.account().campaigns == ()
