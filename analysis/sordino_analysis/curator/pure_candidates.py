"""Strategies of pure ε for listed types: what is measured, with which blocks of noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.curator.candidate import Candidate
from sordino_analysis.curator.decoding import decoded_strategy
from sordino_analysis.curator.laws import BlockLaw, ball_blocks, laplace_block
from sordino_analysis.curator.loss import loss_of_rows
from sordino_analysis.curator.rounding import as_integers
from sordino_analysis.curator.shell_index import MAX_DIMENSION
from sordino_analysis.curator.strategy import Integers
from sordino_analysis.curator.tuning import PURE
from sordino_analysis.documents.curator_part import NoiseBlock
from sordino_analysis.optimisation.gaussian.covariance import reduced_rows
from sordino_analysis.optimisation.gaussian.ellipsoids import halved_axes
from sordino_analysis.optimisation.laplace.descent import (
    LaplaceObjective,
    best_starts,
    descend,
    round_steps_for,
    steps_for,
    with_room,
)
from sordino_analysis.optimisation.laplace.tuning import DESCENT
from sordino_analysis.request_terms import Neighbours, Objective
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import NANO, PureEpsilon

Stop = Callable[[], bool]


@dataclass(frozen=True, eq=False, kw_only=True)
class PureQuestion:
    """m rows (m, k) with weights (m,), to be answered under ε with the least worst or mean variance."""

    matrix: Floats
    weights: Floats
    guarantee: PureEpsilon
    objective: Objective
    neighbours: Neighbours

    def value(self, variances: Floats) -> float:
        """What the objective takes of variances (m,)."""
        return float(variances.max() if self.objective == "max" else np.mean(self.weights * variances))

    def candidate(self, name: str, rows: Integers, norms: Sequence[tuple[int, str]]) -> Candidate | None:
        """The rows with noise of these blocks (rows, norm), among which ε is shared for the least mean variance.

        None where they do not tell the queries apart, or where the noise is beyond what is drawn.
        """
        try:
            distances = _distances(rows, norms, self.neighbours)
            even = [_blocks(count, norm, distance, self.guarantee) for (count, norm), distance in distances]
            blocks = [block for part in even for block in part]
            if len(distances) > 1:
                blocks = self._shared(rows, distances, blocks)
            law = _law(rows, blocks, self.guarantee, self.neighbours)
            strategy = decoded_strategy(rows, self.matrix, self.neighbours, law.variances())
            strategy.check_decodes(self.matrix)
        except InvalidValue:
            return None
        return Candidate(name, self.guarantee, strategy, strategy.blocks(law.blocks, self.guarantee))

    def _shared(
        self, rows: Integers, distances: Sequence[tuple[tuple[int, str], int]], even: Sequence[NoiseBlock]
    ) -> list[NoiseBlock]:
        """Budgets ε_b ∝ (c_b v_b)^⅓, where the mean variance is Σ c_b v_b/ε_b² (Nikolov 2022, Lemma 4.5)."""
        law = BlockLaw(guarantee=self.guarantee, blocks=tuple(even))
        variances = law.variances()
        decoder = decoded_strategy(rows, self.matrix, self.neighbours, variances).decoder
        places = np.repeat(np.arange(len(distances)), [count for (count, _), _ in distances])
        costs = np.asarray(np.bincount(places, (self.weights @ decoder**2) * variances), dtype=float)
        budgets = shared_budget(self.guarantee, costs)
        parts = [
            _blocks(count, norm, distance, budget)
            for ((count, norm), distance), budget in zip(distances, budgets, strict=True)
        ]
        return [block for part in parts for block in part]


def shared_budget(guarantee: PureEpsilon, costs: Floats) -> list[PureEpsilon]:
    """Whole nano-ε of sum ε in proportion to costs^⅓ (b,): the least Σ costs_b/ε_b²."""
    shares = np.cbrt(costs)
    nano = np.maximum(1, np.floor(guarantee.nano * shares / shares.sum())).astype(np.int64)
    nano[nano.argmax()] += guarantee.nano - int(nano.sum())
    return [PureEpsilon(each) for each in nano.tolist()]


def laplace_candidates(question: PureQuestion, should_stop: Stop) -> Iterator[Candidate | None]:
    """Laplace noise on the cells, and on the best strategies that a descent finds."""
    size = question.matrix.shape[1]
    yield question.candidate("discrete laplace on cells", np.eye(size, dtype=np.int64), [(size, "l1")])
    weights, rows = question.weights, None
    rounds = DESCENT.rounds if question.objective == "max" else 1
    for number in range(rounds):
        objective = LaplaceObjective.of(question.matrix, weights, question.neighbours)
        if rows is None:
            started = [
                descend(objective, with_room(start), steps_for(size), should_stop)
                for start in best_starts(objective, should_stop)
            ]
            rows = min(started, key=objective.value)
        else:
            rows = descend(objective, rows, [0, 0, round_steps_for(size)], should_stop)
        whole = np.rint(2**PURE.bits * rows).astype(np.int64)
        whole = whole[whole.any(axis=1)]
        found = question.candidate("discrete laplace, descended", whole, [(len(whole), "l1")])
        yield found
        if found is None or should_stop() or number + 1 == rounds:
            return
        variances = found.variances
        weights = np.maximum(weights * variances / (weights @ variances / len(weights)), DESCENT.least_weight)
        weights = weights * len(weights) / weights.sum()


def block_candidates(
    question: PureQuestion, gaussian: Integers, characters: Sequence[Integers]
) -> Iterator[Candidate | None]:
    """Balls on the queries and on the characters of each number of bits, and noise on `gaussian` rows (r, k)."""
    queries = _whole(question.matrix)
    if queries is not None and len(queries) <= MAX_DIMENSION:
        yield question.candidate("ball on the queries", queries, [(len(queries), "linf")])
    if characters:
        rows = np.vstack(characters)
        norms = [(len(each), "linf") for each in characters]
        yield question.candidate("balls on the characters", rows, norms)
    if len(gaussian) <= MAX_DIMENSION:
        yield question.candidate("ball on the gaussian's rows", gaussian, [(len(gaussian), "linf")])
    yield question.candidate("discrete laplace on the gaussian's rows", gaussian, [(len(gaussian), "l1")])


def recursive_candidate(question: PureQuestion) -> Candidate | None:
    """Balls on the axes of minimum ellipsoids, halved again and again, with shared budgets.

    Nikolov, Talwar and Zhang (2013), Theorem 4, whose least squares are the projected answers, with the budgets of
    Nikolov (2022), Lemmas 4.3 and 4.5; cubes take the place of the bodies that have no exact sampler.
    """
    _, reduced = reduced_rows(np.sqrt(question.weights)[:, None] * question.matrix, question.neighbours)
    parts = [axes.T @ reduced for axes in halved_axes(reduced)]
    largest = max(float(np.abs(part).max()) for part in parts)
    rows = np.rint(2**PURE.bits / largest * np.vstack(parts)).astype(np.int64)
    return question.candidate("balls on halved ellipsoids", rows, [(len(part), "linf") for part in parts])


def _whole(matrix: Floats) -> Integers | None:
    try:
        return as_integers(matrix)[0].astype(np.int64)
    except InvalidValue:
        return None


def _distances(
    rows: Integers, norms: Sequence[tuple[int, str]], neighbours: Neighbours
) -> list[tuple[tuple[int, str], int]]:
    """How far neighbours are apart in each block, in whole numbers."""
    found, start = [], 0
    for count, norm in norms:
        part = rows[start : start + count]
        unit = NoiseBlock(count, norm, (1, 1))
        found.append(((count, norm), int(loss_of_rows(part, [unit], neighbours))))
        start += count
    return found


def _blocks(count: int, norm: str, distance: int, budget: PureEpsilon) -> Sequence[NoiseBlock]:
    return [laplace_block(count, distance, budget)] if norm == "l1" else ball_blocks(count, distance, budget)


def _law(rows: Integers, blocks: Sequence[NoiseBlock], guarantee: PureEpsilon, neighbours: Neighbours) -> BlockLaw:
    """The blocks with scales that spend all of ε: no pair may be as far apart as all blocks together allow."""
    loss = loss_of_rows(rows, blocks, neighbours)
    spare = loss / Fraction(guarantee.nano, NANO)
    law = BlockLaw(guarantee=guarantee, blocks=tuple(_scaled(block, spare) for block in blocks))
    law.check_drawable()
    return law


def _scaled(block: NoiseBlock, factor: Fraction) -> NoiseBlock:
    """The scale times a factor of at most 1, or a little more, with a short numerator."""
    if factor == 1:
        return block
    scale = block.exact_scale * factor
    shift = max(0, PURE.scale_bits - (scale.numerator // scale.denominator).bit_length())
    short = Fraction(-(-(scale.numerator << shift) // scale.denominator), 1 << shift)
    return NoiseBlock(block.rows, block.norm, (short.numerator, short.denominator))
