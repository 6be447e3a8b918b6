"""Arms: drawn by the device alone when it joins, kept for life, told to the app without a request or a debit."""

from __future__ import annotations

import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from typing import Any

import pytest
from scipy.stats import chisquare

from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_client import AnswerStatus, LedgerUnavailable, NotJoined, OptedOut
from sordino_client._arms import drawn_arm
from sordino_shared.protocol import Arm, ReportBatch
from sordino_shared.randomness import Randomness

UNEVEN = (Arm("control", 32768), Arm("b", 16384), Arm("c", 16384))


@pytest.fixture
def world(make_world: Any) -> Any:
    return make_world(arms=UNEVEN)


def test_ten_thousand_joins_draw_the_weights() -> None:
    """χ² at .001; with equal weights the same counts are refused."""
    randomness = SeededRandomness(3)
    counts = Counter(drawn_arm(UNEVEN, randomness) for _ in range(10_000))
    found = [counts[place] for place in range(3)]
    assert chisquare(found, [5000, 2500, 2500]).pvalue > 0.001
    assert chisquare(found).pvalue < 1e-9


def test_every_number_of_the_generator_draws_by_its_weight() -> None:
    class Fixed(Randomness):
        """Whose next 16 bits are a number."""

        def __init__(self, number: int) -> None:
            self.number = number

        def bytes(self, count: int) -> bytes:
            assert count == 8
            return (self.number << 48).to_bytes(8, "little")

    edges = (Arm("a", 1), Arm("b", 65534), Arm("c", 1))
    drawn = [drawn_arm(edges, Fixed(number)) for number in (0, 1, 65534, 65535)]
    assert drawn == [0, 1, 1, 2]


def test_the_arm_is_told_before_any_answer_and_without_a_request(world: Any, make_client: Any) -> None:
    client = make_client()
    with pytest.raises(NotJoined):
        client.arm(world.campaign)
    campaign = client.join(world.campaign)
    asked = len(world.requests)
    name = client.arm(campaign)
    assert name in {arm.name for arm in UNEVEN}
    assert client.arm(str(world.campaign)) == name
    assert len(world.requests) == asked
    assert client.account().lifetime_nano == 0
    assert (
        campaign.experiment == "Your app shows one of 3 versions, drawn by your device alone. Your answer says which."
    )
    assert client.account().campaigns[0].arm == name
    assert f"version {name}, drawn by this device" in str(client.account())


def test_the_report_says_the_arm_and_nothing_moves_it(world: Any, make_client: Any, ledger: Any, tmp_path: Any) -> None:
    """Whatever is answered, after restarts, in a copy of the ledger, with another generator, and offline."""
    names = set()
    for value in ("red", "green", None):
        client = make_client()
        client.join(world.campaign)
        names.add(client.arm(world.campaign))
        client.answer(world.campaign, value)
        names.add(client.arm(world.campaign))
    client.flush()
    copied = tmp_path / "copy.sqlite3"
    shutil.copy(ledger, copied)
    offline = make_client(ledger=copied, randomness=SeededRandomness(99))
    world.handle = lambda request: pytest.fail("nothing is asked")
    names.add(offline.arm(world.campaign))
    (name,) = names
    (body,) = world.bodies
    assert UNEVEN[ReportBatch.read(body).arm].name == name


def test_devices_draw_by_themselves(world: Any, make_client: Any) -> None:
    names = set()
    for seed in range(12):
        client = make_client(ledger=":memory:", randomness=SeededRandomness(seed))
        client.join(world.campaign)
        names.add(client.arm(world.campaign))
    assert names == {arm.name for arm in UNEVEN}


def test_after_opting_out_the_app_shows_its_default(world: Any, make_client: Any) -> None:
    client = make_client()
    client.join(world.campaign)
    name = client.arm(world.campaign)
    client.opt_out_all()
    assert client.arm(world.campaign) is None
    client.opt_in()
    assert client.arm(world.campaign) == name
    client.opt_out(world.campaign)
    assert client.arm(world.campaign) is None
    assert client.answer(world.campaign, "red").status is AnswerStatus.OPTED_OUT
    client.opt_out_all()
    with pytest.raises(OptedOut):
        client.join(world.campaign)


def test_a_campaign_without_arms_has_none(make_world: Any, make_client: Any) -> None:
    plain = make_world()
    client = make_client(plain)
    campaign = client.join(plain.campaign)
    assert (client.arm(campaign), campaign.experiment, client.account().campaigns[0].arm) == (None, None, None)


def test_what_breaks_off_between_manifest_and_arm_leaves_neither(
    world: Any, make_client: Any, ledger: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = make_client()

    def killed(*arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sordino_client._ledger.draw_arm", killed)
    with pytest.raises(KeyboardInterrupt):
        client.join(world.campaign)
    monkeypatch.undo()
    with closing(sqlite3.connect(ledger)) as file:
        assert file.execute("SELECT count(*) FROM campaigns").fetchone() == (0,)
    client.join(world.campaign)
    assert client.arm(world.campaign) is not None


@pytest.mark.parametrize("arm", [3, -1])
def test_an_arm_in_the_ledger_that_the_campaign_lacks_is_damage(
    world: Any, make_client: Any, ledger: Any, arm: int
) -> None:
    client = make_client()
    client.join(world.campaign)
    client.close()
    with closing(sqlite3.connect(ledger)) as file:
        file.execute("DROP TRIGGER arms_are_final")
        file.execute("PRAGMA ignore_check_constraints = ON")
        file.execute("UPDATE campaigns SET arm = ?", (arm,))
        file.commit()
    with pytest.raises(LedgerUnavailable):
        make_client().arm(world.campaign)


def test_the_ledger_never_changes_an_arm(world: Any, make_client: Any, ledger: Any) -> None:
    make_client().join(world.campaign)
    with closing(sqlite3.connect(ledger)) as file, pytest.raises(sqlite3.IntegrityError, match="arms are final"):
        file.execute("UPDATE campaigns SET arm = (arm + 1) % 3")


def test_a_campaign_of_a_list_draws_its_arm_too(world: Any, make_client: Any, clock: Any) -> None:
    from tests.client.test_finding import Listed, _look

    client = make_client(Listed(world))
    assert _look(client, clock).joined == (world.campaign,)
    assert client.arm(world.campaign) in {arm.name for arm in UNEVEN}
    with pytest.raises(TypeError):
        client.arm(world.campaign, "b")  # The app does not choose.
