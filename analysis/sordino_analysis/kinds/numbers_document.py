"""The estimate of measures of numbers as a document, and what they truly are for users who are known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from sordino_analysis.answers.columns import Cell, cells_of_bounds
from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.answers.filling import cells_of_answers, cells_of_estimate
from sordino_analysis.estimation.derived_answers import DerivedAnswer, JointAnswers
from sordino_analysis.estimation.linear import LinearEstimate, LinearEstimator
from sordino_analysis.estimation.normality import columns_of_laws
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.kinds.linear_document import extras_of_round, terms_of_round
from sordino_analysis.kinds.numbers import NumberExtras, NumberRange
from sordino_analysis.kinds.true_measures import measures_of
from sordino_analysis.planning.rounds import ClosedRound
from sordino_analysis.questions.linear.numbers.measures import Measures, ShownMeasure
from sordino_analysis.questions.linear.scopes import bounds_of
from sordino_shared.protocol import Manifest


def estimated(manifest: Manifest, closed: ClosedRound) -> EstimateDocument:
    """The document of one closed round; raises EstimationError."""
    plan, blanket = closed.plan, closed.blanket
    estimator = LinearEstimator.of(plan.device, plan.analyst).among(closed.aggregate, blanket)
    found = estimator.estimate(closed.aggregate)
    measures = measures_of(estimator.workload)
    own = {"ranges": [_range(measures)], "scale": estimator.workload.scale, "rounding_bias": measures.square_bias / 2}
    extras = extras_of_round(plan, found, blanket).model_dump() | own
    return EstimateDocument.of_rows(
        "numbers",
        rows_of_measures(estimator, closed.aggregate, found),
        NumberExtras.model_validate(extras),
        **terms_of_round(str(manifest.campaign), plan, found.users, found.level),
        compared=len(measures.shown),
    )


def rows_of_measures(estimator: LinearEstimator, aggregate: Aggregate, found: LinearEstimate) -> list[dict[str, Cell]]:
    """The cells of each measure that was asked, where `found` has the answers to the plan's own queries.

    Raises EstimationError where the covariances of the answers are too many to hold.
    """
    measures = measures_of(estimator.workload)
    joint = JointAnswers.of(estimator, aggregate, found.level, compared=len(measures.shown))
    answers = _Answers(measures, found, joint)
    return [answers.row(shown) for shown in measures.shown]


@dataclass(frozen=True, eq=False)
class _Answers:
    """Rows of the table, by the answers to the plan's own queries and what follows from several of them."""

    measures: Measures
    found: LinearEstimate
    joint: JointAnswers

    def row(self, shown: ShownMeasure) -> dict[str, Cell]:
        """All cells of a measure."""
        names: dict[str, Cell] = {"kind": shown.name, "label": shown.label, "unit": shown.unit or None}
        if shown.category is not None:
            names |= self._of_category(shown.category)
        return names | (dict(self._asked(shown)) if shown.other is None else self._derived(shown))

    def _asked(self, shown: ShownMeasure) -> Iterable[tuple[str, Cell]]:
        """Of what the plan asks by itself; a sum is the mean times the users who reported."""
        factor = self.found.users if shown.name == "sum" else 1
        own = cells_of_estimate(self.found, [shown.row])
        if any(each.other is not None for each in self.measures.shown):
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
        assert shown.other is not None
        scale, joint = self.measures.scale, self.joint
        if shown.is_spread:
            rows, span, root = [shown.row, shown.other], scale.high - scale.low, shown.name == "sd"
            found = joint.spread(rows, (scale.low, scale.high), self.measures.square_bias, root=root)
            return _cells(found, span if root else span**2)
        middle = (scale.low + scale.high) / 2
        if shown.name == "sum":
            weights = np.zeros(len(joint.answers))
            weights[[shown.row, shown.other]] = joint.users, joint.users * middle
            return _cells(joint.combination(weights))
        group = self.measures.group(shown)
        if shown.name == "share_above":
            return _cells(joint.ratio(shown.row, shown.other, (0.0, 1.0), group))
        reach = (scale.high - scale.low) / 2
        return _cells(joint.ratio(shown.row, shown.other, (-reach, reach), group), added=middle)

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


def _range(measures: Measures) -> NumberRange:
    scale = measures.scale
    return NumberRange(attribute=scale.attribute.name, low=scale.low, high=scale.high, unit=scale.unit)
