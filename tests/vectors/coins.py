"""Coins of tokens: from a token to the payloads that a report with it may have, of every kind with a public part."""

from __future__ import annotations

import hashlib
from itertools import product
from typing import Any

from sampling import sampling_parts

from sordino_shared.protocol import CampaignId, DevicePart, Digest
from sordino_shared.protocol.tokens import coin_of, token_of
from sordino_shared.randomness import ShakeRandomness

CAMPAIGN = CampaignId(bytes(range(32)))
# So many draws of each type give every label, shift and bit.
_DRAWS = 200


def _token(number: int) -> bytes:
    """A token whose output is SHA-512 of a number's byte: no issuer made it."""
    return token_of(bytes(range(16, 32)), hashlib.sha512(bytes([number])).digest())


def _payloads(part: DevicePart, number: int) -> list[str]:
    """All payloads that some value gives with the coin of token `number`, ascending."""
    found = set()
    for codes in product(*map(range, part.domain.shape)):
        for secret in range(_DRAWS):
            coin = coin_of(CAMPAIGN, number, part.digest, _token(number))
            found.add(part.randomize(codes, ShakeRandomness(secret), coin).hex())
    return sorted(found)


def _vector(name: str, part: DevicePart, number: int) -> dict[str, Any]:
    others = (_payloads(part, other) for other in range(number + 1, 256))
    payloads = _payloads(part, number)
    refused = next(payload for found in others for payload in found if payload not in payloads)
    return {
        "sampling": name,
        "campaign": str(CAMPAIGN),
        "round": number,
        "device_part": str(Digest.of(part.content)),
        "token": _token(number).hex(),
        "coin": coin_of(CAMPAIGN, number, part.digest, _token(number)).bytes(64).hex(),
        "payloads": payloads,
        "refused": refused,
    }


def coins() -> dict[str, Any]:
    """The file of coins, by path."""
    with_coin = ((name, part) for name, part in sampling_parts().items() if part.randomizer.has_coin)
    vectors = [_vector(name, part, number) for name, part in with_coin for number in range(2)]
    return {"good/coins.json": {"vectors": vectors}}
