"""What the owner reads."""

from __future__ import annotations

import json

from sordino_client import Caps, PureEpsilon
from sordino_shared.protocol import Problem, ReportBatch


def test_an_empty_ledger(client) -> None:
    assert str(client.account()) == "spent in 30 days: ε 0 of 4\nspent for life: ε 0 of 40"
    assert client.account().campaigns == ()


def test_caps_are_shown_to_the_last_nano(make_client) -> None:
    client = make_client(caps=Caps(PureEpsilon(4 * 10**9 + 1), 30, PureEpsilon(40 * 10**9 + 1)))
    assert str(client.account()) == "spent in 30 days: ε 0 of 4.000000001\nspent for life: ε 0 of 40.000000001"


def test_what_was_spent_and_sent_is_shown(world, make_client) -> None:
    client = make_client()
    client.answer(client.join(world.campaign), "red")
    client.flush()
    (campaign,) = client.account().campaigns
    (entry,) = campaign.entries
    batch = ReportBatch.read(world.bodies[0])
    assert entry.report == batch.payloads.hex()
    assert (entry.state, entry.epsilon_nano, entry.at) == ("delivered", 10**9, 1_800_000_000)
    assert str(client.account()) == (
        "spent in 30 days: ε 1 of 4\n"
        "spent for life: ε 1 of 40\n"
        "\n"
        "colours: ε 1\n"
        "  Which colour the app is set to.\n"
        f"  2027-01-15  round 0  ε           1  sent, report {entry.report}"
    )


def test_every_state_of_a_report_is_worded(world, make_client, clock) -> None:
    texts = []
    for number in range(3):
        other = type(world)(world.part, created_at=number)
        client = make_client(other)
        client.answer(client.join(other.campaign), "red")
        texts.append(str(client.account()).splitlines()[-1])
        if number == 1:
            client.opt_out(other.campaign)
        other.replies = [other.problem(Problem.ROUND_NOT_OPEN)]
        client.flush()
    text = str(client.account())
    assert "waits to be sent" in texts[0]
    assert "not counted: round-not-open" in text
    assert "colours (left): ε 1" in text
    assert "  deleted" in text
    assert "spent for life: ε 3 of 40" in text


def test_the_account_is_plain_data(world, client) -> None:
    client.answer(client.join(world.campaign), "red")
    plain = json.loads(json.dumps(client.account().to_dict()))
    assert plain["lifetime_nano"] == 10**9
    assert plain["campaigns"][0]["campaign"] == str(world.campaign)
    assert plain["campaigns"][0]["entries"][0]["state"] == "spooled"


def test_the_period_forgets_what_life_remembers(world, client, clock) -> None:
    client.answer(client.join(world.campaign), "red")
    clock.time += 31 * 86_400
    account = client.account()
    assert (account.period_nano, account.lifetime_nano) == (0, 10**9)
