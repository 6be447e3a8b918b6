"""What device owners read about the answers of their devices: what was sent with its chances, and what is kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sordino_analysis.figures import chosen, figure
from sordino_server.console.inline_pictures import Bar
from sordino_shared.protocol import DevicePart, Manifest, OwnerText, Rotating
from sordino_shared.quantities import quantity
from sordino_shared.randomizers import RandomizedResponse

# More chances are no picture that anybody reads.
_MOST_CHANCES = 12
_WHOLE, _THINNEST = 1000.0, 4.0


@dataclass(frozen=True, kw_only=True)
class Sent:
    """Sentences about one answer, and how often in 100 cases a device that holds `label` sends each label."""

    sentences: tuple[str, ...]
    label: str = ""
    chances: tuple[Bar, ...] = ()


def sent(manifest: Manifest, part: DevicePart | None) -> Sent:
    """Of the device part of the first round; without chances where a report is no value, or one of too many."""
    often = _often(manifest)
    is_value = part is not None and isinstance(part.randomizer, RandomizedResponse)
    if part is None or not is_value or part.domain.size > _MOST_CHANCES or len(manifest.rounds) > 1:
        return Sent(sentences=(f"{often} {_noisy(manifest)}",))
    randomizer = part.randomizer
    assert isinstance(randomizer, RandomizedResponse), "seen above"
    other = randomizer.other_weight / (1 << randomizer.bits)
    own = 1 - (randomizer.size - 1) * other
    label = part.domain.label(0)
    names = (
        f"{often} Your device draws lots before it sends: if it holds “{label}”, it says so {_of_100(own)} times in "
        f"100, and names one of the others {_of_100(1 - own)} times in 100. So nobody who reads it, we included, "
        "can be sure which one your device holds."
    )
    chances = [own, *[other] * (randomizer.size - 1)]
    return Sent(
        sentences=(names,),
        label=label,
        chances=tuple(_bar(part.domain.label(cell), chance, max(chances)) for cell, chance in enumerate(chances)),
    )


def _often(manifest: Manifest) -> str:
    if isinstance(manifest.assignment, Rotating):
        return f"One answer in {manifest.assignment.turn}, {quantity(manifest.assignment.answers_max, 'time')} at most."
    return "One answer, once." if len(manifest.rounds) == 1 else f"Up to {quantity(len(manifest.rounds), 'answer')}."


def _noisy(manifest: Manifest) -> str:
    epsilon = manifest.rounds[0].guarantee.epsilon
    return (
        "Your device adds random noise before it sends: whatever it holds, no answer becomes more than "
        f"{figure(math.exp(min(epsilon, 700.0)), 2)} times as likely (ε {chosen(epsilon)}). So nobody who reads it, we "
        "included, can be sure what your device holds."
    )


def _of_100(chance: float) -> str:
    """A whole number from 1 to 99, else with one decimal: what has a chance is neither never nor always."""
    times = 100 * chance
    if times > 99.9:
        return "more than 99.9"
    if times < 0.1:
        return "fewer than 0.1"
    return chosen(round(times, 0 if 1 <= times < 99.5 else 1))


def _bar(label: str, chance: float, largest: float) -> Bar:
    value = _WHOLE * chance / (1.2 * largest)
    return Bar(
        label=label, number=_of_100(chance), low=round(value, 1), width=0.0, value=round(value - _THINNEST / 2, 1)
    )


def kept(days: int | None, manifest: Manifest) -> str:
    """How long single answers are kept."""
    if days is None:
        return "single answers without an end, and their sums"
    end = "the period is over" if isinstance(manifest.assignment, Rotating) else "the question ends"
    return f"single answers until {quantity(days, 'day')} after {end}, then only their sums"


def contact(texts: Sequence[OwnerText], setting: str | None) -> str | None:
    """Whom to ask: as the question says, else as the server's settings do."""
    return next((each.contact for each in texts if each.contact), setting)
