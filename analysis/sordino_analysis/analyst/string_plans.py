"""Ask for common strings that nobody can list, and read which of them a plan finds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from sordino_analysis.analyst.arguments import NONE, NUMBER, PATH, TEXT, WHOLE, WrongType, instance, takes
from sordino_analysis.analyst.published_plans import PublishedPlan
from sordino_analysis.documents.string_queries import StringQueries, StringsDecoder
from sordino_analysis.documents.strings_summary import shown_from
from sordino_analysis.percentages import percent
from sordino_analysis.planning.audit import Check
from sordino_analysis.planning.plan_folder import read_round
from sordino_analysis.strings.labels import label_of
from sordino_analysis.strings.search import StringDomain
from sordino_analysis.strings.specification import USUAL_BEAM, USUAL_ERROR, StringsSpecification, parse_strings
from sordino_analysis.text_codes.string_code import StringCode
from sordino_shared.errors import InvalidValue
from sordino_shared.quantities import quantity
from sordino_shared.randomizers import Coarsened

# A plan is shown with what a campaign of middle size finds.
_USERS_SHOWN = 100_000


@takes(
    code=TEXT | instance(StringCode, advice=", which text_code makes"),
    name=TEXT,
    beam=WHOLE,
    error=NUMBER,
    least_share=NUMBER | NONE,
)
def common_strings(
    code: Literal["urls", "apps", "words", "bytes"] | str | StringCode = "urls",
    *,
    name: str = "text",
    depth: int | None = None,
    normal: Literal["nfc", "none"] = "nfc",
    beam: int = USUAL_BEAM,
    error: float = USUAL_ERROR,
    watched: Iterable[str] = (),
    least_share: float | None = None,
) -> StringsSpecification:
    """The common strings of one attribute, which nobody has to list: `plan`, `simulate` and `estimate` take it on.

    `code` is the public code of the texts: one that ships, or a `StringCode` of `text_code`. Of each text `depth` bits
    are collected, 8 to 512; by default what 80 % of the code's texts have, at most 96. Texts are taken in the normal
    form `normal`. The search follows `beam` paths, and `error` is that of the list and of all intervals together.

    Up to 1,000 `watched` strings are candidates that no search has to find: the table has all of them, and half of the
    error is theirs. Everybody who has the plan can tell whether a string is one of them. Certified strings below
    `least_share` are not shown; None stands for half of the share that is listed with 90 %, 0 for all. Raises
    WorkloadError for what is out of range, WrongType for `watched` that are no texts.

    >>> common_strings("words", name="word", depth=34).levels().widths
    (20, 14)
    """
    written: Any = code if isinstance(code, str) else code.document()
    text = {"name": name, "kind": "text", "code": written, "normal": normal}
    if depth is not None:
        text["depth"] = depth
    queries = {"kind": "strings", "beam": beam, "error": error}
    terms = {"watch": _texts(watched) or None, "least_share": least_share}
    given = {field: value for field, value in terms.items() if value is not None}
    return parse_strings({"name": name, "domain": [text], "queries": queries, **given})


@dataclass(frozen=True, eq=False, repr=False)
class StringPlan(PublishedPlan):
    """The plan of a search for common strings; all that is below follows from the bytes of its two parts.

    Raises InvalidValue and GuaranteeNotMet as a `Plan` does, and InvalidValue for parts of another question.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (isinstance(self.analyst.queries, StringQueries) and isinstance(self.analyst.decoder, StringsDecoder)):
            raise InvalidValue("these are the parts of another question than strings: read them with read_plan", self)

    @cached_property
    def strings(self) -> StringDomain:
        """The text, the pieces of its code and what a report tells of them."""
        assert isinstance(self.device.randomizer, Coarsened), "as every plan of strings"
        return StringDomain(self.device.domain, self.device.randomizer)

    @property
    def depth(self) -> int:
        """Bits of a text's code that are collected."""
        return self.strings.text.depth

    @property
    def beam(self) -> int:
        """Paths that the search follows."""
        return self._queries.beam

    @property
    def error(self) -> float:
        """Of the list and of all intervals together."""
        return self._queries.error

    @property
    def watched(self) -> tuple[str, ...]:
        """The watched strings as an estimate names them."""
        codes = self.strings.watched_codes(self._queries.watched)
        return tuple(label_of(self.strings.read(code)) for code in codes)

    @property
    def least_share(self) -> float | None:
        """Certified strings below it are not shown; None: below half of the share that is listed with 90 %."""
        return self._queries.least_share

    @takes(users=NUMBER)
    def share_found(self, users: int) -> float:
        """The share of the users from which on a string is listed with 90 %; 1 where it takes more users.

        Behind a shuffler it is that among its random reports, here and below. Raises InvalidValue for fewer than one
        user.
        """
        return self._decoder.share_found(_at_least_one(users), self._random)

    @takes(share=NUMBER)
    def users_needed(self, share: float) -> int:
        """Users with whom a string of this share is listed with 90 %; raises InvalidValue outside (0, 1]."""
        if not 0 < share <= 1:
            raise InvalidValue(f"a share is above 0 and at most 1, .005 for half a percent: not {share}", share)
        return self._decoder.users_for(share, self._random)

    @takes(users=NUMBER)
    def standard_error(self, users: int) -> float:
        """Of the share of a string that few hold, from so many reports; raises InvalidValue for fewer than one."""
        return self._decoder.share_error(_at_least_one(users), self._random)

    def audit(self) -> tuple[Check, ...]:
        """Every claim of the plan recomputed from its bytes: ε, levels, V, and the share that is found."""
        from sordino_analysis.strings.audit import audit_strings

        return tuple(audit_strings(self.device, self.analyst))

    @property
    def _random(self) -> int:
        return 0 if self.blanket is None else self.blanket.reports

    @property
    def _queries(self) -> StringQueries:
        assert isinstance(self.analyst.queries, StringQueries), "checked at the beginning"
        return self.analyst.queries

    @property
    def _decoder(self) -> StringsDecoder:
        assert isinstance(self.analyst.decoder, StringsDecoder), "checked at the beginning"
        return self.analyst.decoder

    def _facts(self) -> tuple[str, list[tuple[str, str]]]:
        widths = " + ".join(str(prefix.last - prefix.first) for prefix in self.strings.prefixes)
        found = percent(self.share_found(_USERS_SHOWN), 2)
        return f"Plan of {self.analyst.workload}: common strings of {self.strings.text.name}", [
            ("privacy", f"{self.device.guarantee} for each report"),
            ("mechanism", self.mechanism),
            ("bits of code", f"{self.depth}, in levels of {widths}"),
            ("paths followed", f"{self.beam:,}"),
            *((("watched", quantity(len(watched), "string")),) if (watched := self._queries.watched) else ()),
            ("shown", shown_from(self.least_share)),
            (f"found, {_USERS_SHOWN:,} users", f"with 90 %: strings that {found} of them hold or more"),
            ("report", f"{self.device.randomizer.payload_bytes} bytes"),
            ("device part", f"{len(self.device.content):,} bytes"),
        ]


@takes(folder=PATH)
def read_string_plan(folder: Path | str) -> StringPlan:
    """The plan in a folder that `StringPlan.save` or `sordino plan --output` wrote; ε is proved again.

    Raises ProtocolError for bytes that are not a plan, InvalidValue for parts of two plans or of another question,
    GuaranteeNotMet, and OSError.
    """
    parts = read_round(Path(folder))
    return StringPlan(parts.device, parts.analyst)


def _texts(watched: Iterable[object]) -> list[str]:
    if isinstance(watched, str | bytes):
        raise WrongType("watched are several texts: give a list, also of one", watched)
    texts = list(watched)
    for text in texts:
        if not isinstance(text, str):
            raise WrongType(f"watch strings as texts, not {type(text).__name__}", text)
    return [str(text) for text in texts]


def _at_least_one(users: int) -> int:
    if not (users >= 1 and math.isfinite(users)):
        raise InvalidValue(f"users must be at least 1, got {users}", users)
    return users
