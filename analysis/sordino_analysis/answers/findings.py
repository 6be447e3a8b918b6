"""What a table of answers tells in sentences: first what is found, then what cannot be told, and what would tell it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sordino_analysis.answers.banded import BandedAnswer, banded_answers
from sordino_analysis.answers.found_differences import differences_found
from sordino_analysis.answers.table import AnswerTable
from sordino_analysis.figures import SHARE, amount
from sordino_analysis.percentages import percent
from sordino_shared.quantities import quantity

# At most this many shares follow the largest one, and are named where the largest cannot be told.
_MOST_FOLLOWING, _MOST_NAMED = 2, 4
# The median is where half of the users are.
_HALF = 0.5
# Of a distribution, the step whose share is nearest to this is the first sentence.
_TOLD_STEP = 0.6
# Bands of which none is narrower tell too little.
_TOO_WIDE = 0.2
# The half width of bands that further users are counted for.
_WANTED_REACH = 0.03


@dataclass(frozen=True, kw_only=True)
class Findings:
    """The first sentence; `others` are found too, `untold` cannot be told; `more` users would make every band ± 3 %.

    `answer` is the one that the first sentence is about, if it is about one. With `too_few` users no band is narrower
    than 20 points.
    """

    headline: str
    others: tuple[str, ...] = ()
    untold: tuple[str, ...] = ()
    more: int | None = None
    answer: BandedAnswer | None = None
    too_few: bool = False

    @property
    def lines(self) -> tuple[str, ...]:
        """All as sentences, in this order."""
        told = (self.headline, *self.others, *self.untold)
        if self.more is None:
            return told
        wanted = amount(_WANTED_REACH, SHARE, _WANTED_REACH)
        return (*told, f"about {quantity(self.more, 'more user')} would make every band ± {wanted} or narrower")


def findings(table: AnswerTable) -> tuple[str, ...]:
    """The sentences of what the table tells; of a comparison which answers differ. None where nothing is found."""
    if "verdict" in table.columns and "right" in table.columns and "band_lower" in table.columns:
        return differences_found(table)
    found = told(table)
    return () if found is None else found.lines


def told(table: AnswerTable) -> Findings | None:
    """Of a histogram which shares are the largest, of a distribution between which steps the median lies.

    None of other tables, of tables without a band, and of the shares of a list that leaves queries out.
    """
    if table.terms.get("unlisted") or not {"value", "band_lower"} <= table.columns.keys() or len(table) < 2:
        return None
    if set(table.cells("unit")) != {SHARE}:
        return None
    kinds, found = set(table.cells("kind")), banded_answers(table)
    if len(found) < len(table):
        return None
    if kinds == {"histogram"}:
        return _of_shares(found, table.terms.get("users"))
    if kinds == {"prefix"} and len({each.attribute for bounds in table.bounds() for each in bounds}) == 1:
        return _of_steps(found, table.terms.get("users"))
    return None


def _of_shares(found: Sequence[BandedAnswer], users: object) -> Findings:
    """The largest share if its band is above all others, then those of which this is true as well."""
    ranked = sorted(found, key=lambda each: -each.value)
    first, *rest = ranked
    rivals = [each for each in rest if not first.is_above(each)]
    if rivals:
        few = _is_too_wide(found)
        undecided = _undecided(first, rivals, found)
        return Findings(headline=undecided, more=_more(found, users), answer=first, too_few=few)
    followers = list[BandedAnswer]()
    while len(followers) < _MOST_FOLLOWING and len(rest) > 1 and all(rest[0].is_above(each) for each in rest[1:]):
        followers.append(rest.pop(0))
    tied = len(rest) > 1 and not (rest[0].is_above(rest[1]) or rest[1].is_above(rest[0]))
    return Findings(
        headline=f"the largest share is {first.text}",
        answer=first,
        too_few=_is_too_wide(found),
        others=tuple(f"then {each.text}" for each in followers),
        untold=(f"whether {rest[0].label} or {rest[1].label} is larger cannot be told",) if tied else (),
        more=_more(found, users) if tied else None,
    )


def _undecided(first: BandedAnswer, rivals: Sequence[BandedAnswer], found: Sequence[BandedAnswer]) -> str:
    """How many shares may be the largest, and which."""
    if _is_too_wide(found):
        return f"too few users to tell which share is the largest: no band is narrower than {percent(_TOO_WIDE)}"
    if len(rivals) == len(found) - 1:
        return "which share is the largest cannot be told: all bands overlap"
    named = ", ".join(each.label for each in (first, *rivals)[:_MOST_NAMED])
    return f"the largest share is one of {len(rivals) + 1}, whose bands overlap: {named}" + (
        ", …" if len(rivals) >= _MOST_NAMED else ""
    )


def _of_steps(found: Sequence[BandedAnswer], users: object) -> Findings:
    """A step that most users have, and the two between which the median surely lies."""
    told = min(found, key=lambda each: abs(each.value - _TOLD_STEP))
    below = [each for each in found if each.high < _HALF]
    above = [each for each in found if each.low > _HALF]
    said = [f"less than half have {below[-1].text}"] if below else []
    said += [f"more than half have {above[0].text}"] if above else []
    few = _is_too_wide(found)
    if said:
        more = _more(found, users) if few else None
        return Findings(headline=told.text, others=("; ".join(said),), more=more, answer=told, too_few=few)
    untold = "between which steps the median lies cannot be told"
    return Findings(headline=told.text, untold=(untold,), more=_more(found, users), answer=told, too_few=few)


def _is_too_wide(found: Sequence[BandedAnswer]) -> bool:
    return min(each.high - each.low for each in found) >= _TOO_WIDE


def _more(found: Sequence[BandedAnswer], users: object) -> int | None:
    """About how many further users make the widest band ± 3 %, to two digits; None where it is.

    Errors fall with the root of the number of users. A band that ends at 0 or 1 is cut there, so that its own half
    width says too little: then the widest of the others counts.
    """
    whole = [each.reach for each in found if each.low > 0 and each.high < 1] or [each.reach for each in found]
    if not isinstance(users, int) or max(whole) <= _WANTED_REACH:
        return None
    further = users * ((max(whole) / _WANTED_REACH) ** 2 - 1)
    size: int = 10 ** max(0, math.floor(math.log10(max(further, 1))) - 1)
    return math.ceil(further / size) * size
