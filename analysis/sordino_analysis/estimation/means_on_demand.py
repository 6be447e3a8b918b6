"""Means of an attribute's numbers that somebody asks of a closed round, of all users or of a group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import reduce
from typing import Any, NoReturn

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.answer_on_demand import MeanAnswer, OnDemand, Quantiles
from sordino_analysis.estimation.derived_answers import DerivedAnswer, JointAnswers
from sordino_analysis.estimation.doubts import doubts_of_so_few
from sordino_analysis.estimation.linear_estimate import EstimationError, LinearEstimate
from sordino_analysis.estimation.linear_on_demand import LinearOnDemand
from sordino_analysis.estimation.sums_of_boxes import BoxSum, SumErrors
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.boxes import Box
from sordino_analysis.questions.linear.numbers.scale import scale_of
from sordino_analysis.questions.linear.on_demand import BoxKind, Quantile, check_count, parse_group
from sordino_analysis.questions.linear.operators import Dense
from sordino_analysis.questions.linear.workload import WorkloadError
from sordino_shared.domains import Domain, Number, Ordered


@dataclass(frozen=True, kw_only=True)
class _Question:
    """Rows (k,) of the numbers less `middle` and of the users who have one and are in the group."""

    label: str
    unit: str
    numbers: Floats
    users: Floats
    middle: float
    reach: float


def mean_answers(
    decoded: LinearOnDemand, domain: Domain, texts: Sequence[str], level: float, given: str | None
) -> OnDemand:
    """The mean of each attribute that `texts` name; devices hold members of `domain`.

    Raises WorkloadError for what has no numbers and for no group, EstimationError where the reports do not tell a mean.
    """
    check_count(texts)
    group = None if given is None else parse_group(domain, given)
    workload = decoded.estimator.workload
    asked = [_question(workload, domain, text, group) for text in texts]
    rows = np.stack([row for each in asked for row in (each.numbers, each.users)])
    labels = [label for each in asked for label in (each.label, f"who has a number for the {each.label}")]
    estimator = decoded.asked(Dense(rows), labels.__getitem__)
    decoded.check_bias(estimator)
    joint = JointAnswers.of(estimator, decoded.aggregate, level, compared=len(asked))
    answers = tuple(_answer(joint, 2 * place, each, group) for place, each in enumerate(asked))
    return OnDemand(
        answers=answers,
        compared=len(asked),
        users=joint.users,
        level=level,
        bias_bound=0.0,
        warnings=doubts_of_so_few(joint.users, level, estimator.law.judged_from),
        no_best="best guesses are of shares and quantiles, and a mean is unbiased",
    )


def _question(workload: Workload, domain: Domain, text: str, group: Box | None) -> _Question:
    names = [attribute.name for attribute in domain.attributes]
    if text not in names:
        raise WorkloadError(f"{text[:100]!r}: a mean is of an attribute, and there are {', '.join(names)[:1000]}", text)
    place = names.index(text)
    attribute = domain.attributes[place]
    scale = scale_of(attribute)
    assert isinstance(attribute, (Ordered, Number))
    knots = () if workload.dithering is None else workload.dithering.knots[place]
    types = knots or range(attribute.bins)
    everybody = group is None and len(types) == workload.domain.shape[place]
    # The row of a plan's own mean, if everybody has a number; else one whose entries are no larger than they must be.
    middle = 0.0 if everybody else (scale.low + scale.high) / 2
    present = np.zeros(workload.domain.shape[place])
    present[: len(types)] = 1.0
    numbers = np.append(scale.numbers(types) - middle, np.zeros(len(present) - len(types)))
    parts = [_inside(workload, domain, axis, group) for axis in range(len(names))]
    return _Question(
        label=f"mean of {text}" + (f" given {group.label}" if group else ""),
        unit=scale.unit,
        numbers=_product([part * numbers if axis == place else part for axis, part in enumerate(parts)]),
        users=_product([part * present if axis == place else part for axis, part in enumerate(parts)]),
        middle=middle,
        reach=(scale.high - scale.low) / 2,
    )


def _inside(workload: Workload, domain: Domain, axis: int, group: Box | None) -> Floats:
    """(types,) of an attribute: 1 for those of the group; raises WorkloadError where numbers were rounded."""
    inside = np.ones(workload.domain.shape[axis])
    attribute = domain.attributes[axis]
    if group is None or group.sides[axis] == (0, attribute.size - 1):
        return inside
    if workload.dithering is not None and workload.dithering.knots[axis]:
        raise WorkloadError(
            f"devices rounded {attribute.name!r}, so that no group of its numbers is told: give a category, or plan a "
            "mean_within",
            attribute,
        )
    first, last = group.sides[axis]
    return np.asarray((np.arange(len(inside)) >= first) & (np.arange(len(inside)) <= last), dtype=float)


def _product(parts: Sequence[Floats]) -> Floats:
    return reduce(lambda left, right: np.asarray(np.kron(left, right)), parts)


def _answer(joint: JointAnswers, row: int, asked: _Question, group: Box | None) -> MeanAnswer:
    """By Fieller's sets, or where everybody has a number by that row alone."""
    own: dict[str, Any] = {"label": asked.label, "unit": asked.unit}
    weights = np.zeros(len(joint.answers))
    if asked.users.min() == 1.0:
        weights[row] = 1.0
        return MeanAnswer(**own, **_moved(joint.combination(weights), asked.middle))
    weights[row + 1] = 1.0
    share = joint.combination(weights)
    where = group.label if group else "those with a number"
    found = joint.ratio(row, row + 1, (-asked.reach, asked.reach), where)
    given: dict[str, Any] = (
        {} if group is None else {"given": group.label, "group": share.uncut, "group_interval": share.interval}
    )
    return MeanAnswer(**own, **given, **_moved(found, asked.middle))


def _moved(found: DerivedAnswer, middle: float) -> dict[str, Any]:
    """The fields of an answer that is higher by `middle`."""
    plain = {each.name: getattr(found, each.name) for each in fields(found)}
    for name in ("value", "uncut"):
        plain[name] = None if plain[name] is None else plain[name] + middle
    for name in ("interval", "band", "population_interval"):
        plain[name] = None if plain[name] is None else (plain[name][0] + middle, plain[name][1] + middle)
    return plain


class RoundedOnDemand(LinearOnDemand):
    """A closed round of rounded numbers, which tells means and nothing about single numbers."""

    def compared(self, kind: BoxKind) -> int:
        _refuse()

    def shares(self, boxes: Sequence[Box], compared: int, level: float) -> OnDemand:
        _refuse()

    def quantiles(self, questions: Sequence[Quantile], level: float) -> OnDemand:
        _refuse()

    def sums(self, rows: Sequence[BoxSum], level: float) -> SumErrors:
        _refuse()

    def combinations(self, rows: Sequence[BoxSum], labels: Sequence[str], level: float) -> LinearEstimate:
        _refuse()

    def group_quantile(self, question: Quantile, group: Box, level: float) -> Quantiles:
        _refuse()


def _refuse() -> NoReturn:
    """Always raises EstimationError."""
    raise EstimationError(
        "reports of rounded numbers answer the measures that were asked, which the estimate has, and"
        " means: ask for a mean"
    )
