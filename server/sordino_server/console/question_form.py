"""The question of a new campaign as a browser sends it: YAML, or the fields of up to four attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sordino_analysis.questions.linear.yaml_text import parse_yaml
from sordino_server.workloads.checking import CheckedWorkload, check_document
from sordino_shared.errors import InvalidValue

ROWS = range(1, 5)
KINDS = ("labels", "edges", "whole numbers", "numbers")
QUERIES = {
    "histogram": "the share of every value",
    "prefix": "the share at or below every edge",
    "ranges": "the share between any two edges",
    "marginals": "the shares of any two attributes together",
    "measures": "means, deviations or quantiles of the numbers, by the labels",
}
# The measures that take numbers, as they are written.
_WITH_NUMBERS = {
    "share_above": "share above 5000",
    "mean_within": "mean within 0 to 5000",
    "quantile": "quantile 0.5",
}


def check_yaml(text: str) -> CheckedWorkload:
    """The workload that the text describes; raises ServerError or WorkloadError with the line of what is wrong."""
    document = parse_yaml(text)
    if isinstance(document, dict) and "series" in document:
        raise InvalidValue("leave `series` out: the form of the campaign, after the plan, asks for its terms")
    return check_document(document)


def check_fields(form: Mapping[str, str]) -> CheckedWorkload:
    """The workload that the fields describe; raises InvalidValue, ServerError or WorkloadError."""
    return check_document(document_of(form))


def check_question(form: Mapping[str, str]) -> CheckedWorkload:
    """Of a form with a `yaml` field that, else of the fields."""
    return check_yaml(form["yaml"]) if "yaml" in form else check_fields(form)


def document_of(form: Mapping[str, str]) -> dict[str, Any]:
    """The workload that the fields describe, as a document; raises InvalidValue."""
    queries = form.get("queries", "")
    if queries not in QUERIES:
        raise InvalidValue(f"queries is one of {', '.join(QUERIES)}", queries)
    domain = list(_attributes(form))
    if not domain:
        raise InvalidValue("give at least one attribute: its name and its values")
    asked: Any = queries
    if queries == "marginals":
        asked = {"kind": "marginals", "width": 2}
    elif queries == "measures":
        asked = _measures(domain, form.get("measures", ""))
    return {"name": form.get("name", "").strip(), "domain": domain, "queries": asked}


def _measures(domain: list[dict[str, Any]], text: str) -> dict[str, Any]:
    """The measures of each attribute that has numbers."""
    measures = [_measure(each) for each in _listed(text) if each]
    if not measures:
        raise InvalidValue("give the measures, such as: mean, sd, quantile 0.5, share above 5000", text)
    asked = {each["name"]: measures for each in domain if each["kind"] != "categorical"}
    if not asked:
        raise InvalidValue("measures are of numbers: give an attribute by its edges, whole numbers or numbers", text)
    return asked


def _measure(text: str) -> Any:
    """As a workload has it: "share above 5000" is {share_above: 5000}, "mean" itself."""
    written = text.lower()
    for name, example in _WITH_NUMBERS.items():
        words = name.replace("_", " ")
        if written.startswith(words):
            numbers = written.removeprefix(words).replace(" to ", " ").split()
            return {name: _numbers_of(text, numbers, example)}
    return written


def _numbers_of(text: str, written: list[str], example: str) -> float | list[float]:
    """The one number of a measure, or the two of a part, as in the example."""
    try:
        numbers = list(map(float, written))
    except ValueError:
        numbers = []
    if len(numbers) != (2 if " to " in example else 1):
        raise InvalidValue(f"measure {text[:40]!r}: write it as in: {example}", text)
    return numbers[0] if len(numbers) == 1 else numbers


def _attributes(form: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for row in ROWS:
        name, values = form.get(f"name{row}", "").strip(), form.get(f"values{row}", "").strip()
        if not name and not values:
            continue
        if not name or not values:
            raise InvalidValue(f"attribute {row}: give both its name and its values", name or values)
        kind = form.get(f"kind{row}", "")
        if kind not in _READERS:
            raise InvalidValue(f"attribute {row}: its kind is one of {', '.join(KINDS)}", kind)
        attribute = {"name": name} | _READERS[kind](row, values)
        if kind != "labels" and form.get(f"unit{row}", "").strip():
            attribute["unit"] = form[f"unit{row}"].strip()
        yield attribute | {flag: True for flag in ("missing", "other") if form.get(f"{flag}{row}")}


def _labels(_: int, values: str) -> dict[str, Any]:
    return {"kind": "categorical", "labels": _listed(values)}


def _edges(row: int, values: str) -> dict[str, Any]:
    try:
        return {"kind": "ordinal", "edges": [float(each) for each in _listed(values)]}
    except ValueError as error:
        raise InvalidValue(f"attribute {row}: edges are numbers, such as 0, 15, 60", values) from error


def _whole(row: int, values: str) -> dict[str, Any]:
    said = "whole numbers are given by the lowest and the highest, such as 0, 100"
    return {"kind": "integers"} | _ends(row, values, int, said)


def _numbers(row: int, values: str) -> dict[str, Any]:
    said = "numbers are given by the low and the high end of their range, such as 0, 60000"
    return {"kind": "number"} | _ends(row, values, float, said)


def _ends(row: int, values: str, number: Callable[[str], float], said: str) -> dict[str, float]:
    try:
        low, high = (number(each) for each in _listed(values))
    except ValueError as error:
        raise InvalidValue(f"attribute {row}: {said}", values) from error
    return {"low": low, "high": high}


def _listed(values: str) -> list[str]:
    return [each.strip() for each in values.split(",")]


_READERS: Mapping[str, Callable[[int, str], dict[str, Any]]] = dict(
    zip(KINDS, (_labels, _edges, _whole, _numbers), strict=True)
)
