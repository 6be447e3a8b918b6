"""Estimates where types are too many for a histogram: every set of attributes has a distribution of its own.

The nearest distribution of the cells of a marginal stands for the users in its variances. Distributions of sets that
share attributes need not agree, as those of one histogram would.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.analyst_part import ErrorFigures
from sordino_analysis.estimation.band import MOST_SKEWNESS, BandQuantile
from sordino_analysis.estimation.doubts import doubts_of_the_band
from sordino_analysis.estimation.intervals import bent, independent_quantile, normal_quantile
from sordino_analysis.estimation.linear_estimate import AnswerErrors, LinearEstimate, Reliability
from sordino_analysis.estimation.normality import Judgement, Normality, Reach, judgements
from sordino_analysis.estimation.sampling import SampledAnswers
from sordino_analysis.estimation.score_interval import VarianceCurve
from sordino_analysis.evaluation.contribution_law import ContributionLaw, gathered
from sordino_analysis.evaluation.orbit_answers import OrbitAnswerMoments
from sordino_analysis.evaluation.variance import counts_as_unbiased
from sordino_analysis.questions.linear.widths import CharacterBlock, CharacterMap

# Beyond it the nearest histogram takes minutes: every step goes over all types.
MOST_LISTED_TYPES = 1 << 16
# Beyond it an expansion says nothing of a quantile far out: some three reports that tell anything.
_MOST_EXCESS = 1.0


def few_attributes_estimate(
    law: OrbitAnswerMoments, answers: Floats, users: int, level: float, figures: ErrorFigures, compared: int
) -> LinearEstimate:
    """The estimate of answers (Q,) that are about few attributes each; the band holds `compared` answers at once.

    How often intervals hold is worked out for users who are spread evenly over the cells of a marginal.
    """
    operator, z = law.operator, normal_quantile(level)
    shares = LocalShares.nearest(operator, answers)
    plausible, tables = shares.smoothed(users, z), list(law.local_variances())
    variances = plausible.weigh(tables)
    low, high = operator.entry_range()
    errors = AnswerErrors(
        variances=variances,
        curve=VarianceCurve.through(plausible.answers, variances, plausible.slopes(tables), (low, high)),
        sampled=SampledAnswers(shares.answers, shares.weigh([b.values**2 for b in operator.blocks]), low, high),
        zero_one=operator.zero_one,
        shares=operator.shares(),
        bias=figures.bias_bound,
        users=users,
        level=level,
    )
    judged = [_judged(law, number, users, level) for number in range(len(operator.blocks))]
    reliability = Reliability(_by_query(operator, judged), _band(judged, users, level, compared))
    warnings = doubts_of_the_band(reliability.band, users, level)
    unbiased = counts_as_unbiased(figures)
    return errors.estimate(answers, shares.answers, reliability, warnings, counts_as_unbiased=unbiased)


@dataclass(frozen=True, eq=False)
class LocalShares:
    """For each block of queries the (n, K) shares of the cells of its supports."""

    operator: CharacterMap
    blocks: tuple[Floats, ...]

    @classmethod
    def nearest(cls, operator: CharacterMap, answers: Floats) -> LocalShares:
        """The nearest distribution to the answers (Q,) of each marginal; of a parity, even on either side of it."""
        return cls(operator, tuple(_nearest(block, answers[block.queries]) for block in operator.blocks))

    def smoothed(self, users: int, z: float) -> LocalShares:
        """Of the users and z² more, spread evenly; see `intervals.smoothed`."""
        blocks = ((users * shares + z**2 / shares.shape[1]) / (users + z**2) for shares in self.blocks)
        return LocalShares(self.operator, tuple(blocks))

    def weigh(self, tables: list[Floats]) -> Floats:
        """(Q,) means over the users of what each query has at each cell of its support, (rows, K) for each block."""
        found = np.empty(self.operator.shape[0])
        for block, shares, table in zip(self.operator.blocks, self.blocks, tables, strict=True):
            found[block.queries] = shares @ table.T
        return found

    @property
    def answers(self) -> Floats:
        """(Q,) the answers of these users."""
        return self.weigh([block.values for block in self.operator.blocks])

    def slopes(self, tables: list[Floats]) -> Floats:
        """(Q,) how `tables` (rows, K) go with the queries, as least squares over the users has it."""
        values = [block.values for block in self.operator.blocks]
        means, others = self.answers, self.weigh(tables)
        together = self.weigh([v * t for v, t in zip(values, tables, strict=True)]) - means * others
        spread = self.weigh([v**2 for v in values]) - means**2
        return np.divide(together, spread, out=np.zeros_like(spread), where=spread > 0)


def _nearest(block: CharacterBlock, answers: Floats) -> Floats:
    """(n, K) shares of the cells of each support, from its answers (n, rows)."""
    if block.shifted:
        return projected_onto_simplex(answers)
    if len(block.values) > 1:
        # Rules of a class: the distribution nearest to the even one that has the answers, as far as one has them.
        even = block.values.mean(axis=1)
        moved = (answers - even) @ np.linalg.pinv(block.values - even[:, None]).T
        return projected_onto_simplex(1 / block.values.shape[1] + moved)
    # A parity has one row.
    return np.asarray((1 + np.clip(answers, -1.0, 1.0) * block.values) / block.values.shape[1])


def projected_onto_simplex(points: Floats) -> Floats:
    """The nearest vectors with entries ≥ 0 and sum 1, row by row: `consistency.project_onto_simplex` of (n, K)."""
    ordered = -np.sort(-points, axis=1)
    excess = np.cumsum(ordered, axis=1) - 1.0
    counts = np.arange(1, points.shape[1] + 1)
    kept = (ordered * counts > excess).sum(axis=1)
    over = np.take_along_axis(excess, kept[:, None] - 1, axis=1) / kept[:, None]
    return np.asarray(np.maximum(points - over, 0.0))


def _judged(law: OrbitAnswerMoments, number: int, users: int, level: float) -> Judgement:
    """Of the first query of a block, which stands for all: they are alike."""
    block = law.operator.blocks[number]
    values, chances = gathered(*law.report_law(number, 0))
    even = np.full(chances.shape[1], 1 / chances.shape[1])
    listed = ContributionLaw(values, chances, even, block.values[0])
    return judgements([listed], chances.shape[1], users, level, [Reach(normal_quantile(level))])[0]


def _by_query(operator: CharacterMap, judged: list[Judgement]) -> tuple[Normality, ...]:
    places = np.empty(operator.shape[0], dtype=np.intp)
    for number, block in enumerate(operator.blocks):
        places[block.queries] = number
    return tuple(judged[place].normality for place in places.tolist())


def _band(judged: list[Judgement], users: int, level: float, compared: int) -> BandQuantile:
    """Šidák's quantile, which holds however correlated the errors of `compared` answers are, bent as the errors are.

    Of the pairs of 64 attributes one report in 300 is about a given one, so that errors of thousands of users have
    heavier tails than normal ones.
    """
    normal = independent_quantile(level, compared)
    around = [
        (one.of_reporters.skewness / math.sqrt(users), one.of_reporters.excess_kurtosis / users) for one in judged
    ]
    if any(abs(skewness) > MOST_SKEWNESS or excess > _MOST_EXCESS for skewness, excess in around):
        return BandQuantile(normal, holds=False)
    reached = [np.abs(bent(np.array([-normal, normal]), *one)).max() for one in around]
    return BandQuantile(float(max(normal, *reached)), holds=True)
