"""Campaigns of one cell, played with every report's exact law: how often 95 % intervals hold, and what was said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.coverage_cases import Cell, Floats, Integers, drawn_users, histogram_of, statistic_of
from benchmarks.accuracy.pairwise_runs import answered
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.pairwise.protocol import ClosedRound, PairwiseError, ProtocolDesign, ProtocolRequest, RoundPlan
from sordino_analysis.pairwise.protocol_registry import find_protocol
from sordino_analysis.pairwise.statistic_estimate import PairwiseEstimate
from sordino_analysis.questions.pairwise import PairwiseStatistic
from sordino_analysis.request_terms import Effort
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import FiniteKernel

# Plans are made for so many users, and used for all numbers of them.
_PLANNED_USERS = 200


@dataclass(frozen=True)
class Tried:
    """What `campaigns` campaigns came to, as shares of them.

    `coverage` is that of the interval about the users who reported, `population` of the other. None where no campaign
    had a statistic to cover. `doubted` published a warning that the interval may not hold, `unbounded` an interval that
    is all the statistic can be, `valueless` no value, `refused` nothing at all; `made_up` a value though none existed.
    """

    cell: Cell
    campaigns: int
    coverage: float | None
    population: float | None
    doubted: float
    unbounded: float
    valueless: float
    refused: float
    made_up: float


class Designs:
    """Quick plans, each made once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, float], tuple[PairwiseStatistic, ProtocolDesign]] = {}

    def of(self, cell: Cell) -> tuple[PairwiseStatistic, ProtocolDesign]:
        """The statistic and the plan of a cell, which do not depend on its users."""
        key = (cell.statistic, cell.protocol, cell.epsilon)
        if key not in self._known:
            statistic = statistic_of(cell.statistic)
            request = ProtocolRequest(statistic, PureEpsilon.of(cell.epsilon), _PLANNED_USERS, effort=Effort.QUICK)
            self._known[key] = statistic, find_protocol(cell.protocol).design(request, lambda fraction: None)
        return self._known[key]


def tried(designs: Designs, cell: Cell, campaigns: int, repeats: int, seed: int) -> Tried:
    """Play the cell; in protocols of two rounds, each first round is followed by `repeats` second ones."""
    statistic, design = designs.of(cell)
    histogram = histogram_of(statistic, cell.population)
    generator = np.random.default_rng([seed, cell.users])
    truth_of_population = _truth(statistic, histogram=histogram)
    rows = []
    for counts, estimate in _campaigns(design, histogram, cell.users, campaigns, repeats, generator):
        rows.append(_judged(estimate, _truth(statistic, counts=counts), truth_of_population, statistic.limits))
    columns = [np.array(column, dtype=float) for column in zip(*rows, strict=True)]
    own, population, *shares = (_mean(column) for column in columns)
    return Tried(cell, len(rows), own, population, *(share or 0.0 for share in shares))


def _mean(column: Floats) -> float | None:
    known = column[~np.isnan(column)]
    return float(known.mean()) if len(known) else None


def _truth(
    statistic: PairwiseStatistic, *, counts: Integers | None = None, histogram: Floats | None = None
) -> float | None:
    try:
        if counts is not None:
            return statistic.of_pairs(counts.astype(float))
        assert histogram is not None
        return statistic.of_histogram(histogram)
    except InvalidValue:
        return None


def _judged(
    estimate: PairwiseEstimate | None, truth: float | None, population: float | None, limits: tuple[float, float]
) -> tuple[float, ...]:
    """Coverages (nan where there is nothing to cover), then doubted, unbounded, valueless, refused, made up."""
    if estimate is None:
        return np.nan, np.nan, 0, 0, 0, 1, 0
    slack = 1e-9
    holds, holds_population = (
        np.nan if true is None else float(low - slack <= true <= high + slack)
        for true, low, high in (
            (truth, estimate.lower, estimate.upper),
            (population, estimate.population_lower, estimate.population_upper),
        )
    )
    valueless = estimate.value is None
    low, high = limits
    whole = estimate.lower <= low + slack and estimate.upper >= high - slack
    return holds, holds_population, bool(estimate.doubts), whole, valueless, 0, truth is None and not valueless


def _campaigns(
    design: ProtocolDesign, histogram: Floats, users: int, campaigns: int, repeats: int, generator: np.random.Generator
) -> Iterator[tuple[Integers, PairwiseEstimate | None]]:
    rounds = len(design.plan.rounds)
    repeats = repeats if rounds > 1 else 1
    known: dict[bytes, RoundPlan | PairwiseEstimate | None] = {}
    for counts in drawn_users(histogram, users, campaigns // repeats, generator):
        present = _present(design, counts, generator)
        first = ClosedRound(design.first, played(design.first, present[0], generator))
        key = first.aggregate.to_bytes()
        if key not in known:
            known[key] = _next(design, (first,))
        following = known[key]
        for _ in range(repeats):
            if not isinstance(following, RoundPlan):
                yield counts, following
                continue
            second = ClosedRound(following, played(following, present[1], generator))
            key_of_both = key + second.aggregate.to_bytes()
            if key_of_both not in known:
                known[key_of_both] = _next(design, (first, second))
            estimate = known[key_of_both]
            assert not isinstance(estimate, RoundPlan)
            yield counts, estimate


def _next(design: ProtocolDesign, closed: tuple[ClosedRound, ...]) -> RoundPlan | PairwiseEstimate | None:
    try:
        return find_protocol(design.plan.protocol).step(design.plan, closed)
    except PairwiseError:
        return None


def _present(design: ProtocolDesign, counts: Integers, generator: np.random.Generator) -> tuple[Integers, Integers]:
    share = design.plan.first_share
    if share is None:
        return counts, counts
    first = generator.binomial(counts, share)
    return first, counts - first


def played(plan: RoundPlan, counts: Integers, generator: np.random.Generator) -> Aggregate:
    """What the users' reports add up to: multinomial counts of outputs where outputs are counted."""
    randomizer = plan.device.randomizer
    if not isinstance(randomizer, FiniteKernel):
        return answered(plan, counts, generator)
    chances = randomizer.table / 2.0**randomizer.bits
    chances /= chances.sum(axis=0)
    outputs: NDArray[np.int64] = sum(
        (generator.multinomial(held, chances[:, cell]) for cell, held in enumerate(counts) if held),
        start=np.zeros(randomizer.outputs, dtype=np.int64),
    )
    return Aggregate(int(counts.sum()), outputs)
