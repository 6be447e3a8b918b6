"""One marginal on demand: of any attributes whose characters were measured, listed by the workload or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.documents.queries import MarginalQueries
from sordino_analysis.estimation.band import BandQuantile
from sordino_analysis.estimation.few_attributes import few_attributes_estimate, projected_onto_simplex
from sordino_analysis.estimation.intervals import bonferroni_quantile, normal_quantile, smoothed
from sordino_analysis.estimation.linear import LinearEstimator, check_aggregate
from sordino_analysis.estimation.linear_estimate import AnswerErrors, EstimationError, LinearEstimate, Reliability
from sordino_analysis.estimation.sampling import SampledAnswers
from sordino_analysis.estimation.score_interval import VarianceCurve
from sordino_analysis.estimation.sums_of_boxes import SumErrors
from sordino_analysis.evaluation.accumulate import Aggregate, mean_accumulator
from sordino_analysis.evaluation.orbit_answers import OrbitAnswerMoments
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.characters import cas_table
from sordino_analysis.questions.linear.widths import CharacterBlock, CharacterMap, character_map, marginal
from sordino_shared.protocol import DevicePart


@dataclass(frozen=True, eq=False)
class CombinedCells:
    """Combinations `rows` (m, K) of the cells of a marginal, in which `local` (K,) shares of the users are."""

    sums: SumErrors
    rows: Floats
    local: Floats

    def estimate(self, level: float) -> LinearEstimate:
        """With intervals that take the variance at the estimate; the band holds all m rows at once."""
        sums, means = self.sums, self.rows @ self.local
        ends = self.rows.min(axis=1), self.rows.max(axis=1)
        shares = np.asarray(np.isin(self.rows, (0.0, 1.0)).all(axis=1))
        errors = AnswerErrors(
            variances=sums.noise,
            curve=VarianceCurve.through(means, sums.noise, np.zeros_like(means), ends),
            sampled=SampledAnswers(means, self.rows**2 @ self.local, *ends),
            zero_one=bool(shares.all()),
            shares=shares,
            bias=float(sums.notable_bias.max()),
            users=sums.users,
            level=level,
        )
        band = BandQuantile(bonferroni_quantile(level, len(means)), holds=True)
        reliability = Reliability((None,) * len(means), band)
        return errors.estimate(sums.answers, means, reliability, (), counts_as_unbiased=not sums.notable_bias.any())


@dataclass(frozen=True, eq=False)
class MarginalEstimator:
    """A plan of parities or marginals, made ready to answer any marginal of up to as many attributes."""

    estimator: LinearEstimator
    law: OrbitAnswerMoments

    @classmethod
    def of(cls, device: DevicePart, analyst: AnalystPart) -> MarginalEstimator:
        """Raises EstimationError where the plan's reports are not about characters of a few attributes."""
        estimator = LinearEstimator.of(device, analyst)
        if not isinstance(estimator.law, OrbitAnswerMoments):
            raise EstimationError(f"reports of {analyst.mechanism} do not answer marginals on demand: ask the workload")
        return cls(estimator, estimator.law)

    def question(self, attributes: Sequence[str]) -> OrbitAnswerMoments:
        """The law of the answers to a marginal, one for each cell, of the attributes with these names.

        Raises EstimationError for names that the domain does not have, for too many attributes, and where a character
        that the marginal needs was never measured.
        """
        law, domain = self.law, self.estimator.workload.domain
        places = self._places(attributes)
        factor = marginal(domain, places, law.operator.characters)
        published = MarginalQueries(len(places), exactly=True)
        operator = character_map(factor.operator)
        workload = Workload(
            name=self.estimator.workload.name,
            domain=domain,
            published=published,
            operator=operator,
            name_query=factor.label,
            scope=factor.scope,
        )
        slopes, offsets = self._decoder(operator.blocks[0])
        return OrbitAnswerMoments(
            workload=workload, operator=operator, spectrum=law.spectrum, slopes=slopes, offsets=offsets
        )

    def estimate(self, attributes: Sequence[str], aggregate: Aggregate, level: float = 0.95) -> LinearEstimate:
        """The share of every cell of a marginal, with the interval of a question that was fixed before.

        The band holds all cells of all marginals of as many attributes as the plan was made for, or fewer, at once, so
        also those that are asked for after looking at others. Raises EstimationError as `question` does, and where
        there are no reports.
        """
        device = self.estimator.device
        if not 0 < level < 1:
            raise EstimationError(f"the level of an interval lies between 0 and 1, got {level}")
        check_aggregate(device, aggregate)
        law = self.question(attributes)
        answers = law.decode(mean_accumulator(device.randomizer, aggregate))
        return few_attributes_estimate(law, answers, aggregate.count, level, law.profile().figures(), self.compared)

    def combined(self, attributes: Sequence[str], rows: Floats, aggregate: Aggregate, level: float) -> CombinedCells:
        """Combinations `rows` (m, K) of the cells of one marginal, in C order, with the exact variances of each.

        Raises EstimationError as `estimate` does.
        """
        check_aggregate(self.estimator.device, aggregate)
        cells, users = self.question(attributes), aggregate.count
        answers = cells.decode(mean_accumulator(self.estimator.device.randomizer, aggregate))
        local = smoothed(projected_onto_simplex(answers[None])[0], users, normal_quantile(level))
        law = self._law_of(cells, rows)
        means = rows @ local
        sums = SumErrors(
            answers=rows @ answers,
            noise=np.concatenate([each @ local for each in law.local_variances()]),
            drawn=np.maximum(rows**2 @ local - means**2, 0.0),
            bias=np.concatenate(list(law.local_biases())),
            users=users,
        )
        return CombinedCells(sums, rows, local)

    def _law_of(self, cells: OrbitAnswerMoments, rows: Floats) -> OrbitAnswerMoments:
        """The law of each row (m, K) of the cells of one marginal, as a block of its own."""
        whole, characters = cells.operator.blocks[0], cells.operator.characters
        blocks = [
            replace(
                whole,
                table=row[None] @ cas_table(whole.shape) / row.size,
                queries=np.array([[place]]),
                shifted=False,
            )
            for place, row in enumerate(rows)
        ]
        operator = CharacterMap(characters.shape, blocks, characters)
        # What a report adds to each cell, it adds to a row once for each of them.
        offsets = np.concatenate([cells.offsets_of(0)[None] * row.sum() for row in rows])
        return replace(
            cells,
            workload=replace(cells.workload, operator=operator),
            operator=operator,
            slopes=np.repeat(cells.slopes_of(0)[None], len(rows), axis=0),
            offsets=offsets,
        )

    @property
    def compared(self) -> int:
        """Cells of all marginals of up to `width` attributes."""
        width = self.law.operator.characters.width
        sums = [1] + [0] * width
        for size in (size for size in self.law.operator.characters.shape if size > 1):
            for involved in range(width, 0, -1):
                sums[involved] += sums[involved - 1] * size
        return sum(sums[1:])

    def _places(self, attributes: Sequence[str]) -> tuple[int, ...]:
        known = {attribute.name: place for place, attribute in enumerate(self.estimator.workload.domain.attributes)}
        if unknown := [name for name in attributes if name not in known]:
            raise EstimationError(f"the domain has no attribute {unknown[0]!r}; it has {', '.join(known)}")
        places = tuple(sorted({known[name] for name in attributes}))
        width, shape = self.law.operator.characters.width, self.estimator.workload.domain.shape
        if len(places) != len(attributes) or not 1 <= len(places) <= width:
            raise EstimationError(f"a marginal is of 1 to {width} different attributes, and was asked of {attributes}")
        if constant := [self.estimator.workload.domain.attributes[a].name for a in places if shape[a] < 2]:
            raise EstimationError(f"attribute {constant[0]!r} has one member, so there is nothing to ask about it")
        return places

    def _decoder(self, block: CharacterBlock) -> tuple[Floats, Floats]:
        """The workload's slopes and offsets of such a marginal, or those that make each character unbiased."""
        law = self.law
        for number, listed in enumerate(law.operator.blocks):
            if listed.shifted and listed.shape == block.shape:
                return law.slopes_of(number)[None], law.offsets_of(number)[None]
        characters = law.operator.characters
        used = np.unique(characters.orbit_of[characters.places(tuple(block.supports[0].tolist()))[1:] - 1])
        information = law.spectrum.information.sum(axis=0)
        if (information[used] <= 0).any():
            raise EstimationError(
                "a character of these attributes was never measured, for no query of the workload needs it: ask for a "
                "marginal that the workload lists"
            )
        slopes = np.zeros((1, 1, 1, len(characters.orbits)))
        slopes[..., used] = 1 / information[used]
        return slopes, np.zeros((1, 1, 1))
