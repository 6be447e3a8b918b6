"""A device in a shuffled campaign: what it refuses, what it seals, and that nothing of it goes another way."""

from __future__ import annotations

import random
import re
import sys
import time
from dataclasses import replace
from typing import Any

import httpx
import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from scipy.stats import ttest_ind

from sordino_analysis.vectorized.arrays import array_of
from sordino_client import PlanRefused, PlanUnavailable, ServerChanged
from sordino_client._session import verify_part
from sordino_client._shuffled import check_headline, sealed_report
from sordino_shared import sealing
from sordino_shared.domains import Domain, Integers
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import (
    Arm,
    CollectorKey,
    DevicePart,
    PrivacyClaim,
    Problem,
    SealedOutcomes,
    SealedReports,
    ShuffledRoute,
    Shuffler,
)
from sordino_shared.protocol.sealed import sealed_width, sealing_info
from sordino_shared.randomizers import DenseRows, Dithered, FiniteKernel, RandomizedResponse
from sordino_shared.shuffling import claims
from sordino_shared.shuffling.claims import bound_of, least_claim
from tests.client.conftest import ADDRESS, CAPS, SERIES_CAPS, WEEKLY, Phase, World, device_part

END = 1_800_000_000 + 86_400
BLANKET = 20
OTHER = "https://mix-2.example"
TASK_KEY = Ed25519PrivateKey.from_private_bytes(b"\x09" * 32)
PART = device_part(4.0)


def route(blanket: int = BLANKET, excess: float = 1.0, end: int | None = END) -> tuple[ShuffledRoute, bytes]:
    """A route through this test's address with one true claim, and the collector's private key."""
    private, public = sealing.make_key()
    claim = PrivacyClaim(10**9, int(least_claim(bound_of(PART.randomizer, blanket, 10**9)) * excess))
    shuffled = ShuffledRoute(
        shuffler=Shuffler("mix", (ADDRESS, OTHER), bytes(32)),
        suite=1,
        keys=(CollectorKey(0, public),),
        floor=10,
        blanket=blanket,
        end=end,
        task_key=TASK_KEY.public_key().public_bytes_raw(),
        claims=(claim,),
        headline=0,
    )
    return shuffled, private


class ShuffledWorld(World):
    """The shuffler of a campaign, as a device sees it."""

    def __init__(self, **terms: Any) -> None:
        manifest = {name: terms.pop(name) for name in ("assignment", "device_guarantee", "arms") if name in terms}
        shuffled, self.private = route(**terms)
        super().__init__(PART, route=shuffled, **manifest)
        self.task = self.signed(1)

    def signed(self, number: int, **changes: Any) -> Any:
        end = self.manifest.route.end
        task = replace(
            self.task, epoch=0, number=number, accept_until=end, answer_until=end, signature=bytes(64), **changes
        )
        return replace(task, signature=TASK_KEY.sign(task.signed_message))

    def _receive(self, request: httpx.Request) -> httpx.Response:
        self.bodies.append(request.content)
        if not request.url.path.endswith("/sealed"):
            return self.problem(Problem.WRONG_ROUTE)
        known = request.content in self.counted
        self.counted[request.content] = b""
        if self.replies:
            reply = self.replies.pop(0)
            if isinstance(reply, Exception):
                raise reply
            return reply
        return httpx.Response(200, content=SealedOutcomes(int(not known), int(known)).content)

    def opened(self, body: bytes, number: int = 0) -> bytes | None:
        """What is sealed in an upload; None where it was sealed for something else."""
        [report] = SealedReports.read(body).reports()
        return sealing.open_sealed(self.private, sealing_info(self.campaign, number, PART.digest), report)


@pytest.fixture
def mixed() -> ShuffledWorld:
    return ShuffledWorld()


def test_a_report_is_sealed_for_the_collector_and_counted(mixed: ShuffledWorld, make_client: Any) -> None:
    client = make_client(mixed)
    campaign = client.join(mixed.campaign)
    client.answer(campaign, "green")
    assert client.flush().delivered == 1
    [body] = mixed.bodies
    payload = mixed.opened(body)
    assert payload is not None
    assert len(payload) == PART.randomizer.payload_bytes
    assert {request.url.path.rpartition("/")[2] for request in mixed.requests[3:]} == {"task", "sealed"}


@pytest.mark.parametrize("weights", [(1, 65_535), (65_535, 1)])
def test_the_drawn_arm_is_inside_the_sealed_bytes(make_client: Any, weights: tuple[int, int]) -> None:
    """The shuffler cannot read it, and no report is longer for one arm than for another."""
    world = ShuffledWorld(arms=(Arm("A", weights[0]), Arm("B", weights[1])))
    client = make_client(world)
    campaign = client.join(world.campaign)
    drawn = ("A", "B").index(client.arm(campaign))
    client.answer(campaign, "green")
    assert client.flush().delivered == 1
    [body] = world.bodies
    plaintext = world.opened(body)
    assert plaintext is not None
    assert (plaintext[0], len(plaintext)) == (drawn, 1 + PART.randomizer.payload_bytes)
    [sealed] = SealedReports.read(body).reports()
    assert len(sealed) == sealed_width(PART.randomizer.payload_bytes, 2)
    account = str(client.account())
    assert f"as long as {world.manifest.route.shuffler.urls[0].removeprefix('https://')} mixes in" in account
    assert f"{BLANKET} random answers of each version" in account


def test_every_retry_sends_the_same_bytes(mixed: ShuffledWorld, make_client: Any) -> None:
    client = make_client(mixed)
    client.answer(client.join(mixed.campaign), "green")
    lost = httpx.ConnectError("lost")
    mixed.replies = [lost, mixed.problem(Problem.OVERLOADED), lost]
    for _ in range(4):
        # A new process each time: the bytes are those of the ledger.
        client.close()
        client = make_client(mixed)
        client.flush(3600)
    assert len(mixed.bodies) == 4
    assert len(set(mixed.bodies)) == 1
    assert client.account().campaigns[0].entries[0].state == "delivered"


def test_two_devices_of_one_value_send_different_bytes_of_one_length(
    mixed: ShuffledWorld, make_client: Any, tmp_path: Any
) -> None:
    for number, value in enumerate(("green", "green", "red")):
        client = make_client(mixed, ledger=tmp_path / f"{number}.sqlite3")
        client.answer(client.join(mixed.campaign), value)
        client.flush()
    assert len(set(mixed.bodies)) == 3
    assert len({len(body) for body in mixed.bodies}) == 1


def test_without_a_debit_nothing_is_sealed(
    mixed: ShuffledWorld, make_client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = make_client(mixed)
    campaign = client.join(mixed.campaign)

    def fails(*_: object) -> bytes:
        raise RuntimeError("the library fails")

    monkeypatch.setattr("sordino_client._shuffled.seal", fails)
    with pytest.raises(RuntimeError):
        client.answer(campaign, "green")
    assert client.account().lifetime_nano == 0
    monkeypatch.undo()
    client.answer(campaign, "green")
    assert client.account().lifetime_nano == PART.guarantee.nano


@pytest.mark.parametrize("server", ["https://telemetry-collector.example", "https://mix.example"])
def test_there_is_no_way_round_the_shuffler(mixed: ShuffledWorld, make_client: Any, server: str) -> None:
    """The collector itself, or anybody else, shows the manifest: the device joins there no campaign of a shuffler."""
    stranger = make_client(mixed, server=server)
    with pytest.raises(PlanRefused, match="it names the shuffler"):
        stranger.join(mixed.campaign)
    joined = make_client(mixed)
    joined.answer(joined.join(mixed.campaign), "red")
    with pytest.raises(ServerChanged):
        stranger.rehome(mixed.campaign, server)
    with pytest.raises(ServerChanged):
        stranger.answer(mixed.campaign, "red")
    assert stranger.flush().delivered == 0
    assert mixed.bodies == []
    moved = make_client(mixed, server=OTHER)
    moved.rehome(mixed.campaign, OTHER)
    assert moved.flush().delivered == 1


def test_a_direct_upload_is_refused_permanently_by_the_way_it_takes(mixed: ShuffledWorld, make_client: Any) -> None:
    client = make_client(mixed)
    client.answer(client.join(mixed.campaign), "red")
    mixed.replies = [mixed.problem(Problem.WRONG_ROUTE)]
    assert [each.reason for each in client.flush().refused] == ["wrong-route"]


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda task: replace(task, signature=bytes(64)), "not signed by the key"),
        (lambda task: replace(task, number=0, signature=None), "not signed by the key"),
        (lambda task: replace(task, accept_until=END - 1, answer_until=None), "not signed by the key"),
    ],
)
def test_a_task_that_the_collector_did_not_sign_is_refused(
    mixed: ShuffledWorld, make_client: Any, spoil: Any, why: str
) -> None:
    client = make_client(mixed)
    campaign = client.join(mixed.campaign)
    mixed.task = spoil(mixed.task)
    with pytest.raises(PlanRefused, match=why):
        client.answer(campaign, "red")
    assert client.account().lifetime_nano == 0


def test_a_signed_task_of_another_end_is_refused(mixed: ShuffledWorld, make_client: Any) -> None:
    client = make_client(mixed)
    campaign = client.join(mixed.campaign)
    task = replace(mixed.task, number=2, accept_until=END - 1, answer_until=None)
    mixed.task = replace(task, signature=TASK_KEY.sign(task.signed_message))
    with pytest.raises(PlanRefused, match="the manifest at"):
        client.answer(campaign, "red")


def test_the_number_of_a_task_never_falls_on_a_device(mixed: ShuffledWorld, make_client: Any) -> None:
    old = mixed.task
    mixed.task = mixed.signed(7)
    client = make_client(mixed)
    campaign = client.join(mixed.campaign)
    mixed.task = old
    client.close()
    client = make_client(mixed)
    with pytest.raises(PlanRefused, match="its number is 1, and 7 was seen before"):
        client.answer(campaign, "red")


def test_a_claim_that_is_smaller_than_the_truth_is_refused(make_client: Any) -> None:
    lying = ShuffledWorld(excess=0.9)
    client = make_client(lying)
    campaign = client.join(lying.campaign)
    with pytest.raises(PlanRefused, match="random reports prove less"):
        client.answer(campaign, "red")
    assert client.account().lifetime_nano == 0


def test_the_claim_is_proved_again_for_each_part_of_a_campaign(
    mixed: ShuffledWorld, make_client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later round may have another part, which hides less behind the same blanket."""
    client = make_client(mixed)
    campaign = client.join(mixed.campaign)
    device = client._device
    session, first = device.session(campaign.id), mixed.task.device_parts[0]
    device._parts[first] = verify_part(mixed.parts[first], first)
    # Another digest is enough to be another part.
    other = type(first)(bytes(32))
    device._parts[other] = device._parts[first]
    proved = []
    monkeypatch.setattr("sordino_client._device.check_headline", lambda manifest, part: proved.append(part))
    # That of the first was proved by joining.
    for digest in (first, other, other):
        with pytest.raises(StopIteration):
            next(device._find_part(session, digest, 0))
    assert len(proved) == 1


def test_a_device_proves_no_claim_of_a_table_even_where_numbers_are_dithered(
    mixed: ShuffledWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would take half a minute; a dithered response is proved as the response is."""
    table = DenseRows(array_of(np.full((2, 2), 1 << 15), "<u8"))
    line = Domain((Integers("a", 0, 4),))
    proved = []
    monkeypatch.setattr(claims, "unproved", lambda randomizer, *_: proved.append(randomizer))
    for inner in (FiniteKernel(16, table), RandomizedResponse.for_guarantee(2, PureEpsilon.of(1))):
        check_headline(mixed.manifest, DevicePart(line, PureEpsilon.of(1), Dithered(((0, 4),), inner)))
    assert [each.inner.kind for each in proved] == ["randomized_response"]


def test_without_the_library_one_sentence_says_which_extra_has_it(
    mixed: ShuffledWorld, make_client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealing._suite.cache_clear()
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.hpke", None)
    client = make_client(mixed)
    with pytest.raises(PlanRefused, match=r"sordino-client\[shuffled\]"):
        client.join(mixed.campaign)
    assert client.account().campaigns == ()
    monkeypatch.undo()
    sealing._suite.cache_clear()


def test_a_direct_campaign_needs_no_library(world: World, make_client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sealing._suite.cache_clear()
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.hpke", None)
    client = make_client(world)
    client.answer(client.join(world.campaign), "red")
    assert client.flush().delivered == 1
    monkeypatch.undo()
    sealing._suite.cache_clear()


def test_the_owner_reads_both_numbers_and_nothing_else(mixed: ShuffledWorld, make_client: Any) -> None:
    client = make_client(mixed)
    campaign = client.join(mixed.campaign)
    delta = mixed.manifest.route.claims[0].atto_delta / 1e18
    assert str(campaign.mixed) == (
        f"(ε 1, δ {delta:.3g}) against the collector as long as telemetry.example mixes in 20 random answers and does "
        "not work with it, which nobody else can check; ε 4 otherwise"
    )
    client.answer(campaign, "red")
    text = str(client.account())
    assert "  the collector and telemetry.example together: ε 4 an answer" in text
    assert (
        f"  the collector alone: (ε 1, δ {delta:.3g}) an answer, as long as telemetry.example mixes in 20 random "
        "answers and does not work with it, which nobody else can check"
    ) in text
    key = mixed.manifest.route.keys[0].key.hex()
    assert f"waits to be sent, sealed for collector {key[:8]}" in text
    [entry] = client.account().campaigns[0].entries
    assert entry.sealed_for == key
    assert client.account().lifetime_nano == PureEpsilon.of(4).nano


def test_many_answers_cost_less_than_their_sum(mixed: ShuffledWorld, make_client: Any) -> None:
    """By the Rényi curve of all claims; at one claim of a large δ the sum is less."""
    campaign = make_client(mixed).join(mixed.campaign)
    assert campaign.mixed is not None
    assert campaign.mixed.of_answers(3).startswith("(ε 3, δ ")
    randomizer = RandomizedResponse.for_guarantee(16, PureEpsilon.of(4))
    points = tuple(
        PrivacyClaim(nano, least_claim(bound_of(randomizer, 1706, nano)))
        for nano in (10**8, 2 * 10**8, 425 * 10**6, 85 * 10**7, 17 * 10**8)
    )
    many = replace(
        campaign.mixed,
        blanket=1706,
        claims=points,
        epsilon_nano=points[2].nano_epsilon,
        delta_atto=points[2].atto_delta,
    )
    assert many.of_answers(1).startswith("(ε 0.425, δ 1")
    told = re.fullmatch(r"\(ε ([\d.]+), δ 3[\d.]*e-05\)", many.of_answers(30))
    assert told is not None
    epsilon = float(told[1])
    # The exact law has 2.88 at δ 1e-6; thirty times .425 are 12.75.
    assert 2 < epsilon < 5


def test_a_preview_shows_a_payload_and_writes_nothing(mixed: ShuffledWorld, make_client: Any) -> None:
    client = make_client(mixed)
    campaign = client.join(mixed.campaign)
    preview = client.preview(campaign, "red")
    assert len(preview.example) == preview.payload_bytes == PART.randomizer.payload_bytes
    assert client.account().lifetime_nano == 0
    client.answer(campaign, "red")
    client.flush()
    assert preview.upload_bytes == len(mixed.bodies[0])


def test_leaving_before_sending_deletes_the_sealed_bytes(mixed: ShuffledWorld, make_client: Any, ledger: Any) -> None:
    client = make_client(mixed)
    campaign = client.join(mixed.campaign)
    client.answer(campaign, "red")
    client.opt_out(campaign)
    assert client.flush().delivered == 0
    assert client.account().lifetime_nano == PART.guarantee.nano
    assert client.account().campaigns[0].entries[0].report is None


def test_without_a_connection_the_kept_task_answers_until_its_time(
    mixed: ShuffledWorld, make_client: Any, clock: Any
) -> None:
    client = make_client(mixed)
    campaign = client.join(mixed.campaign)

    def down(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("down")

    mixed.handle = down  # type: ignore[method-assign]
    client.answer(campaign, "red")
    assert client.account().lifetime_nano == PART.guarantee.nano
    clock.time = END
    client.flush()
    assert client.account().campaigns[0].entries[0].state == "expired"
    with pytest.raises(PlanUnavailable):
        make_client(mixed).join(World().campaign)


def test_a_period_of_a_series_is_sealed_for_its_number(clock: Any, make_client: Any) -> None:
    guarantee = PureEpsilon(PART.guarantee.nano * WEEKLY.answers_max)
    series = ShuffledWorld(assignment=WEEKLY, device_guarantee=guarantee, end=None)
    clock.time = WEEKLY.period(7).start + 100.0
    client = make_client(series, randomness=Phase(0), caps=SERIES_CAPS)
    campaign = client.join(series.campaign)
    client.answer(campaign, "red")
    assert client.flush().delivered == 1
    assert series.requests[-1].url.path.endswith("/rounds/7/sealed")
    assert series.opened(series.bodies[0], 7) is not None
    assert series.opened(series.bodies[0], 0) is None
    assert "for all 5, as long as" in str(client.account())


def test_the_advised_caps_answer_once_and_those_of_direct_campaigns_never(
    mixed: ShuffledWorld, make_client: Any
) -> None:
    from sordino_client import BudgetExceeded, Caps

    careful = make_client(mixed, caps=Caps.of(1, days=28, lifetime=12))
    campaign = careful.join(mixed.campaign)
    with pytest.raises(BudgetExceeded):
        careful.answer(campaign, "red")
    pinned = make_client(mixed, caps=Caps.of(4, days=28, lifetime=48))
    pinned.answer(campaign, "red")
    assert CAPS.per_period == PART.guarantee


def test_requests_and_lengths_are_the_same_for_all_values(
    mixed: ShuffledWorld, make_client: Any, tmp_path: Any
) -> None:
    seen = set()
    for number, value in enumerate(("red", "green", "blue", "a colour that is not listed", None)):
        begun = len(mixed.requests)
        client = make_client(mixed, ledger=tmp_path / f"{number}.sqlite3")
        client.answer(client.join(mixed.campaign), value)
        client.flush()
        asked = mixed.requests[begun:]
        seen.add(tuple((r.method, r.url.path, len(r.content), tuple(sorted(r.headers.items()))) for r in asked))
    assert len(seen) == 1


@pytest.mark.slow
def test_the_time_of_sealing_does_not_tell_the_payload() -> None:
    """A t test of 10⁵ seals at 10⁻⁴, payloads in random turns, without the slowest twentieth."""
    shuffled, _ = route()
    manifest = World(PART, route=shuffled).manifest
    chosen = random.Random(3)
    times: dict[bytes, list[int]] = {bytes(1): [], b"\xff": []}
    for _ in range(100_000):
        payload = chosen.choice((bytes(1), b"\xff"))
        begun = time.perf_counter_ns()
        sealed_report(manifest, PART.digest, 0, payload, None)
        times[payload].append(time.perf_counter_ns() - begun)
    kept = [sorted(each)[: len(each) * 19 // 20] for each in times.values()]
    assert ttest_ind(*kept, equal_var=False).pvalue > 1e-4
