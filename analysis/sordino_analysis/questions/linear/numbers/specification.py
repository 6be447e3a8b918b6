"""The written form of measures of numbers: `{load_ms: mean}`, `{load_ms: [mean, {share_above: 5000}]}`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, TypeGuard

from pydantic import BeforeValidator, Field, ValidationError
from pydantic_core import PydanticCustomError

from sordino_analysis.documents.number_queries import MAX_MEASURES, MEASURES, AskedNumber, NumberMeasure, NumberQueries
from sordino_analysis.questions.linear.attributes import Number, Strict
from sordino_analysis.questions.linear.numbers.binning import MOST_ALONE, binned, bins_of
from sordino_analysis.questions.linear.workload import WorkloadError
from sordino_analysis.strict_model import Listed
from sordino_analysis.validation_messages import reason
from sordino_shared.domains import Attribute, Domain
from sordino_shared.errors import InvalidValue

# More levels are 0 to 2 % less variance up to ε = 4, and a device part of more than 8 kB: see `benchmarks/numbers`.
LEVELS = 17
# So few members are levels themselves; their device part is no larger.
MOST_OWN_LEVELS = 25
# Of several numbers from one report types are a product, of which searches find good kernels while there are few: see
# `benchmarks/numbers`. Of more attributes than these it is one bit each.
_LEVELS_OF_SEVERAL = {1: LEVELS, 2: 5, 3: 3}
_ONE_BIT = 2
# What is clipped need not be known as exactly as the mean beside it, whose variance it raises by a quarter like this,
# and to more than twice as much with a weight of 1: see `benchmarks/numbers`.
_WEIGHT_OF_CLIPPED = 0.1
# Measures that are a word, and those that need a number.
_WORDS = tuple(name for name, numbers in MEASURES.items() if not numbers)
_OBJECTS = tuple(name for name, numbers in MEASURES.items() if numbers)
_Share = Annotated[Number, Field(gt=0, lt=1)]


class ShareAbove(Strict):
    """The share of users whose number is above this one."""

    share_above: Number

    def measures(self) -> Iterator[NumberMeasure]:
        """As a plan publishes it."""
        yield NumberMeasure("share_above", (self.share_above,))


class MeanWithin(Strict):
    """The mean of the numbers from the first to the second of these."""

    mean_within: Listed[Number] = Field(min_length=2, max_length=2)

    def measures(self) -> Iterator[NumberMeasure]:
        """As a plan publishes it."""
        yield NumberMeasure("mean_within", tuple(self.mean_within))


class AskedQuantiles(Strict):
    """The least numbers that these shares of the users are at or below, told between the ends of `bins`."""

    quantile: _Share | Annotated[Listed[_Share], Field(min_length=1, max_length=MAX_MEASURES)]
    bins: Annotated[int, Field(strict=True, ge=2, le=MOST_ALONE)] | None = None

    def measures(self) -> Iterator[NumberMeasure]:
        """As a plan publishes them: one for each share."""
        shares = self.quantile if isinstance(self.quantile, list) else [self.quantile]
        return (NumberMeasure("quantile", (share,)) for share in shares)


def _one_wrong_measure(value: Any) -> Any:
    """The first wrong measure with its own reason: a union has one for each form that it is not."""
    for name, written in value.items() if isinstance(value, Mapping) else ():
        for each in written if isinstance(written, list) else [written]:
            if (said := _why_no_measure(each)) is not None:
                raise PydanticCustomError("measure", "{name}: {said}", {"name": repr(str(name)[:40]), "said": said})
    return value


def _why_no_measure(value: Any) -> str | None:
    """What to write instead of a wrong measure, None of one that has a form."""
    form = next((_FORMS[name] for name in _FORMS if isinstance(value, Mapping) and name in value), None)
    if form is None:
        known = ", ".join([*_WORDS, *(f"{{{name}: …}}" for name in _FORMS)])
        return None if _is_measure(value) else f"ask one of {known}, not {str(value)[:40]!r}"
    try:
        form.model_validate(value)
    except ValidationError as error:
        # The deepest is about the part that is wrong, not about another form of the whole.
        deepest = max(error.errors(include_url=False, include_context=False), key=lambda each: len(each["loc"]))
        return f"{deepest['loc'][0]}: {reason(deepest)}"
    return None


_FORMS: Mapping[str, type[Strict]] = {
    "share_above": ShareAbove,
    "mean_within": MeanWithin,
    "quantile": AskedQuantiles,
}
OneMeasure = Literal["mean", "sum", "variance", "sd", "top", "clipped"] | ShareAbove | MeanWithin | AskedQuantiles
WrittenMeasures = Annotated[
    dict[str, OneMeasure | Annotated[Listed[OneMeasure], Field(min_length=1, max_length=MAX_MEASURES)]],
    BeforeValidator(_one_wrong_measure),
]
# Measures as they are written, with the weight of each.
Weighted = Mapping[str, list[tuple[Any, float]]]


def asks_numbers(written: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether queries are an object that asks for measures of numbers, not for a kind of queries of each attribute."""
    if not isinstance(written, Mapping):
        return False
    listed = (value if isinstance(value, list) else [value] for value in written.values())
    return any(_is_measure(each) for measures in listed for each in measures)


def _is_measure(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(name in value for name in _OBJECTS)
    return isinstance(value, Strict) or (isinstance(value, str) and value in _WORDS)


def weighted_measures(parts: Iterable[tuple[Mapping[str, Any], float]]) -> Weighted:
    """The measures of each attribute, from the parts of a stack with the weight of each."""
    found: dict[str, list[tuple[Any, float]]] = {}
    for written, weight in parts:
        for name, value in written.items():
            found.setdefault(name, []).extend(
                (each, weight) for each in (value if isinstance(value, list) else [value])
            )
    return found


def published_numbers(written: Weighted, domain: Domain) -> tuple[Domain, NumberQueries]:
    """The measures as a plan publishes them, and the domain that devices hold.

    Raises WorkloadError for an attribute that is not in the domain.
    """
    attributes = {attribute.name: attribute for attribute in domain.attributes}
    for name in written:
        if name not in attributes:
            known = ", ".join(attributes)
            raise WorkloadError(f"there is no attribute {name!r} to ask about; the domain has {known}", name)
    try:
        count = len(written)
        asked = [_asked(attributes[name], measures, domain, count) for name, measures in written.items()]
        held = {each.attribute: attribute for each, attribute in asked}
        whole = Domain(tuple(held.get(attribute.name, attribute) for attribute in domain.attributes))
        return whole, NumberQueries(tuple(each for each, _ in asked))
    except InvalidValue as error:
        raise WorkloadError(f"queries: {error}", error.value) from error


def _asked(
    attribute: Attribute, written: list[tuple[Any, float]], domain: Domain, count: int
) -> tuple[AskedNumber, Attribute]:
    """What is asked of an attribute, one of `count`, and what devices hold for it: bins, for quantiles alone."""
    measures = tuple(
        NumberMeasure(one.name, one.at, weight * (_WEIGHT_OF_CLIPPED if one.name == "clipped" else 1.0))
        for each, weight in written
        for one in ([NumberMeasure(each, ())] if isinstance(each, str) else each.measures())
    )
    quantiles = [each for each, _ in written if isinstance(each, AskedQuantiles)]
    levels = _LEVELS_OF_SEVERAL.get(count, _ONE_BIT)
    if count == 1 and 2 <= attribute.size <= MOST_OWN_LEVELS:
        levels = attribute.size
    if not quantiles:
        return AskedNumber(attribute.name, levels, 1, measures), attribute
    given = {each.bins for each in quantiles} - {None}
    if len(given) > 1:
        raise WorkloadError(f"the quantiles of {attribute.name!r} share their bins: give one number of `bins`", given)
    only = count == 1 and all(measure.name == "quantile" for measure in measures)
    bins = bins_of(attribute, next(iter(given), None), domain, only=only)
    if only:
        return AskedNumber(attribute.name, levels, 0, measures), binned(attribute, bins)
    return AskedNumber(attribute.name, levels, bins, measures), attribute
