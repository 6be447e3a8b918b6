"""The written form of a class of rules of which one known rule is answered, on average over databases."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from sordino_analysis.documents.queries import MAX_CONCEPT_WIDTH, IndicatorQueries
from sordino_analysis.questions.linear.attributes import Strict
from sordino_analysis.questions.linear.concepts.rules import WIDEST
from sordino_analysis.questions.linear.concepts.tested import Tested, indicators_of
from sordino_analysis.questions.linear.workload import WorkloadError
from sordino_analysis.strict_model import Listed
from sordino_shared.domains import Domain


class ArrangementSpecification(Strict):
    """Rules of exactly `width` indicators, or lists of `length`, without a label; reports tell single indicators."""

    model_config = ConfigDict(frozen=True, validate_by_alias=True, validate_by_name=False, serialize_by_alias=True)

    family: Literal["conjunctions", "clauses", "lists", "parities"] = Field(alias="class")
    width: Annotated[int, Field(strict=True, ge=1, le=MAX_CONCEPT_WIDTH)] | None = None
    length: Annotated[int, Field(strict=True, ge=1, le=WIDEST["lists"])] | None = None
    scheme: Literal["arrangement"]
    over: Listed[str | Tested] | None = None


def published_indicators(written: ArrangementSpecification, domain: Domain) -> tuple[Domain, IndicatorQueries]:
    """The domain of the indicators, and the mean sign of each; raises WorkloadError where they do not fit."""
    indicators, is_list = indicators_of(written.over, domain, None), written.family == "lists"
    width, other = (written.length, written.width) if is_list else (written.width, written.length)
    if width is None or other is not None:
        name = "length" if is_list else "width"
        raise WorkloadError(f"{written.family} have a `{name}`: say how many indicators a rule looks at", written)
    if width > len(indicators):
        raise WorkloadError(f"there are {len(indicators)} indicators, and rules look at {width}", width)
    return Domain(tuple(indicators)), IndicatorQueries(written.family, width)
