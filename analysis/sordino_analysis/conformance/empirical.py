"""A lower bound on ε from reports of a sampler: half of them choose a pair of values and an event, the others bound it.

With probabilities p of the event under one value and q under the other, ε ≥ ln(p/q); Clopper–Pearson intervals of
2.5 % on either side bound both (Arcolezi and Gambs, "Revealing the true cost of locally differentially private
protocols: an auditing perspective", 2024). The event is chosen from other reports, so the bound is above the true ε in
at most 5 of 100 runs. It finds samplers that leak by seeds, labels and tables; it cannot find what is rarer than the
reports are many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from sordino_analysis.conformance.outcomes import Outcomes, default_draws, outcomes, public_outcomes
from sordino_analysis.vectorized.randomizers import randomize_codes
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import Randomizer
from sordino_shared.randomizers.base import cell_codes

Payloads = NDArray[np.uint8]
# (n, width) reports of a device whose value has this cell.
Sampler = Callable[[int, int], Payloads]
# Each end of an interval is wrong with this probability, so that a bound is in 5 of 100 runs at most.
SIDE = 0.025
# Events are chosen by stricter intervals: those of few reports look better than they are.
_CHOOSING = 1e-4
# Fewer draws bound ε by next to nothing.
_LEAST_DRAWS = 400
# Values whose reports are compared: more would have fewer reports each.
_VALUES = 6
# Sets of outcomes that are compared for a pair: one for each of thousands would tell hardly more.
_SETS = 60


@dataclass(frozen=True, kw_only=True)
class EmpiricalBound:
    """ε ≥ `bound` in 95 of 100 runs, by the event of these two values; `claimed` is what the part states."""

    claimed: float
    bound: float
    perfect: float
    values: tuple[int, int]
    event: str
    draws: int

    @property
    def holds(self) -> bool:
        """Whether the bound leaves room for the claim."""
        return self.bound <= self.claimed

    @property
    def finds_above(self) -> float:
        """ε from which a sampler is found in about half of the runs: the claim and what a perfect sampler lacks."""
        return 2 * self.claimed - self.perfect


def empirical_bound(part: DevicePart, sampler: Sampler, draws: int | None = None, seed: int = 1) -> EmpiricalBound:
    """The bound for a sampler of the part, beside that for a perfect one with as many draws.

    The perfect one is drawn by `sordino_analysis.vectorized` from `seed`. Raises InvalidValue for fewer than 400 draws.
    """
    number = default_draws(part.randomizer) if draws is None else draws
    if number < _LEAST_DRAWS:
        raise InvalidValue(f"an empirical audit takes {_LEAST_DRAWS} draws or more, got {number}", number)
    bound, pair, event = _bound(part, sampler, number)
    claimed = part.guarantee.epsilon
    # Up to one run in twenty is above the truth, and none is worth more than it.
    perfect = min(claimed, _bound(part, reference_sampler(part, seed), number)[0])
    return EmpiricalBound(claimed=claimed, bound=bound, perfect=perfect, values=pair, event=event, draws=number)


def reference_sampler(part: DevicePart, seed: int) -> Sampler:
    """Reports by the vectorized randomizers, from seeded randomness."""
    randomness = SeededRandomness(seed)

    def draw(cell: int, count: int) -> Payloads:
        codes = np.tile(np.array(cell_codes(cell, part.domain.shape), dtype=np.uint64), (count, 1))
        return randomize_codes(part.randomizer, codes, part.domain.shape, randomness)

    return draw


def tested_values(part: DevicePart) -> list[int]:
    """Up to six cells from the first to the last."""
    size = part.domain.size
    count = min(size, _VALUES)
    return sorted({step * (size - 1) // (count - 1) for step in range(count)})


def _bound(part: DevicePart, sampler: Sampler, draws: int) -> tuple[float, tuple[int, int], str]:
    values = tested_values(part)
    share = draws // 2 // len(values)
    chosen = _chosen(part.randomizer, values, {value: sampler(value, share) for value in values})
    one, other = chosen.values
    seen = [chosen.count(part.randomizer, values, sampler(value, draws // 4)) for value in (one, other)]
    bound = log_ratio(np.array(seen[:1]), np.array(seen[1:]), draws // 4, SIDE)
    return max(0.0, float(bound[0])), (one, other), chosen.name


@dataclass(frozen=True, eq=False, kw_only=True)
class _Event:
    """The outcomes `accepted` of the feature at `place`, likelier for the first of two values."""

    values: tuple[int, int]
    place: int
    name: str
    accepted: NDArray[np.int64]

    def count(self, randomizer: Randomizer, values: Sequence[int], payloads: Payloads) -> int:
        """How many of the reports it happened for."""
        found = _all_outcomes(randomizer, values, payloads)[self.place].numbers
        return int(np.isin(found, self.accepted).sum())


def _all_outcomes(randomizer: Randomizer, values: Sequence[int], payloads: Payloads) -> list[Outcomes]:
    return [*outcomes(randomizer, values, payloads), *public_outcomes(payloads)]


def _chosen(randomizer: Randomizer, values: list[int], reports: dict[int, Payloads]) -> _Event:
    """Of all pairs of values, features, and sets of outcomes by their ratio, the one with the largest bound."""
    shown = {value: _all_outcomes(randomizer, values, payloads) for value, payloads in reports.items()}
    best: tuple[float, _Event] | None = None
    for place, feature in enumerate(shown[values[0]]):
        counts, kinds = _tables([shown[value][place].numbers for value in values])
        for first, one in enumerate(values):
            for second, other in enumerate(values):
                if first == second:
                    continue
                found, order = _best_set(counts[first], counts[second], len(reports[one]))
                if best is None or found > best[0]:
                    event = _Event(values=(one, other), place=place, name=feature.name, accepted=kinds[order])
                    best = found, event
    assert best is not None
    return best[1]


def _tables(numbers: list[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(values, outcomes) how often each outcome came for each value, and the outcomes."""
    kinds, places = np.unique(np.concatenate(numbers), return_inverse=True)
    parts = np.split(places.ravel(), np.cumsum([len(each) for each in numbers])[:-1])
    return np.stack([np.bincount(each, minlength=len(kinds)) for each in parts]), kinds


def _best_set(one: NDArray[np.int64], other: NDArray[np.int64], draws: int) -> tuple[float, NDArray[np.intp]]:
    """The outcomes of the largest ratios (Neyman–Pearson), as many as give the largest bound."""
    order = np.argsort(-(one + 0.5) / (other + 0.5), kind="stable")
    inside, outside = np.cumsum(one[order]), np.cumsum(other[order])
    ends = np.unique(np.geomspace(1, len(order), num=min(len(order), _SETS)).astype(np.int64)) - 1
    bounds = log_ratio(inside[ends], outside[ends], draws, _CHOOSING)
    at = int(np.argmax(bounds))
    return float(bounds[at]), order[: ends[at] + 1]


def log_ratio(one: NDArray[np.int64], other: NDArray[np.int64], draws: int, side: float) -> NDArray[np.float64]:
    """(m,) ln(low/high): the Clopper–Pearson ends, each wrong with probability `side`, of counts (m,) among `draws`.

    −∞ where the first count is 0.
    """
    low = np.where(one > 0, beta.ppf(side, np.maximum(one, 1), draws - one + 1), 0.0)
    rest = draws - other
    high = np.where(rest > 0, beta.ppf(1 - side, other + 1, np.maximum(rest, 1)), 1.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(low) - np.log(high))
