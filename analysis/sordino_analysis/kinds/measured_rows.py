"""Rows of the table of measures, by the answers to rows of a plan and what follows from several of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sordino_analysis.answers.columns import Cell, cells_of_bounds
from sordino_analysis.answers.filling import cells_of_answers, cells_of_estimate
from sordino_analysis.estimation.answers_on_demand import on_demand_of
from sordino_analysis.estimation.derived_answers import DerivedAnswer, JointAnswers
from sordino_analysis.estimation.linear import LinearEstimate, LinearEstimator
from sordino_analysis.estimation.normality import columns_of_laws
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.kinds.number_quantiles import quantile_among
from sordino_analysis.questions.linear.numbers.measures import Measures, ShownMeasure
from sordino_analysis.questions.linear.operators import Dense
from sordino_analysis.questions.linear.scopes import bounds_of


@dataclass(frozen=True, eq=False, kw_only=True)
class MeasuredRows:
    """The answers `found` to the rows of the measures, by an `estimator` that is ready for these rows.

    `plan` is the one of the plan's own queries, which are others where the shares of all members were asked.
    """

    measures: Measures
    plan: LinearEstimator
    estimator: LinearEstimator
    found: LinearEstimate
    aggregate: Aggregate

    @classmethod
    def of(
        cls, measures: Measures, estimator: LinearEstimator, aggregate: Aggregate, found: LinearEstimate
    ) -> MeasuredRows:
        """From the answers to the plan's own queries; raises EstimationError where they do not tell the measures."""
        if not measures.asked.is_product or measures.are_quantiles:
            return cls(measures=measures, plan=estimator, estimator=estimator, found=found, aggregate=aggregate)
        rows, decoded = measures.rows, on_demand_of(estimator, aggregate)
        asked = decoded.asked(Dense(np.stack([row.values for row in rows])), lambda query: rows[query].label)
        bias, compared = float(asked.law.profile().bias.max()), len(measures.shown)
        answers = asked.estimate_among(decoded.nearest, aggregate, found.level, compared, bias)
        return cls(measures=measures, plan=estimator, estimator=asked, found=answers, aggregate=aggregate)

    @cached_property
    def joint(self) -> JointAnswers:
        """The answers with their covariances; raises EstimationError where those are too many."""
        compared = len(self.measures.shown)
        return JointAnswers.of(self.estimator, self.aggregate, self.found.level, compared=compared)

    def row(self, shown: ShownMeasure) -> dict[str, Cell]:
        """All cells of a measure."""
        names: dict[str, Cell] = {"kind": shown.name, "label": shown.label, "unit": shown.unit or None}
        if shown.category is not None:
            names |= self._of_category(shown.category)
        if shown.name == "quantile":
            return names | quantile_among(self.measures, shown, self.plan, self.aggregate, self.found)
        return names | (dict(self._asked(shown)) if shown.is_row else self._derived(shown))

    def _asked(self, shown: ShownMeasure) -> Iterable[tuple[str, Cell]]:
        """Of what the plan asks by itself; a sum is the mean times the users who reported."""
        factor = self.found.users if shown.name == "sum" else 1
        own = cells_of_estimate(self.found, [shown.row])
        if any(each.row >= 0 and not each.is_row for each in self.measures.shown):
            own |= self._wider(own, shown.row)
        for name, [cell] in own.items():
            assert isinstance(cell, float)
            yield name, cell * factor
        for name, [law] in columns_of_laws([self.found.normality[shown.row]]).items():
            yield name, law

    def _wider(self, own: Mapping[str, list[Cell]], row: int) -> dict[str, list[Cell]]:
        """The band of an answer that is to hold together with what follows from several."""
        unit = np.zeros(len(self.joint.answers))
        unit[row] = 1.0
        band = self.joint.combination(unit).band
        assert band is not None
        [low], [high] = own["band_lower"], own["band_upper"]
        assert isinstance(low, float)
        assert isinstance(high, float)
        return {"band_lower": [min(low, band[0])], "band_upper": [max(high, band[1])]}

    def _derived(self, shown: ShownMeasure) -> dict[str, Cell]:
        joint = self.joint
        if shown.is_spread:
            return self._spread(shown)
        assert shown.share is not None
        if shown.name == "sum":
            weights = np.zeros(len(joint.answers))
            weights[[shown.row, shown.share]] = joint.users, joint.users * shown.middle
            return _cells(joint.combination(weights))
        found = joint.ratio(shown.row, shown.share, shown.limits, shown.group)
        return _cells(found, added=shown.middle)

    def _spread(self, shown: ShownMeasure) -> dict[str, Cell]:
        assert shown.square is not None
        scale, root = shown.number.numbers, shown.name == "sd"
        span, bias = scale.high - scale.low, self.measures.square_bias(shown.number)
        rows = [shown.row, shown.square]
        if shown.share is None:
            found = self.joint.spread(rows, scale.low, span, bias, root=root)
        else:
            found = self.joint.spread_among([*rows, shown.share], span, bias, shown.group, root=root)
        return _cells(found, span if root else span**2)

    def _of_category(self, category: tuple[int, int]) -> Mapping[str, Cell]:
        domain, (place, member) = self.measures.domain, category
        sides = [(member, member) if axis == place else (0, size - 1) for axis, size in enumerate(domain.shape)]
        return cells_of_bounds(bounds_of(domain, sides))


def _cells(found: DerivedAnswer, factor: float = 1.0, added: float = 0.0) -> dict[str, Cell]:
    """The cells that an answer has, in units: its ends and itself times `factor`, and `added` to all but errors."""
    cells = {name: cell for name, [cell] in cells_of_answers([found]).items() if cell is not None}
    errors = ("standard_error", "population_standard_error")
    return {
        name: cell * factor + (0.0 if name in errors else added) if isinstance(cell, float) else cell
        for name, cell in cells.items()
    }
