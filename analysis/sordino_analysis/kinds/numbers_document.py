"""The estimate of measures of numbers as a document."""

from __future__ import annotations

from sordino_analysis.answers.columns import Cell
from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.estimation.linear import LinearEstimate, LinearEstimator
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.figures import amount
from sordino_analysis.kinds.linear_document import extras_of_round, terms_of_round
from sordino_analysis.kinds.measured_rows import MeasuredRows
from sordino_analysis.kinds.numbers import NumberExtras, NumberRange
from sordino_analysis.kinds.true_measures import measures_of
from sordino_analysis.percentages import percent
from sordino_analysis.planning.rounds import ClosedRound
from sordino_analysis.questions.linear.numbers.clipping import MANY_CLIPPED, clipping_warning
from sordino_analysis.questions.linear.numbers.measures import Measures, ShownMeasure
from sordino_analysis.questions.linear.numbers.scale import NumberScale
from sordino_shared.domains import Integers
from sordino_shared.protocol import Manifest

# Standard deviations from the mean beyond which an end of the range is far away: half of the error is the range's.
_FAR = 10


def estimated(manifest: Manifest, closed: ClosedRound) -> EstimateDocument:
    """The document of one closed round; raises EstimationError."""
    plan, blanket = closed.plan, closed.blanket
    estimator = LinearEstimator.of(plan.device, plan.analyst).among(closed.aggregate, blanket)
    found = estimator.estimate(closed.aggregate)
    measures = measures_of(estimator.workload)
    rows = rows_of_measures(estimator, closed.aggregate, found)
    rounded = [] if measures.asked.is_product else measures.asked.numbers
    scales = [each.scale for each in rounded if each.scale is not None]
    extras = extras_of_round(plan, found, blanket)
    own = {
        "ranges": list(map(_range, scales)),
        "scale": estimator.workload.scale,
        "rounding_bias": measures.largest_bias / 2,
        "warnings": (*extras.warnings, *range_warnings(measures, rows)),
    }
    return EstimateDocument.of_rows(
        "numbers",
        rows,
        NumberExtras.model_validate(extras.model_dump() | own),
        **terms_of_round(str(manifest.campaign), plan, found.users, found.level),
        compared=len(measures.shown),
    )


def rows_of_measures(estimator: LinearEstimator, aggregate: Aggregate, found: LinearEstimate) -> list[dict[str, Cell]]:
    """The cells of each measure that was asked, where `found` has the answers to the plan's own queries.

    Raises EstimationError where the covariances of the answers are too many to hold.
    """
    measures = measures_of(estimator.workload)
    answers = MeasuredRows.of(measures, estimator, aggregate, found)
    return [answers.row(shown) for shown in measures.shown]


def range_warnings(measures: Measures, rows: list[dict[str, Cell]]) -> list[str]:
    """Which attributes have a range that is much wider than their numbers, and which one that clips many of them.

    The former by a standard deviation that was asked, the latter by shares of `clipped`.
    """
    said = [
        sentence
        for shown, row in zip(measures.shown, rows, strict=True)
        if shown.name == "clipped" and shown.category is None
        for sentence in _clips(shown, row)
    ]
    for number in measures.asked.numbers:
        own = [(shown, row) for shown, row in zip(measures.shown, rows, strict=True) if shown.number is number]
        of_all = {shown.name: row for shown, row in own if shown.category is None}
        if number.scale is not None and {"mean", "sd"} <= of_all.keys():
            said += _too_wide(number.scale, of_all["mean"], of_all["sd"])
    return said


def _clips(shown: ShownMeasure, row: dict[str, Cell]) -> list[str]:
    """A sentence where more numbers than a few are at an end of the range, however large the error may be.

    Not of whole numbers, which are often as large as the range allows, nor of a range that begins at 0, below which
    most quantities have no numbers.
    """
    scale, least = shown.number.numbers, row["lower"]
    at_zero = not shown.at[0] and scale.low == 0
    if isinstance(scale.attribute, Integers) or at_zero or not isinstance(least, float) or least <= MANY_CLIPPED:
        return []
    return [clipping_warning(scale.attribute.name, f"{percent(least)} or more", shown.label.partition(" at ")[2])]


def _too_wide(scale: NumberScale, mean: dict[str, Cell], spread: dict[str, Cell]) -> list[str]:
    """A sentence where an end is far from the mean, however large the deviation may be."""
    middle, most = mean["value"], spread["upper"]
    if not isinstance(middle, float) or not isinstance(most, float):
        return []
    reach = _FAR * most
    low, high = max(scale.low, middle - reach), min(scale.high, middle + reach)
    if (low, high) == (scale.low, scale.high) or not high > low:
        return []
    ends, unit = [amount(end, scale.unit, most) for end in (low, high)], scale.unit
    told = " and ".join(amount(end, unit, 0.0) for end, kept in ((scale.low, low), (scale.high, high)) if end != kept)
    saved = 1 - ((high - low) / (scale.high - scale.low)) ** 2
    return [
        f"the range of {scale.attribute.name} is wide: {told} {_FAR} standard deviations or more from the mean. From "
        f"{ends[0]} to {ends[1]} would do, with {percent(saved, 0)} fewer users for the same noise"
    ]


def _range(scale: NumberScale) -> NumberRange:
    return NumberRange(attribute=scale.attribute.name, low=scale.low, high=scale.high, unit=scale.unit)
