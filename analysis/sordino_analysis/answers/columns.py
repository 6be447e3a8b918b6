"""The columns that tables of answers have, whatever was asked: each name is written here and nowhere else.

The columns `X_low`, `X_high`, `X_label` and `X_unit` say what values of attribute X a row is about. No other column
ends like these, so that an attribute may have any name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any, Literal

from sordino_analysis.documents.attribute_bounds import AttributeBounds
from sordino_shared.errors import InvalidValue

ColumnType = Literal["text", "integer", "number", "truth"]
Cell = str | int | float | bool | None
Place = Literal["origin", "answer", "terms"]

_TEXT_ENDS, _NUMBER_ENDS = ("_label", "_unit"), ("_low", "_high")
_LEAST, _MOST = -(2**63), 2**63 - 1
_PYTHON_TYPES: Mapping[ColumnType, set[type]] = {
    "text": {str},
    "integer": {int},
    "number": {int, float},
    "truth": {bool},
}


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column: its name, the type of its cells, what they mean and when they are empty.

    `exported` columns are in every table of several campaigns, also where each cell is empty.
    """

    name: str
    type: ColumnType
    place: Place
    meaning: str
    empty: str = ""
    exported: bool = True


def _origin(name: str, kind: ColumnType, meaning: str, empty: str = "", *, exported: bool = True) -> Column:
    return Column(name=name, type=kind, place="origin", meaning=meaning, empty=empty, exported=exported)


def _answer(name: str, kind: ColumnType, meaning: str, empty: str = "", *, exported: bool = True) -> Column:
    return Column(name=name, type=kind, place="answer", meaning=meaning, empty=empty, exported=exported)


def _term(name: str, kind: ColumnType, meaning: str, empty: str = "", *, exported: bool = True) -> Column:
    return Column(name=name, type=kind, place="terms", meaning=meaning, empty=empty, exported=exported)


_NO_STATISTIC = "for a statistic"
_NOT_LINEAR = "unless the question is linear"
_NO_RULE = "for a rule"
_NO_QUANTILE = "unless it is a quantile"
_OF_SERIES = "unless the campaign is a series"
_OF_WINDOW = "unless it is a window of a series"
_NO_COMPARISON = "unless two answers are compared"
_NO_LIFT = "where the left answer may be 0 or less, and unless two answers are compared"
_NO_GUESS = "where no best guess was made"
_NO_CUT = "where intervals are not cut"
_NO_TRUTH = "unless it was simulated"
_NO_GROUP = "unless it is given a group"
_OF_RELEASE = "unless a trusted curator answered"

COLUMNS: tuple[Column, ...] = (
    _origin("campaign", "text", "name of the campaign"),
    _origin("campaign_id", "text", "id of the campaign: the digest of its manifest"),
    _origin("population", "text", "id of the population"),
    _origin("opened", "text", "when the campaign opened, ISO 8601 in UTC", "while it has not"),
    _origin("closed", "text", "when the campaign closed, ISO 8601 in UTC", "while it has not"),
    _origin("dataset", "text", "id of the dataset", _OF_RELEASE, exported=False),
    _origin("release", "text", "id of the release", _OF_RELEASE, exported=False),
    _origin("period", "integer", "number of the period", _OF_SERIES),
    _origin("period_start", "text", "when the period began, ISO 8601 in UTC", _OF_SERIES),
    _origin("period_last", "integer", "last period of a window, which `period` begins", _OF_WINDOW, exported=False),
    _origin("arm", "text", "name of the arm", "unless the campaign is an experiment", exported=False),
    _origin("left", "text", "what is compared: a campaign, an arm or a window", _NO_COMPARISON, exported=False),
    _origin("right", "text", "what it is compared with: `value` is right less left", _NO_COMPARISON, exported=False),
    _answer("part", "text", "`period`, `window`, `change` or `trend`", "unless it is of a series", exported=False),
    _answer(
        "kind",
        "text",
        "`prefix`, `ranges`, `histogram`, `marginal`, `parity`, `matrix`, a product such as `histogram×ranges`, "
        "`statistic`, `concept`, a measure such as `mean`, `sd`, `quantile` or `top`, or the kind of a question on "
        "demand",
    ),
    _answer("label", "text", "the query, statistic or rule as people read it"),
    _answer("given", "text", "the group of users that the answer is about", _NO_GROUP, exported=False),
    _answer("unit", "text", "`share`, or the unit of the row's numbers", "where they have none"),
    _answer("value", "number", "the answer, of a share cut to [0, 1] as its ends are", "where there is none"),
    _answer("uncut", "number", "the unbiased answer before the cut, up to `bias_bound`", "where nothing is cut"),
    _answer("left_value", "number", "the unbiased answer of `left`", _NO_COMPARISON, exported=False),
    _answer("right_value", "number", "the unbiased answer of `right`", _NO_COMPARISON, exported=False),
    _answer("standard_error", "number", "error of the answer among the users who reported", _NO_RULE),
    _answer("lower", "number", "lower end of the interval of that answer", _NO_RULE),
    _answer("upper", "number", "upper end of the interval of that answer", _NO_RULE),
    _answer("band_lower", "number", "lower end of the simultaneous band", _NO_STATISTIC),
    _answer("band_upper", "number", "upper end of the simultaneous band", _NO_STATISTIC),
    _answer("population_standard_error", "number", "error of the answer in the population that the users came from"),
    _answer("population_lower", "number", "lower end of the interval of the population's answer", _NO_RULE),
    _answer("population_upper", "number", "upper end of the interval of the population's answer", _NO_RULE),
    _answer("lift", "number", "`right_value` over `left_value` less 1: .1 is 10 % more", _NO_LIFT, exported=False),
    _answer("lift_lower", "number", "lower end of its interval, about whom the band is", _NO_LIFT, exported=False),
    _answer("lift_upper", "number", "upper end of its interval", _NO_LIFT, exported=False),
    _answer("lift_band_lower", "number", "lower end for all compared answers at once", _NO_LIFT, exported=False),
    _answer("lift_band_upper", "number", "upper end for all compared answers at once", _NO_LIFT, exported=False),
    _answer("share_lower", "number", "lower end of a count as a share of the rows", _OF_RELEASE, exported=False),
    _answer("share_upper", "number", "upper end of a count as a share of the rows", _OF_RELEASE, exported=False),
    _answer("best", "number", "the answer of the best guess at the histogram: nearest on average, biased", _NO_GUESS),
    _answer("no_best", "text", "why no best guess was made", "where there is one", exported=False),
    _answer("cut", "truth", "whether the interval is shorter for what shares can be", _NO_CUT, exported=False),
    _answer(
        "verdict",
        "text",
        "`higher`, `lower`, `undecided`, or `withheld` where counts of arms contradict their weights",
        _NO_COMPARISON,
        exported=False,
    ),
    _answer(
        "coverage", "number", "how often intervals like this one hold, from the exact law", "where the law is unknown"
    ),
    _answer("population_coverage", "number", "the same for the population's interval", "where the law is unknown"),
    _answer("enough_reports", "integer", "how many reports intervals need to hold the level", "where they do"),
    _answer("member", "text", "of a quantile: the member of the attribute, as text", _NO_QUANTILE, exported=False),
    _answer("value_lower", "number", "lower end of that member, in `unit`", _NO_QUANTILE, exported=False),
    _answer("value_upper", "number", "upper end of that member, in `unit`", _NO_QUANTILE, exported=False),
    _answer("beyond", "truth", "whether fewer users than the share have a number", _NO_QUANTILE, exported=False),
    _answer("width", "integer", "how many attributes a rule looks at", "unless it is a rule", exported=False),
    _answer("may_be_best", "truth", "whether the rule may be the best one", "unless it is a rule", exported=False),
    _answer("p_value", "number", "of the rule against always and never", "unless it was asked for", exported=False),
    _answer("sentence", "text", "the answer in words", "unless there are any", exported=False),
    _answer("group", "number", "the unbiased share of all users who are in the group", _NO_GROUP, exported=False),
    _answer("group_lower", "number", "lower end of the interval of that share", _NO_GROUP, exported=False),
    _answer("group_upper", "number", "upper end of the interval of that share", _NO_GROUP, exported=False),
    _answer(
        "enough_users",
        "integer",
        "how many users would show that the group is not empty, in four of five campaigns",
        "where these do, and unless it is given a group",
        exported=False,
    ),
    _answer("truth", "number", "the answer without noise", _NO_TRUTH, exported=False),
    _answer("error", "number", "the unbiased answer less the truth", _NO_TRUTH, exported=False),
    _answer("inside", "truth", "whether the interval holds the truth", _NO_TRUTH, exported=False),
    _term("users", "integer", "reports counted; where each device answers every round, those of the last round"),
    _term("users_by_round", "text", "reports of each round", "unless there are several", exported=False),
    _term("unlisted", "number", "queries that are asked and have no row", _NOT_LINEAR, exported=False),
    _term("compared", "number", "answers whose bands hold at once", _NO_STATISTIC),
    _term("epsilon", "number", "ε of one device; of a release the ε that ρ implies"),
    _term("rho", "number", "ρ of the release", _OF_RELEASE, exported=False),
    _term("delta", "number", "δ of the release", _OF_RELEASE, exported=False),
    _term("neighbours", "text", "what two neighbouring datasets differ in", _OF_RELEASE, exported=False),
    _term("level", "number", "level of intervals and band"),
    _term("bias_bound", "number", "bound on the bias, which intervals and band contain", "where none is known"),
    _term("target", "text", "whom the answer is about", exported=False),
    _term("validity", "text", "`worst_case`, `asymptotic`, `doubtful` or `average_case`", exported=False),
    _term("mechanism", "text", "the mechanism, or the protocol of a statistic"),
    _term("plan_device", "text", "digest of the plan's device part", "for a release", exported=False),
    _term("plan_analyst", "text", "digest of the plan's analyst part", "for a release", exported=False),
    _term("protocol_digest", "text", "digest of the protocol's plan", "unless it is a statistic", exported=False),
    _term("warnings", "text", "what the estimate warns of, with ` | ` between warnings", "where it warns of nothing"),
)
_BY_NAME = {column.name: column for column in COLUMNS}


def named(name: str) -> Column | None:
    """The column of this name; None for one that has a bound of an attribute. Raises InvalidValue for any other."""
    column = _BY_NAME.get(name)
    if column is None and not name.endswith((*_TEXT_ENDS, *_NUMBER_ENDS)):
        raise InvalidValue(f"a table of answers has no column {name[:100]!r}", name)
    return column


def in_order(names: Iterable[str]) -> list[str]:
    """The names in the order of `COLUMNS`, bounds of attributes behind the label."""
    given = dict.fromkeys(names)
    bounds = [name for name in given if named(name) is None]
    ordered: list[str] = []
    for column in COLUMNS:
        if column.name in given:
            ordered.append(column.name)
        if column.name == "label":
            ordered += bounds
    return ordered


def type_of(name: str) -> ColumnType | None:
    """The type of a column by its name; None for one that is an integer or a number by its cells."""
    column = named(name)
    if column is not None:
        return column.type
    return "text" if name.endswith(_TEXT_ENDS) else None


def type_of_cells(name: str, cells: Sequence[Cell]) -> ColumnType:
    """The type of a column with these cells; raises InvalidValue for a cell that is of another."""
    given = set(map(type, cells)) - {NoneType}
    kind = type_of(name) or ("integer" if given <= {int} else "number")
    if not given <= _PYTHON_TYPES[kind] or not _in_range(kind, cells):
        row, wrong = next(
            (row, cell) for row, cell in enumerate(cells, 1) if cell is not None and not _fits(kind, cell)
        )
        raise InvalidValue(f"row {row}: column {name!r} holds {kind} cells, not {str(wrong)[:100]!r}", wrong)
    return kind


def cells_of_bounds(bounds: Iterable[AttributeBounds]) -> dict[str, Cell]:
    """The cells that say what a query counts; those that would be empty are left out."""
    cells: dict[str, Cell] = {}
    for each in bounds:
        own = {"low": each.low, "high": each.high, "label": each.label, "unit": each.unit}
        cells |= {f"{each.attribute}_{part}": cell for part, cell in own.items() if cell is not None}
    return cells


def bounds_of_cells(row: Mapping[str, Any]) -> list[AttributeBounds]:
    """The bounds that the cells of a row say: the inverse of `cells_of_bounds`."""
    found: dict[str, dict[str, Any]] = {}
    for name, cell in row.items():
        if cell is not None and named(name) is None:
            attribute, _, part = name.rpartition("_")
            found.setdefault(attribute, {})[part] = cell
    return [AttributeBounds(attribute=attribute, **parts) for attribute, parts in found.items()]


def _in_range(kind: ColumnType, cells: Sequence[Cell]) -> bool:
    """Whether all numbers are finite, and all integers of 64 bits; cells have the kind's types."""
    if kind in ("text", "truth"):
        return True
    numbers: list[Any] = [cell for cell in cells if cell is not None]
    if kind == "number":
        try:
            return all(map(math.isfinite, numbers))
        except OverflowError:  # an integer beyond all floats
            return False
    return not numbers or (min(numbers) >= _LEAST and max(numbers) <= _MOST)


def _fits(kind: ColumnType, cell: Cell) -> bool:
    return type(cell) in _PYTHON_TYPES[kind] and _in_range(kind, [cell])
