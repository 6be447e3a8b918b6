"""What the owner reads."""

from __future__ import annotations

import asyncio
import json
from unicodedata import east_asian_width

import pytest

from sordino_client import Account, AccountEntry, CampaignAccount, Caps, PureEpsilon
from sordino_client._account import folded
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
        "campaign 1: ε 1\n"
        "  > colours\n"
        "  > Which colour the app is set to.\n"
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
    assert "campaign 2 (left): ε 1" in text
    assert "  deleted" in text
    assert "spent for life: ε 3 of 40" in text


def test_the_account_is_plain_data(world, client) -> None:
    client.answer(client.join(world.campaign), "red")
    plain = json.loads(json.dumps(client.account().to_dict()))
    assert plain["caps"]["lifetime"]["spent"] == "1"
    assert plain["campaigns"][0]["campaign"] == str(world.campaign)
    assert plain["campaigns"][0]["reports"][0]["state"] == "spooled"


def test_the_period_forgets_what_life_remembers(world, client, clock) -> None:
    client.answer(client.join(world.campaign), "red")
    clock.time += 31 * 86_400
    account = client.account()
    assert (account.period_nano, account.lifetime_nano) == (0, 10**9)


BREAKS = ["\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]
FORGED = "spent for life: ε 0 of 40"


@pytest.mark.parametrize("line_break", BREAKS, ids=repr)
def test_no_line_of_a_campaigns_words_passes_for_one_of_the_account(line_break) -> None:
    text = f"harmless{line_break}{FORGED}{line_break}  2027-01-15  round 0  ε 0  not counted"
    entry = AccountEntry(round=0, epsilon_nano=10**9, at=1_800_000_000, state="delivered", reason=None, report="03")
    campaign = CampaignAccount(
        campaign="00" * 32,
        name=f"{FORGED}{line_break}{FORGED}",
        purpose=text,
        server=None,
        opted_out=False,
        entries=(entry,),
    )
    caps = Caps(PureEpsilon.of(4), 30, PureEpsilon.of(40))
    shown = str(Account(campaigns=(campaign,), period_nano=10**9, lifetime_nano=10**9, caps=caps)).splitlines()
    foreign = [line for line in shown if line.startswith("  > ")]
    assert [line for line in shown if line not in foreign] == [
        "spent in 30 days: ε 1 of 4",
        "spent for life: ε 1 of 40",
        "",
        "campaign 1: ε 1",
        "  2027-01-15  round 0  ε           1  sent, report 03",
    ]
    assert len(foreign) == 5


@pytest.mark.parametrize("filler", ["a", " ", "\u3000", "語", "\u00a0"], ids=repr)
def test_no_line_is_pushed_past_a_terminals_edge(filler) -> None:
    for line in folded("x" + filler * 300 + FORGED):
        assert sum(2 if east_asian_width(character) in "WF" else 1 for character in line) <= 76


def test_what_acts_on_a_terminal_is_not_printed() -> None:
    assert list(folded("a\x1b[2Kb\u202ec\x00")) == ["  > a\ufffd[2Kb\ufffdc\ufffd"]


def test_a_sentence_of_several_lines_keeps_them(make_world, make_part, make_client) -> None:
    world = make_world(purpose=f"First line.\n{FORGED}")
    client = make_client(world)
    client.join(world.campaign)
    assert str(client.account()).splitlines()[-3:] == ["  > First line.", f"  > {FORGED}", "  nothing answered"]


def test_leaving_all_campaigns_shows_in_the_account_and_in_every_client(world, make_client, clock, ledger) -> None:
    client, other = make_client(), make_client()
    campaign = client.join(world.campaign)
    client.answer(campaign, "red")
    assert (client.opted_out, client.account().opted_out, campaign.opted_out) == (False, None, False)
    left_at = int(clock.time)
    client.opt_out_all()
    clock.time += 5 * 86_400
    assert client.opted_out is other.opted_out is True
    account = other.account()
    assert account.opted_out == account.to_dict()["opted_out"] == left_at
    assert str(account).splitlines()[:3] == [
        "You left all campaigns on 2027-01-15. Nothing is answered or sent.",
        "",
        "spent in 30 days: ε 1 of 4",
    ]
    other.opt_in()
    assert (client.opted_out, client.account().opted_out) == (False, None)
    assert str(client.account()).startswith("spent in 30 days")


def test_a_series_that_was_left_shows_no_rate(make_series, start) -> None:
    client, campaign = start(make_series())
    client.opt_out_all()
    assert "  series: left, nothing is answered any more" in str(client.account()).splitlines()
    client.opt_in()
    assert "  series: at most ε 1 about any 7 days in a row" in str(client.account())
    client.opt_out(campaign)
    assert "  series: left, nothing is answered any more" in str(client.account()).splitlines()


def test_the_async_client_says_it_too(make_async_client) -> None:
    async def run() -> tuple[bool, bool]:
        async with make_async_client() as client:
            before = await client.opted_out
            await client.opt_out_all()
            return before, await client.opted_out

    assert asyncio.run(run()) == (False, True)
