"""Whether samples follow a device part's law, with a false-alarm rate that is exact and a power that is stated.

All counts of all values are held against their exact binomial laws. p is the smallest of their chances times the number
of counts (Bonferroni), so that a true sampler gets p ≤ α in at most a share α of all runs, whatever n is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from sordino_analysis.conformance.part_counts import counts_of, truth_of
from sordino_analysis.conformance.samples import Samples
from sordino_analysis.vectorized.randomizers import in_alphabet
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import AnyRandomizer

# A right sampler is refused for one seed in a million …
FALSE_ALARM = 1e-6
# What a test must be able to see: odds of telling the value that belong to an ε so much larger, in 99 % of runs.
EPSILON_OFF = 0.1
# … and one that is off by what is tested is accepted for one in a hundred.
MISSED = 0.01


@dataclass(frozen=True, kw_only=True)
class ConformanceResult:
    """`p` of everything counted, and what was least likely; `needed` reports a value make the test strong enough."""

    p: float
    seen: str
    reports: int
    values: int
    fewest: int
    needed: int
    false_alarm: float

    @property
    def outcome(self) -> str:
        """`differs` where p ≤ α, else `too_few` where an ε 10 % too large could hide, else `conforms`."""
        if self.p <= self.false_alarm:
            return "differs"
        return "conforms" if self.fewest >= self.needed else "too_few"


def judge(part: DevicePart, samples: Mapping[int, Samples], false_alarm: float = FALSE_ALARM) -> ConformanceResult:
    """The verdict on samples by value."""
    p, seen = _outside_alphabet(part.randomizer, samples) or _least_likely(part, samples)
    sizes = [len(taken.lines) for taken in samples.values()]
    needed = max(reports_needed(part, cell, len(samples), false_alarm) for cell in samples)
    return ConformanceResult(
        p=p, seen=seen, reports=sum(sizes), values=len(sizes), fewest=min(sizes), needed=needed, false_alarm=false_alarm
    )


def _outside_alphabet(randomizer: AnyRandomizer, samples: Mapping[int, Samples]) -> tuple[float, str] | None:
    for cell, taken in samples.items():
        payloads = taken.payloads
        outside = np.flatnonzero(~in_alphabet(randomizer, payloads))
        if len(outside):
            first = int(outside[0])
            payload = payloads[first].tobytes().hex()
            return 0.0, f"line {taken.lines[first]}, value {cell}: {payload} is a payload that no value gives"
    return None


def _least_likely(part: DevicePart, samples: Mapping[int, Samples]) -> tuple[float, str]:
    found = [
        (*counts.worst(), cell) for cell, taken in samples.items() for counts in counts_of(part, cell, taken.payloads)
    ]
    p, seen, cell = min(found)
    return min(1.0, p * len(found)), f"value {cell}: {seen}"


def reports_needed(part: DevicePart, cell: int, values: int, false_alarm: float = FALSE_ALARM) -> int:
    """Reports of a value with which an ε 10 % too large is noticed in 99 % of runs that test `values` values.

    The odds of the most informative event are then e^(ε/10) times what they should be. Normal approximation.
    """
    stated = float(truth_of(part, cell))
    if not 0 < stated < 1:
        return 1
    odds = stated / (1 - stated) * math.exp(EPSILON_OFF * part.guarantee.epsilon)
    wrong = odds / (1 + odds)
    empty = np.zeros((0, part.randomizer.payload_bytes), dtype=np.uint8)
    # The count of that event is one of two, by two sides, of all that is counted.
    threshold = norm.isf(false_alarm / (4 * values * len(counts_of(part, cell, empty))))
    spread = threshold * math.sqrt(stated * (1 - stated)) + norm.isf(MISSED) * math.sqrt(wrong * (1 - wrong))
    return math.ceil(float((spread / (wrong - stated)) ** 2))
