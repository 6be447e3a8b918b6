"""Quantiles among all users or those of a category, from the rows of a plan or from the shares of all bins."""

from __future__ import annotations

from sordino_analysis.answers.columns import Cell
from sordino_analysis.answers.filling import cells_of_answers
from sordino_analysis.estimation.answer_on_demand import QuantileAnswer, ShareAnswer
from sordino_analysis.estimation.answers_on_demand import on_demand_of
from sordino_analysis.estimation.cumulative import quantile_answer
from sordino_analysis.estimation.fieller import enough_users
from sordino_analysis.estimation.intervals import normal_quantile
from sordino_analysis.estimation.linear import LinearEstimate, LinearEstimator
from sordino_analysis.estimation.linear_on_demand import LinearOnDemand
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.questions.linear.boxes import Box
from sordino_analysis.questions.linear.numbers.measures import Measures, ShownMeasure
from sordino_analysis.questions.linear.on_demand import Quantile
from sordino_shared.domains import Domain, Ordered
from sordino_shared.quantities import quantity


def quantile_among(
    measures: Measures, shown: ShownMeasure, estimator: LinearEstimator, aggregate: Aggregate, found: LinearEstimate
) -> dict[str, Cell]:
    """The cells of a quantile: the bin that it lies in, and those that may be it; raises EstimationError."""
    decoded = on_demand_of(estimator, aggregate)
    if measures.asked.is_product:
        answer, share = _of_all_bins(measures, shown, decoded, found.level)
    else:
        answer, share = _of_rows(shown, decoded, found)
    cells = _cells(answer)
    return cells if share is None else cells | _not_told(share, shown.group, found)


def _of_all_bins(
    measures: Measures, shown: ShownMeasure, decoded: LinearOnDemand, level: float
) -> tuple[QuantileAnswer, tuple[float, float] | None]:
    """By the shares of all bins, with the share of the users whom it is about and its error."""
    domain, number = measures.domain, shown.number
    question = Quantile(shown.label, number.place, shown.at[0])
    if shown.category is None and not number.absent:
        [answer] = decoded.quantiles([question], level).answers
        assert isinstance(answer, QuantileAnswer)
        return answer, None
    sides = [(0, size - 1) for size in domain.shape]
    if shown.category is not None:
        place, member = shown.category
        sides[place] = (member, member)
    attribute = domain.attributes[number.place]
    assert isinstance(attribute, Ordered)
    sides[number.place] = (0, attribute.bins - 1)
    group = Box(shown.group, tuple(sides))
    [share] = decoded.shares([group], 1, level).answers
    assert isinstance(share, ShareAnswer)
    answer = quantile_answer(domain, question, decoded.group_quantile(question, group, level))
    return answer, (share.uncut, share.standard_error)


def _of_rows(
    shown: ShownMeasure, decoded: LinearOnDemand, found: LinearEstimate
) -> tuple[QuantileAnswer, tuple[float, float] | None]:
    """By the rows of those at or below the ends of bins."""
    matrix = decoded.estimator.workload.operator.dense()
    whole = matrix[shown.share] if shown.share is not None else matrix[0] * 0.0 + 1.0
    bins = decoded.quantile_of_rows(matrix[list(shown.below)], whole, shown.at[0], found.level, shown.label)
    answer = quantile_answer(Domain((shown.number.told,)), Quantile(shown.label, 0, shown.at[0]), bins)
    if shown.share is None:
        return answer, None
    return answer, (float(found.unbiased[shown.share]), float(found.standard_error[shown.share]))


def _cells(answer: QuantileAnswer) -> dict[str, Cell]:
    found: dict[str, Cell] = {
        name: cell for name, [cell] in cells_of_answers([answer]).items() if cell is not None and name != "value"
    }
    ends = {
        f"value_{end}": cell for end, cell in zip(("lower", "upper"), answer.value, strict=True) if cell is not None
    }
    return found | {"member": answer.bin} | {name: float(cell) for name, cell in ends.items()}


def _not_told(share: tuple[float, float], group: str, found: LinearEstimate) -> dict[str, Cell]:
    """A sentence where the users whom a quantile is about may be none."""
    (seen, error), z = share, normal_quantile(found.level)
    if seen > z * error:
        return {}
    users = enough_users(found.users, seen if seen > 0 else z * error, error, z)
    would = f"about {quantity(users, 'user')} in all would be enough"
    if seen <= 0:
        would = f"it takes {quantity(users, 'user')} in all or more"
    return {"sentence": f"not enough users in {group}: {would}", "enough_users": users}
