"""The written form of a question for common strings: one text, its code, and how many paths are followed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError
from pydantic_core import PydanticCustomError

from sordino_analysis.documents.string_queries import (
    LEAST_ERROR,
    MAX_BEAM,
    MAX_TEXT_BYTES,
    MAX_WATCHED,
    MOST_ERROR,
    MOST_LEAST_SHARE,
    StringQueries,
)
from sordino_analysis.questions.linear.attributes import Strict, readable
from sordino_analysis.questions.linear.workload import WorkloadError
from sordino_analysis.strings.levels import LevelPlan
from sordino_analysis.text_codes.shipped_codes import shipped_code
from sordino_analysis.text_codes.string_code import StringCode, WrittenCode
from sordino_shared.domains import Domain, Text
from sordino_shared.domains.hashed import SALT_BYTES
from sordino_shared.domains.strings import MAX_DEPTH
from sordino_shared.domains.text_code import packed_bits
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


def _check_watched(text: str) -> str:
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise PydanticCustomError("no_text", "half of a surrogate pair is no text") from None
    if size > MAX_TEXT_BYTES:
        raise PydanticCustomError("too_long", "a watched string has at most 64 KiB")
    return text


class StringsSpecification(Strict):
    """A name, one text, and `queries: strings`.

    Strings to `watch` are candidates that no search has to find. Certified strings below `least_share` are not shown;
    without it these are strings below half of the share that is listed with 90 %.
    """

    name: str = Field(min_length=1, max_length=_MAX_NAME)
    domain: Annotated[
        list[TextSpecification], Field(min_length=1, max_length=1, fail_fast=True), BeforeValidator(_check_alone)
    ]
    queries: Literal["strings"] | WrittenStrings
    watch: Annotated[
        list[Annotated[str, Field(strict=True), AfterValidator(_check_watched)]] | None,
        Field(min_length=1, max_length=MAX_WATCHED),
    ] = None
    least_share: Annotated[float, Field(ge=0, le=MOST_LEAST_SHARE)] | None = None

    def canonical(self) -> dict[str, Any]:
        """The JSON-able form that is stored, and read back to an equal question."""
        return self.model_dump(mode="json", exclude_none=True)

    def sizes(self) -> tuple[None, int]:
        """No cells have numbers; the list is one answer. Raises WorkloadError as `watched` does."""
        self.held_domain()
        self.watched()
        return None, 1

    @property
    def text(self) -> TextSpecification:
        """The one attribute."""
        return self.domain[0]

    def asked(self) -> StringQueries:
        """The queries as a plan publishes them."""
        written = WrittenStrings(kind="strings") if isinstance(self.queries, str) else self.queries
        return StringQueries(written.beam, written.error, self.watched(), self.least_share)

    def levels(self) -> LevelPlan:
        """The levels of the code; raises WorkloadError where the code is none."""
        written = WrittenStrings(kind="strings") if isinstance(self.queries, str) else self.queries
        return LevelPlan(self.depth, written.beam, written.error, len(self.watch or ()))

    @property
    def depth(self) -> int:
        """Bits of the code; raises WorkloadError where the code is none."""
        return self.text.depth or self.code().depth

    def code(self) -> StringCode:
        """The code; raises WorkloadError where a written one is none."""
        try:
            return self.text.string_code()
        except InvalidValue as error:
            raise WorkloadError(f"domain.0.code: {error}", error.value) from error

    def watched(self) -> tuple[bytes, ...]:
        """The bits of the code of each watched string; raises WorkloadError where two of them are one value.

        The same where the code is none.
        """
        if not self.watch:
            return ()
        code = self.code().code
        text = Text(
            name=self.text.name,
            normal=self.text.normal,
            depth=self.depth,
            salt=bytes(SALT_BYTES),
            tokens=code.tokens,
            lengths=code.lengths,
        )
        places: dict[bytes, int] = {}
        for place, each in enumerate(self.watch):
            bits = packed_bits(text.bits_of(each), text.depth)
            if (first := places.setdefault(bits, place)) != place:
                same = text.utf_8(each) == text.utf_8(self.watch[first])
                raise WorkloadError(_watched_twice(place, first, text.depth, same=same), place)
        return tuple(places)

    def held_domain(self, salt: bytes = bytes(SALT_BYTES)) -> Domain:
        """The text and its pieces with a salt, which a plan draws; raises WorkloadError where the code is none."""
        # Processes that only read workloads need no randomizers.
        from sordino_analysis.strings.device_plan import string_domain

        ends = self.levels().ends
        return string_domain(self.text.name, self.code().code, ends, self.text.normal, salt)


def _watched_twice(place: int, first: int, depth: int, *, same: bool) -> str:
    """By their places alone: what is watched is in no message."""
    if same:
        return f"watch.{place}: the same text as watch.{first}, or the same in its normal form: write it once"
    return (
        f"watch.{place}: its code begins with the same {depth} bits as that of watch.{first}, so both are one value: "
        "watch one of them, or take a larger depth"
    )


def parse_strings(document: Mapping[str, Any]) -> StringsSpecification:
    """Read a question for strings strictly; raises WorkloadError with the place of everything that does not fit."""
    try:
        read = StringsSpecification.model_validate(document)
    except ValidationError as error:
        raise WorkloadError(readable(error), document) from error
    read.code()
    read.watched()
    return read
