"""The query that decides an experiment among all answers of two arms: its row is that of the look that decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sordino_analysis.answers.columns import Cell
from sordino_analysis.percentages import percent

_ERRORS = ("standard_error", "population_standard_error")
_LOWER = ("lower", "population_lower", "band_lower")
_UPPER = ("upper", "population_upper", "band_upper")
# What is worked out for an interval of one look, and is not known of the rule's.
_UNKNOWN = ("coverage", "population_coverage", "enough_reports")
_MIRRORED = {"higher": "lower", "lower": "higher"}


@dataclass(frozen=True, kw_only=True)
class DecidedRow:
    """`primary` of two arms as a look on `day` has it: columns and cells, right less left.

    `level` is the experiment's own, whatever that of the other rows is.
    """

    primary: str
    level: float
    day: int
    cells: Mapping[str, Cell]

    @property
    def sentence(self) -> str:
        """Which row is another one's."""
        rule = f"by the experiment's rule at {percent(self.level)}"
        return f"{self.primary}: the row is that of the look of day {self.day}, {rule}"

    def is_asked(self, columns: Mapping[str, Sequence[Cell]]) -> bool:
        """Whether one of the rows is about the query that decides."""
        return self.primary in columns["label"]

    def put_into(self, columns: Mapping[str, Sequence[Cell]]) -> dict[str, Sequence[Cell]]:
        """The columns of all answers with this row in its place, where it was asked."""
        labels = list(columns["label"])
        found = {name: list(cells) for name, cells in columns.items()}
        if self.is_asked(columns):
            row = labels.index(self.primary)
            for name in found.keys() & self.cells.keys():
                found[name][row] = self.cells[name]
        return dict(found)


def counts_contradict(looks: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a look found that counts contradict the weights: no two arms have a verdict then, whatever is asked."""
    # A look that could not be made has no ratio.
    return any(look["sample_ratio"]["alarm"] for look in looks if "sample_ratio" in look)


def without_verdicts(columns: Mapping[str, Sequence[Cell]]) -> dict[str, Sequence[Cell]]:
    """The columns with every verdict withheld; numbers stay."""
    return {**columns, "verdict": ["withheld"] * len(columns["label"])}


def decided_row(
    primary: str, level: float, looks: Sequence[Mapping[str, Any]], left: str, right: str
) -> DecidedRow | None:
    """What the looks say of two arms, by day; None where no look compares these two.

    A comparison that was decided is repeated in later looks: its row is that of the first of them.
    """
    made = [each for each in looks if each["comparisons"]]
    one = _of_arms(made[-1], left, right) if made else None
    if one is None:
        return None
    known = ("value", "information_share")
    first = next(
        look
        for look in made
        if (other := _of_arms(look, left, right)) is not None and all(other[name] == one[name] for name in known)
    )
    sides = {each["arm"]: each["value"] for each in first["arms"]}
    cells: dict[str, Cell] = {"left_value": sides[left], "right_value": sides[right]}
    mirrored = one["arm"] != right
    low, high = one["lower"], one["upper"]
    if mirrored and low is not None:
        low, high = -high, -low
    cells |= {"value": -one["value"] if mirrored else one["value"]}
    cells |= {"verdict": _MIRRORED.get(one["verdict"], one["verdict"]) if mirrored else one["verdict"]}
    cells |= dict.fromkeys(_ERRORS, one["standard_error"]) | dict.fromkeys(_LOWER, low) | dict.fromkeys(_UPPER, high)
    cells |= _lifted(one["lift"], mirrored=mirrored)
    cells |= dict.fromkeys(_UNKNOWN)
    return DecidedRow(primary=primary, level=level, day=first["day"], cells=cells)


def _lifted(lift: Mapping[str, Any] | None, *, mirrored: bool) -> dict[str, Cell]:
    """The cells of a lift as the look has it; of A over B where it is that of B over A. Empty where it has no ends."""
    names = ("lift", "lift_lower", "lift_upper", "lift_band_lower", "lift_band_upper")
    if lift is None or lift["lower"] is None:
        return dict.fromkeys(names)
    value, low, high = (float(lift[name]) for name in ("value", "lower", "upper"))
    if mirrored and low <= -1:
        # The other arm may be 0, so that nothing is a share of it.
        return dict.fromkeys(names)
    if mirrored:
        value, low, high = (1 / (1 + ratio) - 1 for ratio in (value, high, low))
    return dict(zip(names, (value, low, high, low, high), strict=True))


def _of_arms(look: Mapping[str, Any], left: str, right: str) -> Mapping[str, Any] | None:
    arms = {left, right}
    return next((each for each in look["comparisons"] if {each["arm"], each["compared_to"]} == arms), None)
