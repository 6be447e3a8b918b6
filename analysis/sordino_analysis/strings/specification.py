"""The written form of a question for common strings: one text, its code, and how many paths are followed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError
from pydantic_core import PydanticCustomError

from sordino_analysis.documents.string_queries import LEAST_ERROR, MAX_BEAM, MOST_ERROR, StringQueries
from sordino_analysis.questions.linear.attributes import Strict, readable
from sordino_analysis.questions.linear.workload import WorkloadError
from sordino_analysis.strings.levels import LevelPlan
from sordino_analysis.text_codes.shipped_codes import shipped_code
from sordino_analysis.text_codes.string_code import StringCode, WrittenCode
from sordino_shared.domains import Domain
from sordino_shared.domains.hashed import SALT_BYTES
from sordino_shared.domains.strings import MAX_DEPTH
from sordino_shared.errors import InvalidValue

# More paths find little more and cost as much more; python -m benchmarks.strings has 300 and 3,000 beside it.
USUAL_BEAM = 1000
# As that of every interval.
USUAL_ERROR = 0.05
# The wire has none below.
_LEAST_DEPTH = 8
# As those of every attribute and workload.
_MAX_NAME = 200


class TextSpecification(Strict):
    """A text: `code` is one that ships, or the content of a file from `sordino text-code`; `depth` its bits.

    In a workload file `code: {file: my-code.json}` is read from the same folder. Without a depth it is the 80 %
    quantile of the code's texts, at most 96.
    """

    name: str = Field(min_length=1, max_length=_MAX_NAME)
    kind: Literal["text"]
    code: Literal["urls", "apps", "words", "bytes"] | WrittenCode
    depth: Annotated[int, Field(strict=True, ge=_LEAST_DEPTH, le=MAX_DEPTH)] | None = None
    normal: Literal["nfc", "none"] = "nfc"

    def string_code(self) -> StringCode:
        """The code; raises InvalidValue where a written one is none."""
        return shipped_code(self.code) if isinstance(self.code, str) else StringCode.of_written(self.code)


class WrittenStrings(Strict):
    """How common strings are looked for: the paths that each level keeps, and the error of the list and intervals."""

    kind: Literal["strings"]
    beam: Annotated[int, Field(strict=True, ge=1, le=MAX_BEAM)] = USUAL_BEAM
    error: Annotated[float, Field(strict=True, ge=LEAST_ERROR, le=MOST_ERROR)] = USUAL_ERROR


def _check_alone(attributes: Any) -> Any:
    if isinstance(attributes, list) and len(attributes) != 1:
        raise PydanticCustomError(
            "not_alone",
            "strings are of one attribute of kind text and nothing beside it; there are {count}",
            {"count": len(attributes)},
        )
    return attributes


class StringsSpecification(Strict):
    """A name, one text, and `queries: strings`."""

    name: str = Field(min_length=1, max_length=_MAX_NAME)
    domain: Annotated[
        list[TextSpecification], Field(min_length=1, max_length=1, fail_fast=True), BeforeValidator(_check_alone)
    ]
    queries: Literal["strings"] | WrittenStrings

    def canonical(self) -> dict[str, Any]:
        """The JSON-able form that is stored, and read back to an equal question."""
        return self.model_dump(mode="json", exclude_none=True)

    def sizes(self) -> tuple[None, int]:
        """No cells have numbers; the list is one answer. Raises WorkloadError where the code is none."""
        self.held_domain()
        return None, 1

    @property
    def text(self) -> TextSpecification:
        """The one attribute."""
        return self.domain[0]

    def asked(self) -> StringQueries:
        """The queries as a plan publishes them."""
        if isinstance(self.queries, str):
            return StringQueries(USUAL_BEAM, USUAL_ERROR)
        return StringQueries(self.queries.beam, self.queries.error)

    def levels(self) -> LevelPlan:
        """The levels of the code; raises WorkloadError where the code is none."""
        asked = self.asked()
        try:
            return LevelPlan(self.text.depth or self.text.string_code().depth, asked.beam, asked.error)
        except InvalidValue as error:
            raise WorkloadError(f"domain.0.code: {error}", error.value) from error

    def held_domain(self, salt: bytes = bytes(SALT_BYTES)) -> Domain:
        """The text and its pieces with a salt, which a plan draws; raises WorkloadError where the code is none."""
        # Processes that only read workloads need no randomizers.
        from sordino_analysis.strings.device_plan import string_domain

        ends = self.levels().ends
        return string_domain(self.text.name, self.text.string_code().code, ends, self.text.normal, salt)


def parse_strings(document: Mapping[str, Any]) -> StringsSpecification:
    """Read a question for strings strictly; raises WorkloadError with the place of everything that does not fit."""
    try:
        read = StringsSpecification.model_validate(document)
    except ValidationError as error:
        raise WorkloadError(readable(error), document) from error
    read.levels()
    return read
