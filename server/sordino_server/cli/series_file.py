"""The file of a series: a workload with a member `series` beside its queries."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from sordino_shared.errors import InvalidValue

_NAMED = {"hour": 3600, "day": 86_400, "week": 604_800}
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_LENGTH = re.compile(r"([0-9]{1,9})\s*([smhdw])")
# What the file calls it, and what the API does.
_MEMBERS = {
    "every": "period_s",
    "slots": "slots",
    "answers": "answers_max",
    "value_of": "value_of",
    "late": "late_s",
    "start": "start",
    "replaces": "replaces",
}


def read_series(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The workload's canonical form, and the terms of the series as the API takes them.

    Raises InvalidValue for a file without terms or with others, WorkloadError for a workload that cannot be read.
    """
    # Other commands need no numbers and should not wait for their libraries.
    from sordino_analysis.kinds.specifications import parse_question
    from sordino_analysis.questions.linear.files import read_document

    document = read_document(path)
    if not isinstance(document, Mapping) or "series" not in document:
        raise InvalidValue(
            f"{path} has no `series`: write for example `series: {{every: day, slots: 30, answers: 12}}` beside the "
            "queries",
            str(path),
        )
    workload = {name: value for name, value in document.items() if name != "series"}
    return parse_question(workload).canonical(), series_terms(document["series"])


def series_terms(given: Any) -> dict[str, Any]:
    """The terms `every`, `slots`, `answers`, `value_of`, `late`, `start`, `replaces` as the API takes them."""
    if not isinstance(given, Mapping):
        raise InvalidValue("series must be a mapping such as {every: day, slots: 30, answers: 12}", given)
    unknown = [name for name in given if name not in _MEMBERS]
    if unknown:
        raise InvalidValue(f"series.{unknown[0]}: not a term; the terms are {', '.join(_MEMBERS)}", unknown[0])
    for name in ("slots", "answers"):
        if name not in given:
            raise InvalidValue(f"series.{name} is missing: give the {name} of a device as a number", given)
    return {_MEMBERS[name]: _read(name, value) for name, value in given.items()}


def _read(name: str, value: Any) -> Any:
    if name in ("every", "late"):
        return _length(value, name)
    return _moment(value, name) if name == "start" else value


def _length(value: Any, name: str) -> int:
    """Seconds of `day`, `2d`, `36h` or a number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    text = str(value).strip()
    if text in _NAMED:
        return _NAMED[text]
    match = _LENGTH.fullmatch(text)
    if match is None:
        raise InvalidValue(
            f"series.{name}: write hour, day, week, seconds, or a length such as 2d, 36h or 15m; got {value!r}", value
        )
    return int(match[1]) * _UNITS[match[2]]


def _moment(value: Any, name: str) -> int:
    """Unix seconds of a date, of a time in UTC, or of a number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    # YAML reads dates by itself.
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day, tzinfo=UTC)
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError as error:
        raise InvalidValue(f"series.{name}: write 2026-12-01, a time in UTC or Unix seconds; got {value!r}") from error
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
