"""Answers on demand from reports about a few attributes at a time: cells of marginals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.answer_on_demand import OnDemand, Quantiles, ShareAnswer, share_answers
from sordino_analysis.estimation.linear_estimate import EstimationError, LinearEstimate
from sordino_analysis.estimation.marginals import MarginalEstimator
from sordino_analysis.estimation.sums_of_boxes import BoxSum, SumErrors, rows_of
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.questions.linear.boxes import Box
from sordino_analysis.questions.linear.on_demand import BoxKind, Quantile


@dataclass(frozen=True, eq=False)
class MarginalsOnDemand:
    """A closed round of a plan of parities or marginals."""

    estimator: MarginalEstimator
    aggregate: Aggregate

    def compared(self, kind: BoxKind) -> int:
        if kind in ("range", "rectangle"):
            raise EstimationError("the reports of this plan are about a few attributes at a time: ask for marginals")
        return self.estimator.compared

    def shares(self, boxes: Sequence[Box], compared: int, level: float) -> OnDemand:
        domain, estimates = self.estimator.estimator.workload.domain, dict[tuple[int, ...], LinearEstimate]()
        answers: list[ShareAnswer] = []
        for box in boxes:
            involved = box.involved(domain.shape)
            members = box.of_members(involved)
            if members is None:
                raise EstimationError(f"{box.label!r} holds several members of an attribute: ask for them one by one")
            if involved not in estimates:
                names = [domain.attributes[place].name for place in involved]
                estimates[involved] = self.estimator.estimate(names, self.aggregate, level)
            row = int(np.ravel_multi_index(members, [domain.shape[place] for place in involved]))
            answers.extend(share_answers([box.label], estimates[involved], [row]))
        return OnDemand(
            answers=tuple(answers),
            compared=compared,
            users=self.aggregate.count,
            level=level,
            bias_bound=max(one.bias_bound for one in estimates.values()),
            warnings=tuple(dict.fromkeys(each for one in estimates.values() for each in one.warnings)),
        )

    def quantiles(self, questions: Sequence[Quantile], level: float) -> OnDemand:
        raise EstimationError("the reports of this plan are about a few attributes at a time: ask for marginals")

    def sums(self, rows: Sequence[BoxSum], level: float) -> SumErrors:
        """All boxes must be about one set of attributes, whose marginal the plan answers."""
        names, local = self._local(rows)
        return self.estimator.combined(names, local, self.aggregate, level).sums

    def combinations(self, rows: Sequence[BoxSum], labels: Sequence[str], level: float) -> LinearEstimate:
        names, local = self._local(rows)
        return self.estimator.combined(names, local, self.aggregate, level).estimate(level)

    def _local(self, rows: Sequence[BoxSum]) -> tuple[list[str], Floats]:
        """The attributes that boxes are about, and the rows (m, K) over the cells of their marginal."""
        domain = self.estimator.estimator.workload.domain
        involved = sorted({place for row in rows for _, box in row for place in box.involved(domain.shape)})
        names = [domain.attributes[place].name for place in involved]
        shape = tuple(domain.shape[place] for place in involved)
        sides = [[(w, Box(box.label, tuple(box.sides[a] for a in involved))) for w, box in row] for row in rows]
        return names, rows_of(sides, shape).matrix

    def group_quantile(self, question: Quantile, group: Box, level: float) -> Quantiles:
        raise EstimationError("the reports of this plan are about a few attributes at a time: ask for marginals")
