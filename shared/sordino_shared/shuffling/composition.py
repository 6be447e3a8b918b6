"""What several answers behind a blanket tell together, from the claims of one: their Rényi curve, added up.

δ as a function of e^ε is convex, and 1 where e^ε is 0. So chords between claims are never below it, and they are the
profile of a pair of laws with one loss at each claim and its mirror image; what the last claim leaves is an infinite
loss. That pair dominates the true one, and so do its Rényi divergences (Zhu, Dong and Wang 2022), which add up over
answers even where each is asked for after the answers before (Mironov 2017).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sordino_shared.protocol.routes import WHOLE_ATTO, PrivacyClaim

_NANO = 10**9
# Any order is a proof. Curves of blankets are steepest, over their order, between 16 and 160.
ORDERS = (1.125, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 64.0)
# Above what sums and logarithms of so few doubles lose.
_ROUNDED_UP = 1 + 1e-9


def renyi_curve(claims: Sequence[PrivacyClaim]) -> tuple[float, ...]:
    """The Rényi divergence of one answer at each of ORDERS, without the δ of the last claim; never below the truth."""
    losses = _losses(claims)
    return tuple(_ROUNDED_UP * max(0.0, _log_moment(losses, order) / (order - 1)) for order in ORDERS)


def composed_epsilon(claims: Sequence[PrivacyClaim], answers: int, delta: float) -> float | None:
    """An ε that holds at `delta` for so many answers of one manifest; None where their infinite losses use it up.

    The best of the orders, which the manifest pins with its claims (Canonne, Kamath and Steinke 2020, proposition 12).
    """
    rest = delta - answers * claims[-1].atto_delta / WHOLE_ATTO
    if rest <= 0:
        return None
    found = (
        answers * divergence + math.log1p(-1 / order) - math.log(rest * order) / (order - 1)
        for order, divergence in zip(ORDERS, renyi_curve(claims), strict=True)
    )
    return _ROUNDED_UP * max(0.0, min(found))


def composed_claim(claims: Sequence[PrivacyClaim], headline: PrivacyClaim, answers: int) -> PrivacyClaim:
    """What so many answers give the collector at the sum of their δ: by the sum of their ε, or the curve if less."""
    nano, atto = answers * headline.nano_epsilon, min(answers * headline.atto_delta, WHOLE_ATTO)
    composed = composed_epsilon(claims, answers, atto / WHOLE_ATTO) if answers > 1 else None
    if composed is not None:
        nano = min(nano, math.ceil(composed * 1000) * (_NANO // 1000))
    return PrivacyClaim(nano, atto)


def _losses(claims: Sequence[PrivacyClaim]) -> list[tuple[float, float]]:
    """(loss, chance under the second law) of each claim on the lower hull of all: chances where the chords bend."""
    hull = [(0.0, 1.0)]
    for point in _points(claims):
        while len(hull) > 1 and _slope(hull[-2], hull[-1]) >= _slope(hull[-1], point):
            hull.pop()
        hull.append(point)
    # Beyond the last claim δ falls no further.
    slopes = [*map(_slope, hull, hull[1:]), 0.0]
    bends = zip(hull[1:], slopes[:-1], slopes[1:], strict=True)
    return [(math.log(power), after - before) for (power, _), before, after in bends if after > before]


def _points(claims: Sequence[PrivacyClaim]) -> list[tuple[float, float]]:
    """(e^ε, δ) of each claim and of its mirror image at −ε: a claim is about both orders of a pair."""
    above = [(math.exp(claim.nano_epsilon / _NANO), claim.atto_delta / WHOLE_ATTO) for claim in claims]
    below = [(1 / power, 1 - (1 - delta) / power) for power, delta in reversed(above) if power > 1]
    return [*below, *above]


def _slope(first: tuple[float, float], second: tuple[float, float]) -> float:
    return (second[1] - first[1]) / (second[0] - first[0])


def _log_moment(losses: Sequence[tuple[float, float]], order: float) -> float:
    """ln E[e^(order · loss)] under the second law."""
    terms = [math.log(chance) + order * loss for loss, chance in losses]
    largest = max(terms)
    return largest + math.log(math.fsum(math.exp(term - largest) for term in terms))
