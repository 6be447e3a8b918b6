"""Coins of tokens: who sees a token draws the same public part, its law is the one of a coin drawn freely.

Thresholds: chi-square at one in a million for each test.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import chi2

from sordino_analysis.conformance.enumeration import payload_law
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import CampaignId, DevicePart, Digest
from sordino_shared.protocol.tokens import coin_of
from sordino_shared.randomizers import RandomizedResponse, Randomizer
from sordino_shared.randomness import CoinStream, Randomness, ShakeRandomness
from sordino_shared.shuffling.blanket import draw_blanket_report

FALSE_ALARM = 1e-6
CAMPAIGN, DEVICE = CampaignId(b"c" * 32), Digest(b"d" * 32)
VECTORS = Path(__file__).parents[2] / "vectors" / "v1" / "good" / "sampling.json"
COINS = VECTORS.with_name("coins.json")
PARTS = {
    each["name"]: DevicePart.read(bytes.fromhex(each["device_part"]))
    for each in json.loads(VECTORS.read_text())["vectors"]
}
WITH_COIN = [name for name, part in PARTS.items() if part.randomizer.has_coin]
LISTED = {
    name: PARTS[name].randomizer for name in WITH_COIN if "direction" not in name and not name.startswith("dithered")
}


def coin(number: int, round_number: int = 0) -> Randomness:
    """The coin of a token whose output is that of a number."""
    return coin_of(CAMPAIGN, round_number, DEVICE, bytes(16) + hashlib.sha256(number.to_bytes(8, "big")).digest()[:16])


def test_a_stream_is_shake_of_its_seed_however_it_is_read() -> None:
    whole = hashlib.shake_256(b"seed").digest(3000)
    for steps in ([1] * 300, [16, 8, 8], [128, 1, 129, 2700], [0, 3000]):
        stream = CoinStream(b"seed")
        assert b"".join(stream.bytes(count) for count in steps) == whole[: sum(steps)]
    told = coin_of(CAMPAIGN, 3, DEVICE, b"s" * 16 + b"y" * 16)
    seed = b"sordino coin v1\0" + b"c" * 32 + (3).to_bytes(8, "big") + b"d" * 32 + b"y" * 16
    assert told.bytes(40) == hashlib.shake_256(seed).digest(40)
    with pytest.raises(InvalidValue, match="32 bytes"):
        coin_of(CAMPAIGN, 0, DEVICE, b"short")


def test_tables_and_sets_have_no_coin() -> None:
    without = PARTS.keys() - set(WITH_COIN)
    assert without == {
        "randomized_response", "subset_selection", "subset_mixture", "finite_kernel_dense", "finite_kernel_square",
        "finite_kernel_two_level", "finite_kernel_null", "pair_of_kernels", "dithered", "dithered_kernel",
    }  # fmt: skip
    table = RandomizedResponse(5, 16, 1000)
    assert {table.agrees(bytes([output]), coin(1)) for output in range(5)} == {True}
    assert table.randomize(2, ShakeRandomness(1), coin(1)) == table.randomize(2, ShakeRandomness(1))


@pytest.mark.parametrize("name", WITH_COIN)
def test_a_payload_agrees_with_its_coin_and_with_no_other(name: str) -> None:
    part = PARTS[name]
    randomizer, codes = part.randomizer, [0] * len(part.domain.shape)
    drawn = [part.randomize(codes, ShakeRandomness(number), coin(number)) for number in range(40)]
    blanket = [] if name.startswith("pair") else [draw_blanket_report(randomizer, ShakeRandomness(7), coin(7))]
    assert all(randomizer.agrees(payload, coin(number)) for number, payload in enumerate(drawn))
    assert all(randomizer.agrees(payload, coin(7)) for payload in blanket)
    agreeing = [[randomizer.agrees(payload, coin(number)) for number in range(40)] for payload in drawn]
    # As often as two coins are one: of directions never, of coins of 20 values in one of 20 pairs and more.
    others = sum(map(sum, agreeing)) - 40
    assert others == 0 if "direction" in name else others < 800
    # Another round, campaign or device part is another coin.
    assert not all(randomizer.agrees(payload, coin(number, 1)) for number, payload in enumerate(drawn))


@pytest.mark.parametrize("name", LISTED)
def test_what_agrees_is_what_some_value_gives_under_the_coin(name: str) -> None:
    """Brute force over the whole alphabet: the coin decides all of a payload but the label or the shift."""
    randomizer = LISTED[name]
    alphabet = {payload for cell in range(randomizer.size) for payload, _ in payload_law(randomizer, cell)}
    for number in range(6):
        reached = {
            randomizer.randomize(cell, ShakeRandomness(secret), coin(number))
            for cell, secret in product(range(randomizer.size), range(60))
        }
        assert {payload for payload in alphabet if randomizer.agrees(payload, coin(number))} == reached


@pytest.mark.parametrize("name", LISTED)
def test_payloads_with_drawn_coins_have_the_law_of_chosen_ones(name: str) -> None:
    randomizer, count = LISTED[name], 3000
    randomness = ShakeRandomness(2)
    free = _statistic(randomizer, [randomizer.randomize(1, randomness, coin(number)) for number in range(count)])
    assert free[0] < free[1]
    # A device that had 30 coins for all reports would be noticed.
    stuck = _statistic(randomizer, [randomizer.randomize(1, randomness, coin(number % 30)) for number in range(count)])
    assert stuck[0] > stuck[1]


def test_seeds_of_directions_are_even() -> None:
    randomizer = PARTS["seeded_direction"].randomizer
    seen = Counter(randomizer.randomize(0, ShakeRandomness(1), coin(number))[number % 16] for number in range(8000))
    assert sum((seen[byte] - 8000 / 256) ** 2 for byte in range(256)) / (8000 / 256) < chi2.isf(FALSE_ALARM, 255)


def _statistic(randomizer: Randomizer, payloads: list[bytes]) -> tuple[float, float]:
    """(chi-square of the payloads against the exact law of type 1, its threshold)."""
    law, seen = dict(payload_law(randomizer, 1)), Counter(payloads)
    assert seen.keys() <= law.keys()
    expected = {payload: float(chance) * len(payloads) for payload, chance in law.items()}
    found = sum((seen[payload] - mean) ** 2 / mean for payload, mean in expected.items())
    return found, float(chi2.isf(FALSE_ALARM, len(law) - 1))


@pytest.mark.parametrize("vector", json.loads(COINS.read_text())["vectors"], ids=lambda vector: vector["sampling"])
def test_the_vectors_of_coins(vector: dict[str, Any]) -> None:
    """What another implementation shows: the coin's bytes, and which payloads the server takes with the token."""
    part, token = PARTS[vector["sampling"]], bytes.fromhex(vector["token"])

    def drawn() -> Randomness:
        return coin_of(CampaignId.parse(vector["campaign"]), vector["round"], part.digest, token)

    assert (vector["device_part"], vector["coin"]) == (str(part.digest), drawn().bytes(64).hex())
    assert all(part.randomizer.agrees(bytes.fromhex(payload), drawn()) for payload in vector["payloads"])
    assert not part.randomizer.agrees(bytes.fromhex(vector["refused"]), drawn())
    codes = [size - 1 for size in part.domain.shape]
    assert {part.randomize(codes, ShakeRandomness(n), drawn()).hex() for n in range(20)} <= set(vector["payloads"])
