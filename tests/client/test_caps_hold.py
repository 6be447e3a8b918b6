"""No window of the owner's period holds more ε than their cap, whatever manifests say and however the clock moves.

The oracle is told what was recorded, and at which second of the clock: it reads nothing from the ledger.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import httpx
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import Phase as Stage
from hypothesis import strategies as st

from sordino_client import AnswerStatus, BudgetExceeded, Caps, Client, PureEpsilon, Request, Response
from sordino_shared.protocol import Rotating, ValueOf
from tests.client.conftest import ADDRESS, ManualClock, Phase, World, device_part

DAY = 86_400
NOW = 1_800_000_000
LONGEST_STEP_S = 40 * DAY
PART = device_part()
# A script that fails is shown as it is: making it smaller takes minutes.
PHASES = (Stage.explicit, Stage.reuse, Stage.generate)


class Servers:
    """Several campaigns behind one address, without a socket."""

    def __init__(self, worlds: list[World]) -> None:
        self._worlds = {str(world.campaign): world for world in worlds}

    def send(self, request: Request) -> Response:
        parts = request.path.split("/")
        world = self._worlds.get(parts[3]) or next(iter(self._worlds.values()))
        served = world.handle(httpx.Request(request.method, ADDRESS + request.path))
        return Response(served.status_code, {"content-type": "application/cbor"}, served.content)

    def close(self) -> None:
        pass


class AskedNow(Phase):
    """The phase of the period that is asked about now, so that a lying series is answered at once."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(0)
        self._clock = clock
        self.law: Rotating | None = None

    def below(self, bound: int) -> int:
        if self.law is not None:
            latest = self.law.number_at(int(self._clock.time)) - (self.law.value_of is ValueOf.PREVIOUS)
            self._phase = max(latest, 0)
        return super().below(bound)


@dataclass(frozen=True)
class Script:
    """An owner's caps, the laws of the campaigns (None: one round), and steps: seconds that pass, who is answered."""

    caps: Caps
    laws: tuple[Rotating | None, ...]
    steps: tuple[tuple[float, int], ...]


def lengths(most: int) -> st.SearchStrategy[int]:
    """Whole numbers to `most`, each size of them as likely as another."""
    return st.integers(0, most.bit_length() - 1).flatmap(lambda bits: st.integers(1 << bits, min(2 << bits, most)))


@st.composite
def laws(draw: st.DrawFn, window_s: int) -> Rotating:
    """Any law, most often with periods about as long as the owner's, and turns that come at once."""
    near = st.integers(window_s // 4, 4 * window_s)
    period_s, slots = draw(st.one_of(near, lengths(2**31))), draw(st.one_of(st.just(1), lengths(4096)))
    most_late = min((slots - 1) * period_s - 1 if slots > 1 else 2**40, 2**40)
    return Rotating(
        start=max(NOW - draw(st.integers(0, 3 * period_s)), 0),
        period_s=period_s,
        slots=slots,
        answers_max=draw(st.integers(1, 20)),
        value_of=draw(st.sampled_from(ValueOf)),
        late_s=draw(st.one_of(st.just(0), st.integers(0, most_late))),
        replaces=None,
    )


def steps_of(window_s: int, backwards: bool) -> st.SearchStrategy[float]:
    """Seconds between two tries: any, or about the owner's period to a quarter of a second."""
    quarters = st.one_of(lengths(4 * LONGEST_STEP_S), st.integers(4 * window_s - 6, 4 * window_s + 6))
    forward = quarters.map(lambda count: count / 4)
    return st.one_of(forward, st.just(0.25), st.floats(-2 * window_s, 0)) if backwards else forward


@st.composite
def scripts(draw: st.DrawFn, backwards: bool) -> Script:
    count, days, per_period = draw(st.integers(2, 8)), draw(st.integers(1, 60)), draw(st.integers(1, 3))
    window_s = days * DAY
    tries = st.tuples(steps_of(window_s, backwards), st.integers(0, count - 1))
    return Script(
        caps=Caps(PureEpsilon.of(per_period), days, PureEpsilon.of(per_period + draw(st.integers(0, 40)))),
        laws=tuple(draw(st.one_of(st.none(), laws(window_s), laws(window_s))) for _ in range(count)),
        steps=tuple(draw(st.lists(tries, min_size=4, max_size=24))),
    )


def world_of(law: Rotating | None, number: int) -> World:
    if law is None:
        return World(PART, created_at=number)
    return World(PART, created_at=number, assignment=law, device_guarantee=PureEpsilon.of(law.answers_max))


def recorded(script: Script) -> list[float]:
    """The clock at each answer that the SDK recorded. Every campaign is tried within seconds, then by the steps."""
    clock = ManualClock()
    worlds = [world_of(law, number) for number, law in enumerate(script.laws)]
    randomness, found = AskedNow(clock), list[float]()
    with Client(
        ADDRESS, ledger=":memory:", caps=script.caps, transport=Servers(worlds), randomness=randomness, clock=clock
    ) as client:
        joined = []
        for world, law in zip(worlds, script.laws, strict=True):
            randomness.law = law
            joined.append(client.join(world.campaign))
        for passed, which in [*((0.25, number) for number in range(len(worlds))), *script.steps]:
            clock.time = max(clock.time + passed, 0.0)
            try:
                status = client.answer(joined[which], "red").status
            except BudgetExceeded:
                continue
            if status is AnswerStatus.RECORDED:
                found.append(clock.time)
    return found


def check(script: Script) -> int:
    """The answers, none of them too many: in every period of the ledger's own time, which never falls, and for life."""
    shown, own = recorded(script), list[int]()
    for time in shown:
        own.append(max(math.ceil(time), own[-1] if own else 0))
    for begin in own:
        held = sum(begin <= at < begin + script.caps.period_s for at in own)
        assert held <= script.caps.per_period.epsilon, (begin, own)
    assert len(own) <= script.caps.lifetime.epsilon
    return len(own)


def held(examples: int, backwards: bool, part: int = 0) -> int:
    """The answers in so many scripts, of which each part has others; raises AssertionError where a cap did not hold."""
    answers = 0

    @seed(part)
    @settings(
        max_examples=examples, deadline=None, database=None, phases=PHASES, suppress_health_check=list(HealthCheck)
    )
    @given(scripts(backwards))
    def run(script: Script) -> None:
        nonlocal answers
        answers += check(script)

    run()
    return answers


def test_no_window_holds_more_than_the_cap() -> None:
    assert held(60, backwards=False) > 60


def test_no_window_of_the_ledgers_time_holds_more_where_the_clock_jumps() -> None:
    assert held(60, backwards=True) > 60


@pytest.mark.slow
@pytest.mark.parametrize("part", range(1, 11))
def test_no_window_holds_more_than_the_cap_in_ten_thousand_sets_of_manifests(part: int) -> None:
    assert held(1_000, backwards=False, part=part) > 1_000


@pytest.mark.slow
@pytest.mark.parametrize("part", [1, 2])
def test_jumping_clocks_in_thousands_of_sets_of_manifests(part: int) -> None:
    assert held(1_000, backwards=True, part=part) > 1_000


FORTY_DAYS = Rotating(
    start=NOW - 31 * DAY,
    period_s=40 * DAY,
    slots=1,
    answers_max=3,
    value_of=ValueOf.CURRENT,
    late_s=0,
    replaces=None,
)
MONTHLY = Rotating(
    start=NOW - 31 * DAY, period_s=30 * DAY, slots=1, answers_max=12, value_of=ValueOf.PREVIOUS, late_s=0, replaces=None
)


@pytest.mark.parametrize("law", [FORTY_DAYS, MONTHLY], ids=["a lie", "an honest month"])
def test_ten_series_of_long_periods_give_one_answer_in_minutes(law: Rotating) -> None:
    """Dated at the period's start, each of them fell out of the 28 days at once: ε 10 under a cap of 1."""
    steps = tuple((60.0, number) for number in range(10))
    script = Script(Caps(PureEpsilon.of(1), 28, PureEpsilon.of(12)), (law,) * 10, steps)
    assert check(script) == 1
