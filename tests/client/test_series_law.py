"""The phase is uniform, and with it every device answers a period with chance 1/T, whenever it joined: exactly."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from sordino_analysis.vectorized.randomness import SeededRandomness, uniform_below, uniform_bits
from sordino_client._series_rows import SeriesState, first_state
from sordino_client._session import AnswerStatus
from sordino_shared.protocol import Period, Rotating, ValueOf
from sordino_shared.randomness import Randomness
from tests.client.conftest import DAY_S, SERIES_START, WEEKLY

# A law that is true is rejected once in a million.
FALSE_ALARM = 1e-6


class Words(Randomness):
    """These 64-bit words in order, as the operating system would give them; other lengths are zeros."""

    def __init__(self, *words: int) -> None:
        self._words = list(words)

    def bytes(self, count: int) -> bytes:
        return self._words.pop(0).to_bytes(8, "little") if count == 8 and self._words else bytes(count)


def p_value(phases: NDArray[np.uint64], slots: int) -> float:
    """Of a χ² test that phases are uniform below `slots`."""
    return float(stats.chisquare(np.bincount(phases.astype(int), minlength=slots)).pvalue)


@pytest.mark.parametrize("slots", [7, 30])
def test_phases_are_uniform(slots: int) -> None:
    """The device's own draw passes; the remainder of five bits, which favours the low phases, does not."""
    count = 60_000
    assert p_value(uniform_below(SeededRandomness(slots), slots, count), slots) > FALSE_ALARM
    biased = uniform_bits(SeededRandomness(slots), 5, count) % np.uint64(slots)
    assert p_value(biased, slots) < FALSE_ALARM


@pytest.mark.parametrize("slots", [1, 7, 30, 4096])
def test_joining_draws_the_phase_by_rejection(make_series, make_client, slots: int) -> None:
    """A word is taken modulo T if it lies below the last multiple of T, else another one is drawn."""
    last = 2**64 // slots * slots
    world = make_series(slots=slots, late_s=0)
    cases = [((word,), word % slots) for word in (0, 1, slots - 1, slots, 2**63 + 5, last - 1)]
    cases += [((word, 3 * slots + slots // 2), slots // 2) for word in {last, 2**64 - 1} if last <= word < 2**64]
    for words, phase in cases:
        client = make_client(world, ledger=":memory:", randomness=Words(*words))
        client.join(world.campaign)
        assert client.due(world.campaign) == (world.manifest.assignment.period(0) if phase == 0 else None)
        with client._device._storage.read() as connection:
            assert connection.execute("SELECT phase FROM series").fetchone() == (phase,)


def answered(law: Rotating, phase: int, active: set[int], joined: int) -> Iterator[int]:
    """The periods that a device answers which joined in period `joined` and runs in the `active` ones."""
    state: SeriesState = first_state(law, phase, None)
    for i in sorted(active):
        if i < joined:
            continue
        period = state.period_to_answer(law, law.period(i).start + DAY_S // 3)
        if isinstance(period, Period):
            yield period.number
            state = state.after(law, period, law.period(i).start + DAY_S // 3)


def chances(
    law: Rotating, active: set[int], joined: int, device: Callable[..., Iterator[int]] = answered
) -> dict[int, Fraction]:
    """Period → the chance that the device answers it, over all phases."""
    counts: dict[int, int] = {}
    for phase in range(law.slots):
        for i in device(law, phase, active, joined):
            counts[i] = counts.get(i, 0) + 1
    return {i: Fraction(count, law.slots) for i, count in counts.items()}


@pytest.mark.parametrize("slots", [2, 3, 7])
def test_the_chance_is_one_in_slots_for_each_joining_and_period(slots: int) -> None:
    law = dataclasses.replace(WEEKLY, slots=slots, late_s=0, answers_max=1000)
    for joined in range(2 * slots):
        every = set(range(5 * slots))
        assert chances(law, every, joined) == dict.fromkeys(range(joined, 5 * slots), Fraction(1, slots))
        for days in product((False, True), repeat=slots):
            # A light user is there in some periods of each cycle, and answers those with the same chance.
            light = {i for i in range(3 * slots) if days[(i + joined) % slots]}
            assert chances(law, light, joined) == {i: Fraction(1, slots) for i in light if i >= joined}


def test_yesterday_is_asked_about_with_the_same_chance() -> None:
    law = dataclasses.replace(WEEKLY, value_of=ValueOf.PREVIOUS, late_s=0, answers_max=1000)
    assert law.start == SERIES_START
    found = chances(law, set(range(40)), 10)
    assert found == dict.fromkeys(range(9, 39), Fraction(1, 7))


def drawn_in_a_cycle(law: Rotating, draw: int, active: set[int], joined: int) -> Iterator[int]:
    """A law that must fail: a slot of the cycle is drawn among those that are left when the device joins."""
    cycle = joined // law.slots
    left = [i for i in range(cycle * law.slots, (cycle + 1) * law.slots) if i >= joined]
    if len(left) > draw:
        yield left[draw]


def waiting(law: Rotating, draw: int, active: set[int], joined: int) -> Iterator[int]:
    """Another one: who joins within a cycle waits for the next."""
    first = -(-joined // law.slots) * law.slots
    yield from (first + draw + cycle * law.slots for cycle in range(3))


@pytest.mark.parametrize("other", [drawn_in_a_cycle, waiting])
def test_other_laws_have_other_chances(other: Callable[..., Iterator[int]]) -> None:
    law = dataclasses.replace(WEEKLY, slots=7, late_s=0)
    found = chances(law, set(range(35)), 5, other)
    assert any(found.get(i, 0) != Fraction(1, 7) for i in range(5, 14))


def test_a_state_says_why_there_is_nothing_to_answer() -> None:
    state = first_state(WEEKLY, 3, None)
    assert state.period_to_answer(WEEKLY, SERIES_START - 1) is AnswerStatus.NOT_THIS_PERIOD
    ended = dataclasses.replace(state, ended=True)
    assert ended.period_to_answer(WEEKLY, SERIES_START + 3 * DAY_S) is AnswerStatus.NOT_OPEN
    full = dataclasses.replace(state, answers=WEEKLY.answers_max)
    assert full.period_to_answer(WEEKLY, SERIES_START + 3 * DAY_S) is AnswerStatus.ALREADY_ANSWERED
