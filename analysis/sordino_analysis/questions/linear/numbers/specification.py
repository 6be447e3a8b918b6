"""The written form of measures of numbers: `{load_ms: mean}`, `{load_ms: [mean, {share_above: 5000}]}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeGuard

from pydantic import Field

from sordino_analysis.documents.number_queries import MAX_MEASURES, MEASURES, AskedNumber, NumberMeasure, NumberQueries
from sordino_analysis.questions.linear.attributes import Number, Strict
from sordino_analysis.questions.linear.workload import WorkloadError
from sordino_analysis.strict_model import Listed
from sordino_shared.domains import Attribute, Domain
from sordino_shared.errors import InvalidValue

# More levels are 0 to 2 % less variance up to ε = 4, and a device part of more than 8 kB: see `benchmarks/numbers`.
LEVELS = 17
# So few members are levels themselves; their device part is no larger.
_MOST_OWN_LEVELS = 25
# Measures that are a word, and those that need a number.
_WORDS = tuple(name for name, numbers in MEASURES.items() if not numbers)
_OBJECTS = tuple(name for name, numbers in MEASURES.items() if numbers)


class ShareAbove(Strict):
    """The share of users whose number is above this one."""

    share_above: Number

    def measure(self) -> NumberMeasure:
        """As a plan publishes it."""
        return NumberMeasure("share_above", (self.share_above,))


OneMeasure = Literal["mean", "sum", "variance", "sd"] | ShareAbove
WrittenMeasures = dict[str, OneMeasure | Annotated[Listed[OneMeasure], Field(min_length=1, max_length=MAX_MEASURES)]]


def asks_numbers(written: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether queries are an object that asks for measures of numbers, not for a kind of queries of each attribute."""
    if not isinstance(written, Mapping):
        return False
    listed = (value if isinstance(value, list) else [value] for value in written.values())
    return any(_is_measure(each) for measures in listed for each in measures)


def _is_measure(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(name in value for name in _OBJECTS)
    return isinstance(value, ShareAbove) or (isinstance(value, str) and value in _WORDS)


def published_numbers(written: Mapping[str, Any], domain: Domain) -> NumberQueries:
    """The measures as a plan publishes them; raises WorkloadError for an attribute that is not in the domain."""
    attributes = {attribute.name: attribute for attribute in domain.attributes}
    for name in written:
        if name not in attributes:
            known = ", ".join(attributes)
            raise WorkloadError(f"there is no attribute {name!r} to ask about; the domain has {known}", name)
    try:
        return NumberQueries(tuple(_asked(attributes[name], measures) for name, measures in written.items()))
    except InvalidValue as error:
        raise WorkloadError(f"queries: {error}", error.value) from error


def _asked(attribute: Attribute, written: Any) -> AskedNumber:
    given = written if isinstance(written, list) else [written]
    measures = tuple(NumberMeasure(each, ()) if isinstance(each, str) else each.measure() for each in given)
    levels = attribute.size if 2 <= attribute.size <= _MOST_OWN_LEVELS else LEVELS
    return AskedNumber(attribute.name, levels, measures)
