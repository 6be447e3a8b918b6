"""The owner's caps: the time in the ledger of each answer that a device records, and the cap that refuses any other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from series import DAILY, DAY_S

from sordino_client._series_rows import SeriesState, first_state
from sordino_shared.guarantees import NANO
from sordino_shared.protocol import EveryRound, Period, Rotating, ValueOf
from sordino_shared.protocol.schema import to_plain

NOW = 1_800_057_600
# One question of one round, and ε of one answer wherever nothing else is said.
ONCE = EveryRound()
MONTH_S = 30 * DAY_S
WEEKLY = replace(DAILY, start=NOW, slots=7, answers_max=100, value_of=ValueOf.CURRENT, late_s=0)
EVERY_DAY = replace(WEEKLY, slots=1)


@dataclass(frozen=True)
class _Caps:
    per_period: int
    period_s: int
    lifetime: int


ADVISED = _Caps(NANO, 28 * DAY_S, 12 * NANO)


def _period_of(law: EveryRound | Rotating, state: SeriesState, now: int, answered: bool) -> Period | bool | None:
    """The period to answer, True for a round, None where the device is asked nothing."""
    if isinstance(law, Rotating):
        asked = state.period_to_answer(law, now)
        return asked if isinstance(asked, Period) else None
    return None if answered else True


def _script(
    name: str,
    caps: _Caps,
    laws: Sequence[EveryRound | Rotating],
    tries: Iterable[tuple[int, float]],
    nano: int = NANO,
) -> dict[str, Any]:
    """What becomes of `tries`, (number of a campaign, clock). A phase is the one that is asked at the first try."""
    tries, debits, found = list(tries), [], []
    begun = dict(reversed(tries))
    phases = [_phase(law, math.floor(begun.get(which, NOW))) for which, law in enumerate(laws)]
    states = [first_state(EVERY_DAY, phase or 0, None) for phase in phases]
    for which, clock in tries:
        law = laws[which]
        asked = _period_of(law, states[which], math.floor(clock), any(each == which for each, _ in debits))
        now = max([math.ceil(clock), *(at for _, at in debits)])
        spent = nano * sum(at > now - caps.period_s for _, at in debits)
        outcome = _outcome(asked, spent + nano > caps.per_period, nano * (len(debits) + 1) > caps.lifetime)
        if outcome == "recorded":
            debits.append((which, now))
            spent += nano
            if isinstance(asked, Period):
                states[which] = states[which].after(law, asked, math.floor(clock))
        found.append(
            {
                "campaign": which,
                "clock": clock,
                "outcome": outcome,
                "at": now if outcome == "recorded" else None,
                "period": asked.number if isinstance(asked, Period) else None,
                "spent_in_period": spent,
            }
        )
    return {
        "name": name,
        "caps": {"per_period": caps.per_period, "period_s": caps.period_s, "lifetime": caps.lifetime},
        "nano": nano,
        "campaigns": [{"assignment": to_plain(law), "phase": phase} for law, phase in zip(laws, phases, strict=True)],
        "tries": found,
    }


def _outcome(asked: Period | bool | None, period_full: bool, life_full: bool) -> str:
    if asked is None:
        return "not_asked"
    return "refused_period" if period_full else "refused_lifetime" if life_full else "recorded"


def _phase(law: EveryRound | Rotating, now: int) -> int | None:
    if not isinstance(law, Rotating):
        return None
    return next(phase for phase in range(law.slots) if law.asked_at(phase, now) is not None)


def _minutes(campaigns: int) -> list[tuple[int, float]]:
    return [(which, NOW + 60.5 * which) for which in range(campaigns)]


def _attacks() -> list[dict[str, Any]]:
    """Long periods that began long ago: dated at their start, every answer is out of the owner's period at once."""
    began = NOW - 31 * DAY_S
    lie = replace(EVERY_DAY, start=began, period_s=40 * DAY_S)
    return [
        _script(name, ADVISED, [law] * 10, _minutes(10))
        for name, law in (
            ("a period of forty days that began 31 days ago", lie),
            ("a period of years that began years ago", replace(lie, start=NOW - 2**30, period_s=2**31)),
            (
                "a late answer to a period that ended years ago",
                replace(lie, start=0, period_s=2**29, slots=8, value_of=ValueOf.PREVIOUS, late_s=2**30),
            ),
            (
                "an honest month of previous values",
                replace(lie, start=NOW - 31 * DAY_S, period_s=MONTH_S, value_of=ValueOf.PREVIOUS),
            ),
        )
    ]


def _windows() -> list[dict[str, Any]]:
    caps = replace(ADVISED, period_s=7 * DAY_S)
    own = NOW + 3 * DAY_S
    late, early = own + DAY_S - 1, own + 7 * DAY_S
    days = [(0, NOW + hours * 3600.0) for hours in range(0, 24 * 6, 9)]
    return [
        _script("a second before and after seven days", caps, [ONCE] * 4, _around(7 * DAY_S)),
        _script("quarters of a second", caps, [ONCE] * 4, _around(7 * DAY_S, 0.25)),
        _script("late, then early, in seven days", caps, [WEEKLY], [(0, late), (0, early), (0, late + 7 * DAY_S)]),
        _script(
            "late, then early, in six days",
            replace(caps, period_s=6 * DAY_S),
            [WEEKLY],
            [(0, late), (0, early), (0, early + 7 * DAY_S)],
        ),
        _script(
            "every day, two in two days", replace(caps, per_period=2 * NANO, period_s=2 * DAY_S), [EVERY_DAY], days
        ),
        _script(
            "for life", replace(caps, period_s=DAY_S, lifetime=3 * NANO), [EVERY_DAY, ONCE], [*days, (1, NOW + 10**7)]
        ),
        _script("half an answer each", replace(caps, per_period=NANO + 1), [ONCE] * 4, _minutes(4), NANO // 2),
    ]


def _around(length: int, step: float = 1.0) -> list[tuple[int, float]]:
    return [(0, NOW + 0.5), *((which, NOW + 0.5 + length + (which - 2) * step) for which in (1, 2, 3))]


def _clocks() -> list[dict[str, Any]]:
    ahead, back = NOW + 400.5 * DAY_S, NOW - 400.5 * DAY_S
    year = [(which, clock) for which, clock in enumerate((NOW, ahead, back, NOW + DAY_S, ahead + 27 * DAY_S))]
    return [
        _script("a clock that jumps", ADVISED, [ONCE] * 6, [*year, (5, ahead + 28 * DAY_S + 1)]),
        _script(
            "set back between two answers of a larger cap",
            replace(ADVISED, per_period=2 * NANO),
            [ONCE] * 5,
            [(0, ahead), (1, NOW), (2, ahead + DAY_S), (3, ahead + 28 * DAY_S), (4, ahead + 28 * DAY_S + 1)],
        ),
        _script(
            "a series under a clock that is set back",
            replace(ADVISED, per_period=2 * NANO),
            [ONCE, WEEKLY],
            [(0, ahead), (1, NOW), (1, NOW + 7 * DAY_S), (1, NOW + 430 * DAY_S)],
        ),
    ]


def caps() -> dict[str, Any]:
    """The file of good vectors about caps, by path."""
    return {"good/caps.json": [*_attacks(), *_windows(), *_clocks()]}
