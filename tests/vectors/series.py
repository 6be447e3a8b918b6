"""Series: their manifests, what their arithmetic gives at chosen seconds, and which may take another's place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sordino_client._series_rows import first_state
from sordino_shared.domains import Domain
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import CampaignId, Manifest, Period, Rotating, RoundTerms, ValueOf, successor_faults
from sordino_shared.protocol.schema import to_plain

DAY_S = 86_400
DAILY = Rotating(
    start=1_800_057_600,
    period_s=DAY_S,
    slots=30,
    answers_max=12,
    value_of=ValueOf.PREVIOUS,
    late_s=2 * DAY_S,
    replaces=None,
)
AT_LIMITS = Rotating(
    start=2**40,
    period_s=2**31,
    slots=4096,
    answers_max=10**6,
    value_of=ValueOf.CURRENT,
    late_s=2**40,
    replaces=None,
)
EVERY_SECOND = replace(AT_LIMITS, start=0, period_s=1, slots=1, answers_max=1)


def series_manifests(terms: RoundTerms, domain: Domain) -> dict[str, Manifest]:
    """A daily series, one that replaces it, and two with every number at an end of its range."""
    series = Manifest(
        name="delays",
        purpose="Yesterday's delay: one answer every 30 days, at most 12.",
        population="travellers",
        created_at=1_800_000_000,
        domain=domain,
        device_guarantee=PureEpsilon.of(12),
        rounds=(terms,),
        assignment=DAILY,
    )
    rarely = (RoundTerms(PureEpsilon.of("0.001"), terms.plan),)
    return {
        "series": series,
        "successor": replace(
            series, assignment=replace(DAILY, slots=60, answers_max=6, late_s=0, replaces=series.campaign)
        ),
        "series_at_limits": replace(series, device_guarantee=PureEpsilon(10**12), rounds=rarely, assignment=AT_LIMITS),
        "series_every_second": replace(series, assignment=EVERY_SECOND),
    }


def _arithmetic(law: Rotating, phase: int) -> dict[str, Any]:
    """What the law says at the borders of its periods and of what it accepts, a second before and after each."""
    numbers = sorted({0, phase, phase + law.slots, 2**16 + phase, 2**32 + phase})
    # JSON's readers lose digits from 2^53 on.
    numbers = [number for number in numbers if law.accepted_until(number) < 2**53]
    ends = [end for i in numbers for end in (law.accepted_from(i), law.period(i).end, law.accepted_until(i))]
    return {
        "assignment": to_plain(law),
        "phase": phase,
        "periods": [_period(law, number) for number in numbers],
        "times": [_at(law, phase, now) for now in sorted({0, *(end + step for end in ends for step in (-1, 0))})],
        "windows": [
            {"periods": w, "most_answers": law.most_answers(w), "most_reports": law.most_reports(w)}
            for w in (0, 1, law.slots, law.slots + 1, 10 * law.slots, 10**9)
        ],
        "drawn": [
            {"seconds": seconds, "most_drawn": law.most_drawn(seconds)}
            for seconds in sorted({0, 1, law.cycle_s, 365 * DAY_S, *_around(law.longest_window_s(2))})
        ],
    }


def _around(longest: int) -> tuple[int, int]:
    return longest, longest + 1


def _period(law: Rotating, number: int) -> dict[str, Any]:
    period = law.period(number)
    return {
        "number": number,
        "start": period.start,
        "end": period.end,
        "accepted_from": law.accepted_from(number),
        "accepted_until": law.accepted_until(number),
        "epoch": law.epoch(number),
    }


def _at(law: Rotating, phase: int, now: int) -> dict[str, Any]:
    asked = law.asked_at(phase, now)
    return {"now": now, "number": law.number_at(now), "asked": None if asked is None else asked.number}


def _device(name: str, law: Rotating, phase: int, days: Sequence[float], replacing: Rotating | None) -> dict[str, Any]:
    """What a device answers that tries at these days after the start by its clock; then the series is replaced."""
    state, tries = first_state(law, phase, None), []
    for day in days:
        now = law.start + int(day * DAY_S)
        asked = state.period_to_answer(law, now)
        answered = asked if isinstance(asked, Period) else None
        state = state if answered is None else state.after(law, answered, now)
        tries.append(
            {
                "now": now,
                "answers": None if answered is None else answered.number,
                "next_period": state.next_period,
                "next_at": state.next_at,
            }
        )
    found = {"name": name, "assignment": to_plain(law), "phase": phase, "tries": tries}
    if replacing is None:
        return found
    later = first_state(replacing, 0, (law, state))
    kept = {"answers": later.answers, "next_period": later.next_period, "next_at": later.next_at}
    return found | {"replaced_by": to_plain(replacing), "then": kept | {"phase_is_drawn": later.phase != phase}}


def _devices() -> list[dict[str, Any]]:
    weekly = replace(DAILY, slots=7, answers_max=3, value_of=ValueOf.CURRENT)
    yesterday = replace(weekly, value_of=ValueOf.PREVIOUS)
    return [
        _device("every day", weekly, 3, range(30), None),
        _device("late, then early", yesterday, 3, (4, 6.5, 6.6, 11, 11.1), replace(yesterday, slots=8)),
        _device("clock back and forth", weekly, 3, (3.5, 2, 3.5, 73, 10.5, 17.5, 80.5), weekly),
        _device("nothing answered", weekly, 3, (0, 1, 2), weekly),
    ]


def _successors(series: Manifest) -> list[dict[str, Any]]:
    """Manifests that replace `series`, each but the first three changed in one field that must not change."""
    law = replace(DAILY, replaces=series.campaign)
    [terms] = series.rounds
    laws = {
        "same": law,
        "more_slots": replace(law, slots=4096),
        "fewer_answers": replace(law, answers_max=1),
        "start": replace(law, start=law.start - 1),
        "period_s": replace(law, period_s=law.period_s + 1),
        "value_of": replace(law, value_of=ValueOf.CURRENT),
        "fewer_slots": replace(law, slots=29),
        "more_answers": replace(law, answers_max=13),
        "replaces_nothing": replace(law, replaces=None),
        "replaces_another": replace(law, replaces=CampaignId(bytes(32))),
    }
    manifests = {
        name: replace(series, assignment=each, device_guarantee=PureEpsilon.of(24)) for name, each in laws.items()
    }
    more = (RoundTerms(PureEpsilon(terms.guarantee.nano + 1), terms.plan),)
    manifests["more_epsilon"] = replace(manifests["same"], rounds=more)
    return [
        {
            "name": name,
            "may_replace": not successor_faults(series, manifest),
            "old": series.content.hex(),
            "new": manifest.content.hex(),
        }
        for name, manifest in manifests.items()
    ]


def series(series_manifest: Manifest) -> dict[str, Any]:
    """The files of good vectors about series, by path."""
    laws = ((DAILY, 0), (DAILY, 29), (replace(DAILY, value_of=ValueOf.CURRENT), 7), (AT_LIMITS, 4095))
    hourly = replace(DAILY, start=1_800_000_001, period_s=3600, slots=24, late_s=0)
    return {
        "good/series.json": {
            "arithmetic": [_arithmetic(*each) for each in (*laws, (EVERY_SECOND, 0), (hourly, 5))],
            "devices": _devices(),
            "successors": _successors(series_manifest),
        }
    }
