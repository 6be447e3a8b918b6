"""Pure ε for a workload: which strategies are compared, from listed types to characters of a hundred bits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.curator.candidate import Candidate
from sordino_analysis.curator.character_strategy import CharacterStrategy, squared_sensitivity_of_scales
from sordino_analysis.curator.design import asked_rows
from sordino_analysis.curator.laws import ball_blocks, variance_of
from sordino_analysis.curator.orbit_design import Orbit, binary_orbits, is_listed
from sordino_analysis.curator.pure_candidates import (
    PureQuestion,
    block_candidates,
    laplace_candidates,
    recursive_candidate,
    shared_budget,
)
from sordino_analysis.curator.strategy import Integers, IntegerStrategy, Strategy
from sordino_analysis.curator.tuning import CHARACTERS
from sordino_analysis.guarantees.releases import check_epsilon
from sordino_analysis.questions.linear.widths import CharacterMap, character_map
from sordino_analysis.questions.linear.workload import Workload
from sordino_analysis.request_terms import Neighbours, Objective
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon

Stop = Callable[[], bool]


def pure_candidates(
    workload: Workload,
    guarantee: PureEpsilon,
    objective: Objective,
    gaussian: Strategy,
    families: Sequence[str] = ("laplace", "blocks"),
    should_stop: Stop = lambda: False,
) -> Iterator[Candidate]:
    """Unbiased releases under ε that answer the workload: `laplace` noise, `blocks` of balls, `ntz`, which halves.

    `gaussian` is the strategy of least Gaussian noise, which both families try with their own noise. Raises
    InvalidValue for ε outside [.001, 64].
    """
    check_epsilon(guarantee)
    neighbours = gaussian.neighbours
    if not isinstance(gaussian, IntegerStrategy):
        if "blocks" in families:
            yield balls_on_characters(character_map(workload.operator), guarantee, objective, neighbours)
        return
    matrix, weights = asked_rows(workload, neighbours)
    question = PureQuestion(
        matrix=matrix, weights=weights, guarantee=guarantee, objective=objective, neighbours=neighbours
    )
    found: list[Candidate | None] = []
    if "laplace" in families:
        found.extend(laplace_candidates(question, should_stop))
    if "ntz" in families:
        found.append(recursive_candidate(question))
    if "blocks" in families:
        found.extend(block_candidates(question, gaussian.rows, _characters(workload, neighbours)))
    yield from (each for each in found if each is not None)


def balls_on_characters(
    operator: CharacterMap, guarantee: PureEpsilon, objective: Objective, neighbours: Neighbours
) -> Candidate:
    """One ball of ℓ∞ on the characters of each number of bits, with budgets ε_j ∝ (c_j v_j)^⅓.

    c_j is how much a variance v_j of these characters adds to the mean variance of the queries, weighted in rounds
    where the worst counts. No list of types is made. Raises InvalidValue for other queries.
    """
    orbits = binary_orbits(operator, neighbours)
    if orbits is None:
        raise InvalidValue("balls on characters answer all marginals or parities of attributes of two members")
    strategy = _unit_characters(operator, neighbours)
    weights = np.array([orbit.weight for orbit in orbits])
    best: Candidate | None = None
    for _ in range(CHARACTERS.rounds if objective == "max" else 1):
        found = _with_budgets(strategy, orbits, weights, guarantee)
        if best is None or found.variances.max() < best.variances.max():
            best = found
        by_degree = strategy.by_degree(found.law.variances())
        variances = np.array([(orbit.squares @ by_degree).max() for orbit in orbits])
        weights = np.maximum(weights * variances / variances.mean(), CHARACTERS.least_weight)
        weights /= weights.mean()
    assert best is not None
    return best


def _with_budgets(
    strategy: CharacterStrategy, orbits: Sequence[Orbit], weights: Floats, guarantee: PureEpsilon
) -> Candidate:
    bits, measured = strategy.bits, [j for j, scale in enumerate(strategy.scales) if scale]
    spectrum = weights @ np.array([orbit.spectrum for orbit in orbits])
    rows = {j: math.comb(bits, j) for j in measured}
    range_ = 2 if strategy.neighbours == "replace" else 1
    alone = {j: variance_of(ball_blocks(rows[j], range_, guarantee)[0]) for j in measured}
    # Degrees that no query asks about are measured, too, with next to none of ε.
    asked = np.maximum(spectrum, spectrum.max() * CHARACTERS.least_weight)
    costs = np.array([asked[j] * rows[j] * alone[j] for j in measured])
    budgets = shared_budget(guarantee, costs)
    blocks = [
        block for j, budget in zip(measured, budgets, strict=True) for block in ball_blocks(rows[j], range_, budget)
    ]
    return Candidate("balls on the characters", guarantee, strategy, strategy.blocks(blocks, guarantee))


def _characters(workload: Workload, neighbours: Neighbours) -> list[Integers]:
    """The characters of each number of bits, listed; none where the workload is of other queries."""
    operator = workload.operator
    if not isinstance(operator, CharacterMap) or binary_orbits(operator, neighbours) is None or not is_listed(workload):
        return []
    strategy = _unit_characters(operator, neighbours)
    rows = np.array([strategy.exact(unit) for unit in np.eye(workload.size, dtype=np.int64)]).T
    counts = [math.comb(strategy.bits, j) for j, scale in enumerate(strategy.scales) if scale]
    return np.split(rows, np.cumsum(counts)[:-1])


def _unit_characters(operator: CharacterMap, neighbours: Neighbours) -> CharacterStrategy:
    """Every character once; the number of people too, where it is secret."""
    width = max(block.supports.shape[1] for block in operator.blocks)
    scales = (0 if neighbours == "replace" else 1, *[1] * width)
    return CharacterStrategy(
        neighbours=neighbours,
        operator=operator,
        scales=scales,
        squared_sensitivity=squared_sensitivity_of_scales(len(operator.characters.shape), scales),
    )
