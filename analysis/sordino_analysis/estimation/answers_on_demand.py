"""Answers to questions that are asked of a closed round, whether its plan lists them or not."""

from __future__ import annotations

from collections.abc import Sequence

from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.documents.decoders import ScaledHistogramDecoder
from sordino_analysis.estimation.answer_on_demand import (
    Answer,
    Answerer,
    MeanAnswer,
    OnDemand,
    QuantileAnswer,
    ShareAnswer,
)
from sordino_analysis.estimation.grids_on_demand import FORMS
from sordino_analysis.estimation.groups import group_answers
from sordino_analysis.estimation.items import ItemEstimator
from sordino_analysis.estimation.items_on_demand import CountItems, ItemsOnDemand, count_in_table
from sordino_analysis.estimation.linear import EstimationError, LinearEstimator, check_aggregate
from sordino_analysis.estimation.linear_on_demand import LinearOnDemand
from sordino_analysis.estimation.marginals import MarginalEstimator
from sordino_analysis.estimation.marginals_on_demand import MarginalsOnDemand
from sordino_analysis.estimation.means_on_demand import RoundedOnDemand, mean_answers
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.evaluation.orbit_answers import OrbitAnswerMoments
from sordino_analysis.questions.linear.on_demand import QuestionKind, parse_boxes, parse_quantiles
from sordino_shared.domains import Domain
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import Coarsened, OrbitKernel

__all__ = ["Answer", "Answerer", "MeanAnswer", "OnDemand", "QuantileAnswer", "ShareAnswer", "answer", "answerer_of"]


def answerer_of(
    device: DevicePart,
    analyst: AnalystPart,
    aggregate: Aggregate,
    count_in_log: CountItems | None = None,
    blanket: int = 0,
) -> Answerer:
    """What answers questions about a closed round; raises EstimationError where its reports allow no answer.

    `blanket` of the reports are random ones of a shuffler.

    `count_in_log` counts the reports that hold items; it is needed where these are too many for a table.
    """
    check_aggregate(device, aggregate)
    if blanket:
        return _among_random_reports(device, analyst, aggregate, blanket)
    if isinstance(device.randomizer, Coarsened) and isinstance(analyst.decoder, ScaledHistogramDecoder):
        items = ItemEstimator(device, analyst)
        in_table = count_in_table(items, aggregate)
        count = in_table or count_in_log
        if count is None:
            raise EstimationError("items are counted in the reports one by one: give the reports too")
        return ItemsOnDemand(items, aggregate.count, count, None if in_table is None else aggregate)
    estimator = LinearEstimator.of(device, analyst)
    if estimator.workload.dithering is not None:
        return RoundedOnDemand(estimator, aggregate)
    if isinstance(estimator.law, OrbitAnswerMoments):
        return MarginalsOnDemand(MarginalEstimator(estimator, estimator.law), aggregate)
    return on_demand_of(estimator, aggregate)


def on_demand_of(estimator: LinearEstimator, aggregate: Aggregate) -> LinearOnDemand:
    """What answers other queries about a closed round, whose types are those of the estimator's workload."""
    form = FORMS.get(type(estimator.law))
    return LinearOnDemand(estimator, aggregate) if form is None else form(estimator, aggregate, estimator.law)


def _among_random_reports(
    device: DevicePart, analyst: AnalystPart, aggregate: Aggregate, blanket: int
) -> LinearOnDemand:
    estimator = LinearEstimator.of(device, analyst)
    if isinstance(device.randomizer, (Coarsened, OrbitKernel)):
        raise EstimationError(
            f"questions are answered behind a shuffler by tables and sets only, for now, not by {analyst.mechanism}: "
            "the estimate has the answers of the workload"
        )
    form = LinearOnDemand if estimator.workload.dithering is None else RoundedOnDemand
    return form(estimator.among(aggregate, blanket), aggregate)


def answer(
    answerer: Answerer,
    domain: Domain,
    kind: QuestionKind,
    texts: Sequence[str],
    level: float = 0.95,
    given: str | None = None,
) -> OnDemand:
    """Answers to the questions of one kind that `texts` ask, see `questions.linear.on_demand`.

    With `given`, as "country=DE", they are about the users of a group.

    Raises WorkloadError for what is no question about the domain, EstimationError for one that the reports leave open.
    """
    if not 0 < level < 1:
        raise EstimationError(f"the level of an interval lies between 0 and 1, got {level}")
    if kind == "mean":
        if not isinstance(answerer, LinearOnDemand):
            raise EstimationError(
                "the reports of this plan are about single items or a few attributes: plan a mean of the attribute"
            )
        return mean_answers(answerer, domain, texts, level, given)
    if given is not None:
        return group_answers(answerer, domain, kind, texts, given, level)
    if kind == "quantile":
        return answerer.quantiles(parse_quantiles(domain, texts), level)
    return answerer.shares(parse_boxes(domain, kind, texts), answerer.compared(kind), level)
