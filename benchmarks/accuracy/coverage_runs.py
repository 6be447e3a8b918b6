"""Campaigns of one cell, played with every report's exact law: how often 95 % intervals hold, and what was said."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from benchmarks.accuracy.coverage_cases import Cell, Floats, Integers, drawn_users, histogram_of, statistic_of
from benchmarks.accuracy.coverage_player import Player
from sordino_analysis.pairwise.protocol import ProtocolDesign, ProtocolRequest
from sordino_analysis.pairwise.protocol_registry import find_protocol
from sordino_analysis.pairwise.statistic_estimate import PairwiseEstimate
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.pairwise import PairwiseStatistic
from sordino_analysis.request_terms import Effort
from sordino_shared.errors import InvalidValue

# Plans are made for so many users, and used for all numbers of them.
_PLANNED_USERS = 200
# In so many campaigns the estimate may draw campaigns to see whether it warns, which takes ten times as long as all
# else. Warnings are counted in these alone.
_CHECKED = 60
LEVEL = 0.95


@dataclass(frozen=True)
class Tried:
    """What `campaigns` campaigns came to, as shares of them.

    `coverage` is that of the interval about the users who reported, `population` of the other. None where no campaign
    had a statistic to cover. `standard_error` of the first counts second rounds after the same first one as alike as
    they came out. `doubted` published a warning that the interval may not hold, `unbounded` an interval that
    is all the statistic can be, `valueless` no value, `refused` nothing at all; `made_up` a value though none existed.
    """

    cell: Cell
    campaigns: int
    coverage: float | None
    population: float | None
    standard_error: float
    doubted: float
    unbounded: float
    valueless: float
    refused: float
    made_up: float


SHARES = tuple(each.name for each in fields(Tried) if each.name not in ("cell", "campaigns", "standard_error"))


class Designs:
    """Quick plans, each made once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, float], tuple[PairwiseStatistic, ProtocolDesign]] = {}

    def of(self, cell: Cell) -> tuple[PairwiseStatistic, ProtocolDesign]:
        """The statistic and the plan of a cell, which do not depend on its users."""
        key = (cell.statistic, cell.protocol, cell.epsilon)
        if key not in self._known:
            statistic = statistic_of(cell.statistic)
            request = ProtocolRequest(
                statistic, PlanningOptions.of(epsilon=cell.epsilon, users=_PLANNED_USERS, effort=Effort.QUICK)
            )
            self._known[key] = statistic, find_protocol(cell.protocol).design(request, lambda fraction: None)
        return self._known[key]


def tried(designs: Designs, cell: Cell, campaigns: int, repeats: int, seed: int) -> Tried:
    """Play the cell; in protocols of two rounds, each first round is followed by `repeats` second ones."""
    statistic, design = designs.of(cell)
    histogram = histogram_of(statistic, cell.population)
    generator = np.random.default_rng([seed, *repr(cell).encode()])
    truth_of_population = _truth(statistic, histogram=histogram)
    repeats = repeats if len(design.plan.rounds) > 1 else 1
    player = Player.of(statistic, design, generator)
    groups: list[list[tuple[float, ...]]] = []
    for counts in drawn_users(histogram, cell.users, -(-campaigns // repeats), generator):
        truth = _truth(statistic, counts=counts)
        checked = len(groups) * repeats < _CHECKED
        estimates = player.estimates(counts, repeats, draw=checked)
        groups.append([_judged(each, checked, truth, truth_of_population, statistic.limits) for each in estimates])
    judged = np.array(groups, dtype=float)
    own, population, *shares = (_mean(judged[:, :, column].ravel()) for column in range(judged.shape[2]))
    error = _standard_error(judged[:, :, 0])
    return Tried(cell, judged.shape[0] * repeats, own, population, error, *(share or 0.0 for share in shares))


def pooled(first: Tried, second: Tried) -> Tried:
    """What both came to, of the same cell."""
    campaigns = first.campaigns + second.campaigns
    share = first.campaigns / campaigns
    found = {}
    for name in SHARES:
        mine, its = getattr(first, name), getattr(second, name)
        known = [each for each in (mine, its) if each is not None]
        found[name] = share * mine + (1 - share) * its if len(known) == 2 else next(iter(known), None)
    error = float(np.hypot(share * first.standard_error, (1 - share) * second.standard_error))
    return Tried(cell=first.cell, campaigns=campaigns, standard_error=error, **found)


def _mean(column: Floats) -> float | None:
    known = column[~np.isnan(column)]
    return float(known.mean()) if len(known) else None


def _standard_error(coverage: Floats) -> float:
    """Of the mean of `coverage` (first rounds, second rounds), at least that of as many independent ones at 95 %."""
    groups = coverage[~np.isnan(coverage).any(axis=1)].mean(axis=1)
    if len(groups) < 2:
        return 1.0
    independent = LEVEL * (1 - LEVEL) / (len(groups) * coverage.shape[1])
    return float(np.sqrt(max(groups.var(ddof=1) / len(groups), independent)))


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
    estimate: PairwiseEstimate | None,
    checked: bool,
    truth: float | None,
    population: float | None,
    limits: tuple[float, float],
) -> tuple[float, ...]:
    """Coverages (nan where there is nothing to cover), then doubted, unbounded, valueless, refused, made up.

    Doubted is nan where it was not `checked`.
    """
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
    doubted = float(bool(estimate.doubts)) if checked else np.nan
    return holds, holds_population, doubted, whole, valueless, 0, truth is None and not valueless
