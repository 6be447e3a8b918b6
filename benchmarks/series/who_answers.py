"""Who answers when: the law of the slots, simulated for devices that come and go and for light users."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SLOTS = 30
MEAN_LIFE = 60
YOUNG = 7
# Lives of 60 days on average are over after ten times as long.
_WARM_UP = 20 * SLOTS

Days = NDArray[np.int64]
# Days on which devices answer, each with the number of its device: (first day, last day, rng) to (devices, days).
Law = Callable[[Days, Days, np.random.Generator], tuple[Days, Days]]


@dataclass(frozen=True)
class Shares:
    """Young devices among answers, also of the first and the last five days of a cycle; answers·T over devices alive.

    `true` is the share of young devices among those alive.
    """

    law: str
    true: float
    answers: float
    by_place: tuple[float, float]
    rates: tuple[float, float]


def phase(joined: Days, left: Days, rng: np.random.Generator) -> tuple[Days, Days]:
    """One phase for life: the periods that are congruent to it."""
    drawn = rng.integers(0, SLOTS, len(joined))
    first = joined + (drawn - joined) % SLOTS
    return _every_cycle(first, left)


def left_over(joined: Days, left: Days, rng: np.random.Generator) -> tuple[Days, Days]:
    """A slot drawn again in every cycle, in the first one among the slots that are left."""
    return _redrawn(joined, left, rng, waits=False)


def next_cycle(joined: Days, left: Days, rng: np.random.Generator) -> tuple[Days, Days]:
    """A slot drawn again in every cycle, from the second one on."""
    return _redrawn(joined, left, rng, waits=True)


LAWS: dict[str, Law] = {
    "phase for life": phase,
    "late joiners draw among what is left": left_over,
    "late joiners wait for the next cycle": next_cycle,
}


def shares(law: str, daily: int, cycles: int, seed: int = 1) -> Shares:
    """Of `cycles` cycles into which `daily` devices come a day."""
    rng = np.random.default_rng(seed)
    days = _WARM_UP + cycles * SLOTS
    joined = np.repeat(np.arange(days), daily)
    left = joined + rng.geometric(1 / MEAN_LIFE, len(joined)) - 1
    device, day = LAWS[law](joined, left, rng)
    seen = (day >= _WARM_UP) & (day < days)
    device, day = device[seen], day[seen]
    young = day - joined[device] < YOUNG
    alive, fresh = _alive(joined, left, days), _alive(joined, np.minimum(left, joined + YOUNG - 1), days)
    ends = [day % SLOTS < 5, day % SLOTS >= SLOTS - 5]
    places = np.arange(_WARM_UP, days) % SLOTS
    within = [places < 5, places >= SLOTS - 5]
    return Shares(
        law,
        float(fresh[_WARM_UP:].sum() / alive[_WARM_UP:].sum()),
        float(young.mean()),
        (_mean(young[ends[0]]), _mean(young[ends[1]])),
        (
            float(ends[0].sum() * SLOTS / alive[_WARM_UP:][within[0]].sum()),
            float(ends[1].sum() * SLOTS / alive[_WARM_UP:][within[1]].sum()),
        ),
    )


def heavy_shares(devices: int, cycles: int, seed: int = 1) -> dict[str, float]:
    """Heavy users' share of device-days, of answers in the phase, and of answers on the first active day after it.

    Half of the devices are active on 90 % of days, half on 15 %. One that catches up answers on its first active day
    from T days after its last answer on.
    """
    rng, days = np.random.default_rng(seed), cycles * SLOTS
    heavy = np.arange(devices) % 2 == 0
    rate = np.where(heavy, 0.9, 0.15)
    phases = rng.integers(0, SLOTS, devices)
    due = phases.copy()
    counts = {name: np.zeros(2) for name in ("device-days", "phase", "catching up")}
    for day in range(days):
        active = rng.random(devices) < rate
        late = active & (due <= day)
        due[late] = day + SLOTS
        for name, chosen in (
            ("device-days", active),
            ("phase", active & (phases == day % SLOTS)),
            ("catching up", late),
        ):
            counts[name] += [(chosen & heavy).sum(), chosen.sum()]
    return {name: float(found[0] / found[1]) for name, found in counts.items()}


def _mean(values: NDArray[np.bool_]) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _every_cycle(first: Days, left: Days) -> tuple[Days, Days]:
    turns = np.maximum((left - first) // SLOTS + 1, 0)
    device = np.repeat(np.arange(len(first)), turns)
    turn = np.arange(len(device)) - np.repeat(np.cumsum(turns) - turns, turns)
    return device, first[device] + turn * SLOTS


def _redrawn(joined: Days, left: Days, rng: np.random.Generator, *, waits: bool) -> tuple[Days, Days]:
    start = joined - joined % SLOTS
    device, cycle = _every_cycle(start, left)
    opened = np.maximum(cycle, joined[device])
    day = opened + (rng.random(len(device)) * (cycle + SLOTS - opened)).astype(np.int64)
    kept = (day <= left[device]) & ((cycle > joined[device]) if waits else True)
    return device[kept], day[kept]


def _alive(joined: Days, left: Days, days: int) -> Days:
    changes = np.zeros(days + 1, dtype=np.int64)
    np.add.at(changes, joined, 1)
    np.add.at(changes, np.minimum(left + 1, days), -1)
    return np.cumsum(changes)[:days]
