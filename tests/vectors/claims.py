"""Exact (ε, δ) of small blankets by listing every multiset of losses, what is computed, and the least claims on it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from good_documents import device_parts, meaning

from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol.routes import PrivacyClaim
from sordino_shared.protocol.schema import to_plain
from sordino_shared.randomizers import Dithered, Pair, RandomizedResponse, SubsetSelection
from sordino_shared.shuffling.composition import composed_claim
from sordino_shared.shuffling.laws import is_closed_form, loss_of
from sordino_shared.shuffling.profile import delta_of

Point = tuple[float, float]
_FOUR = PureEpsilon.of(4)
Listed = RandomizedResponse | SubsetSelection | Dithered
_CASES: list[tuple[str, Listed, int]] = [
    ("randomized_response", RandomizedResponse.for_guarantee(16, _FOUR), 207),
    ("randomized_response_of_two", RandomizedResponse.for_guarantee(2, PureEpsilon.of(2)), 300),
    ("subset_selection", SubsetSelection.for_guarantee(16, 2, _FOUR), 60),
    ("dithered", Dithered(((0, 40, 40, 60),), RandomizedResponse.for_guarantee(5, _FOUR)), 80),
    ("a_single_report", SubsetSelection.for_guarantee(16, 4, PureEpsilon.of(1)), 1),
]
_EPSILONS = ("0.25", "1", "2")
# So few that one report more or less changes δ by more than claims have to spare; the first with a δ above rounding.
_BLANKETS = (80, 40, 20, 10, 5)


def losses(randomizer: Listed, power: float) -> list[Point]:
    """(value, chance) of (K_x − e^ε K_x′)/B under B, for two values x and x′, from the definition of the randomizer."""
    if isinstance(randomizer, Dithered):
        # The blanket is of a uniform type of the inner one, and a value at a knot draws that knot's type.
        randomizer = randomizer.inner
        assert isinstance(randomizer, RandomizedResponse | SubsetSelection)
    k, whole = randomizer.size, float(1 << randomizer.bits)
    if isinstance(randomizer, RandomizedResponse):
        own, other = randomizer.own_weight / whole, randomizer.other_weight / whole
        found = [(k * (own - power * other), 1 / k), (k * (other - power * own), 1 / k)]
        return [*found, (k * other * (1 - power), (k - 2) / k)]
    s, include = randomizer.subset_size, randomizer.include_weight / whole
    # A set has the chance 1/C(k, s) under B, p/C(k − 1, s − 1) with the value in it, (1 − p)/C(k − 1, s) without.
    high, low = include * k / s, (1 - include) * k / (k - s)
    one, both = s * (k - s) / (k * (k - 1)), s * (s - 1) / (k * (k - 1))
    neither = 1 - 2 * one - both
    return [
        (high - power * low, one),
        (low - power * high, one),
        (high * (1 - power), both),
        (low * (1 - power), neither),
    ]


def _multisets(count: int, kinds: int) -> Iterator[tuple[int, ...]]:
    if kinds == 1:
        yield (count,)
        return
    for first in range(count + 1):
        for rest in _multisets(count - first, kinds - 1):
            yield (first, *rest)


def exact_delta(law: Sequence[Point], blanket: int) -> float:
    """E[(L₀ + … + L_m)₊]/(m + 1), every multiset of m + 1 losses counted with its chance."""
    count = blanket + 1
    law = [point for point in law if point[1] > 0]
    logs = [math.log(chance) for _, chance in law]
    factorial = [math.lgamma(n + 1) for n in range(count + 1)]
    parts = []
    for counts in _multisets(count, len(law)):
        total = math.fsum(n * value for n, (value, _) in zip(counts, law, strict=True))
        if total > 0:
            log = factorial[count] + math.fsum(n * lg - factorial[n] for n, lg in zip(counts, logs, strict=True))
            parts.append(math.exp(log) * total)
    return math.fsum(parts) / count


def least_claim(bound: float) -> int:
    """1.001 times the bound plus 10^-12, in 10^-18, rounded up."""
    return min(10**18, math.ceil((1.001 * bound + 1e-12) * 1e18))


def claims() -> dict[str, Any]:
    """The file of claims, by path."""
    found = []
    for name, randomizer, blanket in _CASES:
        for epsilon in _EPSILONS:
            nano = PureEpsilon.of(epsilon).nano
            power = math.exp(nano / 1e9)
            bound = delta_of(loss_of(randomizer, power), blanket)
            found.append(
                {
                    "name": f"{name}_{epsilon}",
                    "randomizer": meaning(to_plain(randomizer)),
                    "blanket": blanket,
                    "nano_epsilon": nano,
                    "delta": exact_delta(losses(randomizer, power), blanket),
                    "bound": bound,
                    "least_atto_delta": str(least_claim(bound)),
                }
            )
    return {"good/claims.json": {"vectors": found, "parts": _of_parts(), "composed": _composed()}}


def _of_parts() -> list[dict[str, Any]]:
    """Claims on each device part of `good/device_part.json`: the least one, and two that a device refuses.

    Those are a hundredth below the bound, and the least claim on the bound with one report more in the blanket.
    """
    found = []
    for name, part in device_parts().items():
        randomizer = part.randomizer
        if isinstance(randomizer, Pair):
            found.append({"name": name, "has_blanket": False})
            continue
        law = loss_of(randomizer, math.exp(0.3))
        blanket = next(count for count in _BLANKETS if delta_of(law, count) > 1e-7)
        bound, more = delta_of(law, blanket), delta_of(law, blanket + 1)
        found.append(
            {
                "name": name,
                "has_blanket": True,
                "closed_form": is_closed_form(randomizer),
                "blanket": blanket,
                "nano_epsilon": 300_000_000,
                "bound": bound,
                "proved": str(least_claim(bound)),
                "unproved": [str(int(0.99e18 * bound)), str(least_claim(more))],
            }
        )
    return found


def _composed() -> list[dict[str, Any]]:
    """What several answers give together: by the sum of ε, by the curve, and where δ reaches 1."""
    law = RandomizedResponse.for_guarantee(16, _FOUR)
    epsilons = (250_000_000, 500_000_000, 750_000_000, 10**9, 1_500_000_000, 2 * 10**9)
    bounds = [delta_of(loss_of(law, math.exp(nano / 1e9)), 343) for nano in epsilons]
    curve = [PrivacyClaim(nano, least_claim(bound)) for nano, bound in zip(epsilons, bounds, strict=True)]
    cases = [(curve, 3, (1, 2, 12, 48, 400)), (curve[:1], 0, (1, 3)), ([PrivacyClaim(10**9, 10**17)], 0, (2, 10, 11))]
    return [
        {
            "claims": [[claim.nano_epsilon, str(claim.atto_delta)] for claim in claims],
            "headline": headline,
            "answers": [
                {"count": count, "nano_epsilon": one.nano_epsilon, "atto_delta": str(one.atto_delta)}
                for count in counts
                for one in [composed_claim(claims, claims[headline], count)]
            ],
        }
        for claims, headline, counts in cases
    ]
