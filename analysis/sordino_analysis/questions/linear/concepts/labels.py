"""The label in its written form: the attribute that rules predict, and what of it counts as yes."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from sordino_analysis.questions.linear.attributes import Strict
from sordino_analysis.questions.linear.concepts.indicators import range_indicator
from sordino_analysis.questions.linear.workload import WorkloadError
from sordino_shared.domains import Attribute, Domain

End = Annotated[float, Field(allow_inf_nan=False)] | Annotated[int, Field(strict=True)]


class Label(Strict):
    """The attribute that rules predict, and what of it counts as yes: a member of two, or a range."""

    model_config = ConfigDict(frozen=True, validate_by_alias=True, validate_by_name=False, serialize_by_alias=True)

    attribute: str
    positive: str | None = None
    low: End | None = Field(default=None, alias="from")
    high: End | None = Field(default=None, alias="to")


def label_of(wanted: Label, domain: Domain) -> tuple[Attribute, int]:
    """The attribute of two members, and which of them is positive; raises WorkloadError where there is none."""
    label = named(domain, wanted.attribute, "the label")
    if wanted.low is not None or wanted.high is not None:
        if wanted.positive is not None:
            raise WorkloadError("the label has either a `positive` member or a range, not both", wanted.positive)
        return range_indicator(label, wanted.low, wanted.high), 1
    if label.size != 2:
        raise WorkloadError(
            f"the label {label.name!r} has {label.size} members, and a rule says yes or no: give it two members, or a "
            "range with `from` and `to`",
            label.name,
        )
    if wanted.positive is None:
        raise WorkloadError(f"say which member of the label {label.name!r} is `positive`", label.name)
    return label, _member(label, wanted.positive)


def named(domain: Domain, name: str, where: str) -> Attribute:
    """The attribute of that name; raises WorkloadError, which says `where` the name stands."""
    for attribute in domain.attributes:
        if attribute.name == name:
            return attribute
    names = ", ".join(attribute.name for attribute in domain.attributes)
    raise WorkloadError(f"{where}: the domain has no attribute {name!r}; it has {names[:1000]}", name)


def _member(attribute: Attribute, text: str) -> int:
    members = [attribute.label(index) for index in range(attribute.size)]
    if text not in members:
        raise WorkloadError(f"the label {attribute.name!r} has the members {' and '.join(members)}, not {text!r}", text)
    return members.index(text)
