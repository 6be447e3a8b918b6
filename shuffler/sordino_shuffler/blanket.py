"""The random reports that a shuffler mixes in, sealed as devices seal theirs. They are drawn when the round ends."""

from __future__ import annotations

from sordino_shared.protocol import CampaignId, DevicePart, Digest, ShuffledRoute
from sordino_shared.protocol.sealed import sealed_plaintext, sealing_info
from sordino_shared.randomness import Randomness
from sordino_shared.sealing import seal
from sordino_shared.shuffling.blanket import draw_blanket_report


def draw_blanket(
    route: ShuffledRoute, part: DevicePart, campaign: CampaignId, number: int, randomness: Randomness
) -> list[bytes]:
    """`route.blanket` sealed reports for a round, which nothing but the collector's key tells from those of devices.

    One takes about 100 µs.
    """
    info = sealing_info(campaign, number, Digest.of(part.content))
    key = route.key_of(number)
    payloads = (draw_blanket_report(part.randomizer, randomness) for _ in range(route.blanket))
    return [seal(key, info, sealed_plaintext(0, 0, payload)) for payload in payloads]
