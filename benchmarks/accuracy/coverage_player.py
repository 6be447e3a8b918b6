"""Campaigns of one plan, played with every report's exact law."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

import numpy as np

from benchmarks.accuracy.coverage_cases import Integers
from benchmarks.accuracy.coverage_vectors import played_directions
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.mechanisms.single_query import QueryKernel
from sordino_analysis.pairwise.decoded_report_moments import DecodedReportMoments
from sordino_analysis.pairwise.decoded_reports import DecodedReports
from sordino_analysis.pairwise.estimators import NoStatistic, one_round_estimate
from sordino_analysis.pairwise.one_step import one_step_estimate
from sordino_analysis.pairwise.protocol import PairwiseError, ProtocolDesign
from sordino_analysis.pairwise.protocol_registry import find_protocol
from sordino_analysis.pairwise.second_round import answers_to, asked_query
from sordino_analysis.pairwise.statistic_estimate import PairwiseEstimate
from sordino_analysis.planning.rounds import ClosedRound
from sordino_analysis.questions.pairwise import PairwiseStatistic
from sordino_analysis.vectorized.kernels import kernel_table
from sordino_shared.randomizers import FiniteKernel, Pair


@dataclass
class Player:
    """Plays campaigns of a plan.

    Where outputs are counted, it estimates as the protocol does but seals no second round: a sealed plan has digests
    and bounds besides, which no estimate depends on and which take half of the time. Reports that come out the same
    are answered once.
    """

    statistic: PairwiseStatistic
    design: ProtocolDesign
    law: DecodedReportMoments | None
    generator: np.random.Generator
    draw: bool = True
    known: dict[Hashable, PairwiseEstimate | QueryKernel | None] = field(default_factory=dict)

    @classmethod
    def of(cls, statistic: PairwiseStatistic, design: ProtocolDesign, generator: np.random.Generator) -> Player:
        """A player of the plan's campaigns."""
        device, analyst = design.first.device, design.first.analyst
        counted = isinstance(device.randomizer, FiniteKernel)
        law = DecodedReportMoments.of(device.randomizer, analyst.decoder) if counted else None
        return cls(statistic, design, law, generator)

    def estimates(self, counts: Integers, repeats: int, draw: bool) -> Iterator[PairwiseEstimate | None]:
        """What `repeats` second rounds after one first round come to; of one round, what each of `repeats` does.

        Estimates `draw` campaigns or not; intervals are the same.
        """
        self.draw = draw
        for _ in range(repeats):
            if self.law is None:
                yield self._of_vectors(counts)
            elif len(self.design.plan.rounds) == 1:
                yield self._of_one_round(counts)
        if self.law is not None and len(self.design.plan.rounds) == 2:
            yield from self._of_two_rounds(counts, repeats)

    def _of_vectors(self, counts: Integers) -> PairwiseEstimate | None:
        plan, pair = self.design.plan, self.design.first.device.randomizer
        assert isinstance(pair, Pair)
        closed = ClosedRound(self.design.first, played_directions(pair, counts, self.generator))
        try:
            following = find_protocol(plan.protocol).step(plan, (closed,))
        except PairwiseError:
            return None
        assert isinstance(following, PairwiseEstimate)
        return following

    def _of_one_round(self, counts: Integers) -> PairwiseEstimate | None:
        reports = self._first_reports(counts)
        key = (self.draw, reports.counts.tobytes())
        if key not in self.known:
            self.known[key] = self._after_one_round(reports)
        return self._estimate(key)

    def _of_two_rounds(self, counts: Integers, repeats: int) -> Iterator[PairwiseEstimate | None]:
        first, second = self._present(counts)
        reports, plan = self._first_reports(first), self.design.plan
        key = reports.counts.tobytes()
        if key not in self.known:
            self.known[key] = self._query(reports)
        asked = self.known[key]
        for _ in range(repeats):
            if not isinstance(asked, QueryKernel) or not second.any():
                yield self._after_one_round(reports)
                continue
            aggregate = played(asked.kernel, second, self.generator)
            both = (self.draw, key, aggregate.sums.tobytes())
            if both not in self.known:
                answers = answers_to(
                    asked.kernel, asked.decoder, aggregate, same_users=plan.protocol == "two_round_shared"
                )
                self.known[both] = one_step_estimate(
                    self.statistic,
                    reports,
                    answers,
                    plan.step,
                    target=plan.target,
                    protocol=plan.protocol,
                    draw=self.draw,
                )
            yield self._estimate(both)

    def _estimate(self, key: Hashable) -> PairwiseEstimate | None:
        found = self.known[key]
        assert not isinstance(found, QueryKernel)
        return found

    def _after_one_round(self, reports: DecodedReports) -> PairwiseEstimate | None:
        plan = self.design.plan
        try:
            return one_round_estimate(
                self.statistic, reports, target=plan.target, protocol=plan.protocol, draw=self.draw
            )
        except NoStatistic:
            return None

    def _query(self, reports: DecodedReports) -> QueryKernel | None:
        plan = self.design.plan
        try:
            return asked_query(self.statistic, reports, plan.target, plan.round_guarantees()[1])[1]
        except NoStatistic:
            return None

    def _first_reports(self, counts: Integers) -> DecodedReports:
        randomizer = self.design.first.device.randomizer
        assert self.law is not None
        assert isinstance(randomizer, FiniteKernel)
        return DecodedReports.of(self.law, played(randomizer, counts, self.generator))

    def _present(self, counts: Integers) -> tuple[Integers, Integers]:
        share = self.design.plan.first_share
        if share is None:
            return counts, counts
        first = self.generator.binomial(counts, share)
        return first, counts - first


def played(kernel: FiniteKernel, counts: Integers, generator: np.random.Generator) -> Aggregate:
    """What the users' reports add up to: multinomial counts of outputs."""
    chances = kernel_table(kernel) / 2.0**kernel.bits
    chances /= chances.sum(axis=0)
    outputs = np.zeros(kernel.outputs, dtype=np.int64)
    for cell in np.flatnonzero(counts):
        outputs += generator.multinomial(counts[cell], chances[:, cell])
    return Aggregate(int(counts.sum()), outputs)
