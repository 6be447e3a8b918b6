"""One rule from reports about single indicators, if those whom it says yes and no to are spread evenly over the types.

Then the means of k indicators lie on the line from m₀ to m₁, and the place on it is the share of yes. The distance from
the line is tested: Σ residual²/V ~ χ²_{k−1}. The test finds databases whose means lie elsewhere; indicators that go
together in pairs may leave every mean where it was, and no such report shows that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, ndtri

from sordino_analysis.answers.columns import Cell
from sordino_analysis.answers.framed import Framed
from sordino_analysis.answers.table import AnswerTable
from sordino_analysis.arrays import Floats
from sordino_analysis.average_case.rule_classes import ClassMeans
from sordino_analysis.figures import SHARE
from sordino_shared.errors import InvalidValue

SENTENCE = (
    "holds if positives and negatives are spread evenly over their classes; these reports cannot show that they are"
)
# Below it no interval is given.
LEAST_P_VALUE = 0.01


@dataclass(frozen=True, kw_only=True)
class AverageCaseAnswer(Framed):
    """The share of users whom a rule says yes to, on the assumption of `sentence`; never a statement about all.

    `value` is `uncut` within [0, 1], as the interval's ends are. `interval` is None where the reports contradict the
    assumption, at a p-value below .01.
    """

    value: float
    uncut: float
    standard_error: float
    interval: tuple[float, float] | None
    p_value: float
    level: float
    users: int
    validity: str = "average_case"
    sentence: str = SENTENCE

    @property
    def table(self) -> AnswerTable:
        """One row under the names of docs/results.md; error and interval are about the population."""
        low, high = (None, None) if self.interval is None else self.interval
        row: dict[str, Cell] = {
            "kind": "rule",
            "unit": SHARE,
            "value": self.value,
            "uncut": self.uncut,
            "population_standard_error": self.standard_error,
            "population_lower": low,
            "population_upper": high,
            "p_value": self.p_value,
            "sentence": self.sentence,
        }
        return AnswerTable.of_rows([row], users=self.users, level=self.level, validity=self.validity)


def average_case_answer(
    means: Floats, variances: Floats, classes: ClassMeans, users: int, level: float = 0.95
) -> AverageCaseAnswer:
    """From unbiased, nearly independent means (k,) of ±1 indicators with the same variances (k,), up to their means.

    Raises InvalidValue where the class means are the same, and for a level that is none.
    """
    if not 0 < level < 1:
        raise InvalidValue(f"the level of an interval lies between 0 and 1, got {level}", level)
    if classes.separation <= 0:
        raise InvalidValue("the means of both classes are the same: no single indicator tells them apart", classes)
    along = classes.direction
    weights = along / variances
    size = float(weights @ along)
    value = float(weights @ (means - classes.negative)) / size
    residual = means - classes.negative - value * along
    p_value = float(chdtrc(len(means) - 1, float(residual**2 @ (1 / variances)))) if len(means) > 1 else 1.0
    error = 1 / math.sqrt(size)
    # Class means that were drawn, not computed, may be off by their error.
    off = classes.error * float(np.abs(weights).sum())
    drawn = off * (1 + 2 * abs(value)) / (size - 2 * off) if 2 * off < size else math.inf
    reach = float(ndtri((1 + level) / 2)) * error + drawn
    return AverageCaseAnswer(
        value=min(1.0, max(0.0, value)),
        uncut=value,
        standard_error=error,
        interval=None if p_value < LEAST_P_VALUE else (max(0.0, value - reach), min(1.0, value + reach)),
        p_value=p_value,
        level=level,
        users=users,
    )
