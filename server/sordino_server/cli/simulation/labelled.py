"""A concept class on the columns of a CSV file: the label, and indicators of the other columns found in the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sordino_analysis.analyst.tables import (
    ColumnError,
    Table,
    device_values,
    header_of,
    is_absent,
    number_in,
    read_table,
)
from sordino_analysis.documents.elimination_plan import RoundShares
from sordino_analysis.questions.linear import WorkloadSpecification, parse_specification
from sordino_analysis.questions.linear.concepts.indicators import held_domain
from sordino_shared.errors import InvalidValue

MOST_INDICATORS = 16
_MOST_MEMBERS = 4
_YES = ("yes", "true", "1", "on", "y", "t")


def labelled_rows(
    csv: Path, label: str, positive: str | None, columns: Sequence[str], width: int, *, certify: bool = False
) -> tuple[WorkloadSpecification, list[dict[str, object]]]:
    """Conjunctions of up to `width` indicators of the columns, all but the label if none are given; and the rows.

    With `certify` in three rounds, the second about a quarter of the rules or 32.
    Raises ColumnError where the label has not two values, or no column can be tested.
    """
    if label in columns:
        raise InvalidValue(f"--column names the label {label!r}: a rule may not look at it", label)
    others = list(columns) or [name for name in header_of(csv) if name != label]
    table = read_table(csv, [*others, label])
    attributes, over, indicators = list[dict[str, Any]](), list[Any](), 0
    for name in others:
        attribute, tests = _tested(table, name)
        count = sum(len(each.get("members", [name])) for each in tests)
        if not tests or indicators + count > MOST_INDICATORS:
            continue
        attributes.append(attribute)
        over += tests
        indicators += count
    if not over:
        raise ColumnError(table.path, f"has no column besides {label!r} that a rule can test")
    written: dict[str, Any] = {
        "name": f"what predicts {label}"[:200],
        "domain": [*attributes, {"name": label, "kind": "categorical", "labels": _two_values(table, label)}],
        "queries": {
            "class": "conjunctions",
            "width": min(width, indicators),
            "over": over,
            "label": {"attribute": label, "positive": _positive(table, label, positive)},
        },
    }
    specification = parse_specification(written)
    if certify:
        rules = specification.build().queries
        written["queries"]["protocol"] = {"top": max(2, min(RoundShares().top, rules // 4))}
        specification = parse_specification(written)
    held = held_domain(specification.build().domain)
    return specification, device_values(table, held, {attribute.name: attribute.name for attribute in held.attributes})


def _tested(table: Table, column: str) -> tuple[dict[str, Any], list[Any]]:
    """The attribute of a column and what rules test of it."""
    values = [text.strip() for text in table.columns[column]]
    present = [text for text in values if not is_absent(text)]
    absent = len(present) < len(values)
    counted = Counter(present).most_common()
    if len(counted) < 2:
        return {"name": column, "kind": "categorical", "labels": ["any"], "missing": True, "other": True}, []
    numbers = [number for number in map(number_in, present) if number is not None]
    if len(counted) == 2 and not absent:
        return {"name": column, "kind": "categorical", "labels": _in_order([text for text, _ in counted])}, [
            {"attribute": column}
        ]
    if len(numbers) == len(present) and len(set(numbers)) > _MOST_MEMBERS:
        cut = _middle(numbers)
        attribute = {"name": column, "kind": "ordinal", "edges": [cut], "missing": True}
        return attribute, [{"attribute": column, "from": cut}]
    members = [text for text, _ in counted[:_MOST_MEMBERS]]
    attribute = {"name": column, "kind": "categorical", "labels": members, "missing": True, "other": True}
    return attribute, [{"attribute": column, "members": members}]


def _middle(numbers: Sequence[float]) -> float:
    """The median, or the largest number below it where no number is above."""
    ordered = sorted(numbers)
    middle = ordered[(len(ordered) - 1) // 2]
    return middle if middle < ordered[-1] else max(number for number in ordered if number < middle)


def _two_values(table: Table, label: str) -> list[str]:
    found = sorted({text.strip() for text in table.columns[label]})
    if len(found) != 2 or any(map(is_absent, found)):
        shown = ", ".join(map(repr, found[:5]))
        raise ColumnError(
            table.path,
            f"the label {label!r} has {len(found)} different values ({shown}), and a rule predicts one of two: mend "
            "the file, or write a workload file with a range for its label",
        )
    return _in_order(found)


def _in_order(two: Sequence[str]) -> list[str]:
    """The one that means yes last, if one does."""
    return sorted(two, key=lambda text: (text.lower() in _YES, text))


def _positive(table: Table, label: str, positive: str | None) -> str:
    values = _two_values(table, label)
    if positive is None:
        return values[-1]
    if positive not in values:
        raise InvalidValue(f"the label {label!r} has the values {' and '.join(values)}, not {positive!r}", positive)
    return positive
