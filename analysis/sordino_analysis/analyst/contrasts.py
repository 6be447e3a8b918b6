"""Weighted sums of the answers of one estimate, and the covariance of their errors: both are linear queries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sordino_analysis.analyst.arguments import NUMBER, WrongType
from sordino_analysis.analyst.display import AnswersShown
from sordino_analysis.answers.columns import Cell
from sordino_analysis.answers.filling import cells_of_estimate
from sordino_analysis.answers.shown import ShownAnswers, shown_answers
from sordino_analysis.answers.table import AnswerTable, joined
from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.answer_on_demand import Answerer
from sordino_analysis.estimation.linear_estimate import LinearEstimate
from sordino_analysis.estimation.normality import columns_of_laws
from sordino_analysis.estimation.sums_of_boxes import BoxSum, sum_of_query
from sordino_analysis.figures import SHARE, chosen, only_unit
from sordino_analysis.questions.linear import Workload, WorkloadError
from sordino_analysis.questions.linear.on_demand import QUESTION_KINDS, parse_boxes
from sordino_analysis.questions.linear.units import units_of

# The label of a query, or the kind of a question and its text.
Asked = str | tuple[str, str]
# Queries of a covariance: each pair of them is a row.
_MOST_QUERIES = 50
# Labels that a message shows.
_SHOWN = 5


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Contrast(AnswersShown):
    """Σ weight · answer of one estimate; numbers are in `unit`, of shares as shares."""

    label: str
    unit: str
    found: LinearEstimate

    @property
    def value(self) -> float:
        """The unbiased sum."""
        return float(self.found.unbiased[0])

    @property
    def standard_error(self) -> float:
        """About the users who reported."""
        return float(self.found.standard_error[0])

    @property
    def interval(self) -> tuple[float, float]:
        """About the users who reported."""
        return float(self.found.lower[0]), float(self.found.upper[0])

    @property
    def population_interval(self) -> tuple[float, float]:
        """About the population that the users are an independent sample of."""
        return float(self.found.population_lower[0]), float(self.found.population_upper[0])

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the answer warns of."""
        return self.found.warnings

    @cached_property
    def table(self) -> AnswerTable:
        """One row under the names of docs/results.md."""
        cells: dict[str, Sequence[Cell]] = {**cells_of_estimate(self.found), **columns_of_laws(self.found.normality)}
        for name in ("best", "cut", "band_lower", "band_upper"):
            cells.pop(name, None)
        names: dict[str, Sequence[Cell]] = {"kind": ["contrast"], "label": [self.label], "unit": [self.unit or None]}
        return AnswerTable.of_columns(
            names | cells,
            users=self.found.users,
            level=self.found.level,
            bias_bound=self.found.bias_bound,
            warnings=joined(self.warnings),
        )

    def _shown(self) -> ShownAnswers:
        return shown_answers(self.table)


def contrast(answerer: Answerer, workload: Workload, weights: Mapping[Asked, float], level: float) -> Contrast:
    """Σ weight · answer; raises WorkloadError and EstimationError, and WrongType for anything but weights."""
    if not isinstance(weights, Mapping) or not weights:
        raise WrongType(f"give weights of queries, as {{'B': 1, 'A': -1}}, not {weights!r}", weights)
    wrong = [each for each in weights.values() if not NUMBER.accepts(each) or not math.isfinite(each)]
    if wrong:
        raise WrongType(f"the weight of a query is a finite number, not {wrong[0]!r}", wrong[0])
    if not any(weights.values()):
        raise WorkloadError("every weight is 0: give a weight other than 0", weights)
    terms = [(float(weight), *_asked(workload, key)) for key, weight in weights.items()]
    row = [(weight * own, box) for weight, each, _, _ in terms for own, box in each]
    label = _written([(weight, label) for weight, _, label, _ in terms])
    found = answerer.combinations([row], [label], level)
    return Contrast(label=label, unit=only_unit(unit for *_, unit in terms), found=found)


def covariance(answerer: Answerer, workload: Workload, queries: Sequence[Asked], level: float) -> Floats:
    """(m, m) of the errors: (Var(a + b) − Var a − Var b)/2, exact as the variances are.

    Raises WrongType for anything but a list of queries, WorkloadError and EstimationError as `contrast` does.
    """
    if not isinstance(queries, (list, tuple)) or not 1 <= len(queries) <= _MOST_QUERIES:
        raise WrongType(f"give a list of 1 to {_MOST_QUERIES} queries, not {str(queries)[:100]}", queries)
    sums = [_asked(workload, key)[0] for key in queries]
    places = [(one, other) for one in range(len(sums)) for other in range(one, len(sums))]
    rows = [list(sums[one]) if one == other else [*sums[one], *sums[other]] for one, other in places]
    found = answerer.sums(rows, level)
    together = np.zeros((len(sums), len(sums)))
    for (one, other), variance in zip(places, (found.noise / found.users).tolist(), strict=True):
        together[one, other] = together[other, one] = variance
    own = np.diag(together)
    covariances = (together - own[:, None] - own) / 2
    np.fill_diagonal(covariances, own)
    return covariances


def _asked(workload: Workload, key: Any) -> tuple[BoxSum, str, str]:
    """The query that a key names: as a sum of boxes, its label and its unit."""
    if isinstance(key, str):
        query = _query(workload, key)
        return sum_of_query(workload, query), key, units_of(workload, [query])[0]
    if not isinstance(key, tuple) or len(key) != 2 or not all(isinstance(part, str) for part in key):
        raise WrongType(f"name a query by its label, or as ('range', '5..20'), not {key!r}", key)
    kind, text = key
    if kind not in QUESTION_KINDS or kind in ("quantile", "mean"):
        linear = ", ".join(name for name in QUESTION_KINDS if name not in ("quantile", "mean"))
        raise WrongType(f"the kind of a question in a sum is one of {linear}, not {kind!r}", kind)
    (box,) = parse_boxes(workload.domain, kind, [text])
    return [(1.0, box)], box.label, SHARE


def _query(workload: Workload, label: str) -> int:
    labels = workload.labels()
    if label not in labels:
        shown = ", ".join(map(repr, labels[:_SHOWN])) + (", …" if len(labels) > _SHOWN else "")
        raise WorkloadError(f"the estimate has no query {label[:100]!r}; it has {shown}", label)
    return labels.index(label)


def _written(terms: Sequence[tuple[float, str]]) -> str:
    """As a person reads it: "B − A", "0.5·B + A"."""
    text = ""
    for weight, label in terms:
        size = "" if abs(weight) == 1 else f"{chosen(abs(weight))}·"
        sign = ("− " if weight < 0 else "+ ") if text else ("−" if weight < 0 else "")
        text += f"{' ' if text else ''}{sign}{size}{label}"
    return text
