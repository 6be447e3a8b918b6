"""From the reports of a round to its common strings: levels choose candidates, the held-out level certifies them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats
from sordino_analysis.progress import Progress, ProgressCallback, ignore_progress
from sordino_analysis.strings.beam import Paths, PathSearch
from sordino_analysis.strings.certification import Certified, certify, weights_of
from sordino_analysis.strings.chances import StringChances
from sordino_analysis.strings.held_out import HeldOutCounts
from sordino_analysis.strings.reports import HELD_OUT, StringReports
from sordino_analysis.text_codes.reading import CodeReader, End, ReadBits
from sordino_shared.domains import Domain, Text, TextPrefix
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import Coarsened

# A path is called seen where it is more likely than not to have the sought share.
_SEEN = 0.5
# Of seen paths that were not certified so many are told.
MOST_SEEN = 100


@dataclass(frozen=True, eq=False)
class StringDomain:
    """A domain of strings, its randomizer and how its codes are read."""

    domain: Domain
    randomizer: Coarsened

    def __post_init__(self) -> None:
        if not self.domain.holds_strings:
            raise InvalidValue("the plan collects no strings", self.domain)

    @cached_property
    def text(self) -> Text:
        """The attribute of the strings."""
        (text,) = (each for each in self.domain.attributes if isinstance(each, Text))
        return text

    @cached_property
    def prefixes(self) -> tuple[TextPrefix, ...]:
        """Its pieces in order."""
        return tuple(each for each in self.domain.attributes if isinstance(each, TextPrefix))

    @cached_property
    def reader(self) -> CodeReader:
        """What makes text of bits."""
        return CodeReader(self.text.code)

    @cached_property
    def chances(self) -> StringChances:
        """p and q."""
        return StringChances.of(self.randomizer)

    def read(self, code: int) -> ReadBits:
        """The text of a code of the whole depth."""
        return self.reader.read(code, self.text.depth)

    def watched_codes(self, packed: Sequence[bytes]) -> tuple[int, ...]:
        """The codes of watched strings, as integers, by their bits in bytes; raises InvalidValue for others."""
        size, left = -(-self.text.depth // 8), -self.text.depth % 8
        numbers = [int.from_bytes(each, "big") for each in packed]
        if any(len(each) != size for each in packed) or any(number & ((1 << left) - 1) for number in numbers):
            raise InvalidValue(f"the code of a watched string has {self.text.depth} bits and then zeros", len(packed))
        return tuple(number >> left for number in numbers)


@dataclass(frozen=True, eq=False, kw_only=True)
class FoundStrings:
    """m candidates, the leaves of paths first and the best of them at the head: `texts` and `codes` (m,).

    Some of them are `watched` (m,). `counts` (m,) are those in the held-out level, with their certification. `paths`
    are the leaves alone. `seen` are beginnings of strings whose paths are heavy and of which no string is certified.
    `reports` of all levels and of each: the held-out one first. Rarer strings than `least_share` are not shown, unless
    they are watched.
    """

    texts: tuple[ReadBits, ...]
    codes: tuple[int, ...]
    watched: NDArray[np.bool_]
    paths: Paths
    counts: HeldOutCounts
    certified: Certified
    seen: tuple[str, ...]
    reports: tuple[int, ...]
    least_share: float = 0.0

    @cached_property
    def listed(self) -> NDArray[np.bool_]:
        """(m,) the certified strings that are shown; any part of those that are certified keeps the error."""
        return np.asarray(self.certified.certified & (self.watched | (self.certified.uncut >= self.least_share)))


def find_strings(
    strings: StringDomain,
    reports: StringReports,
    beam: int,
    error: float,
    sought: float,
    progress: ProgressCallback = ignore_progress,
    *,
    known: Sequence[int] = (),
    watched: Sequence[int] = (),
    spread: float = 1.0,
    least_share: float = 0.0,
) -> FoundStrings:
    """The common strings of a round; `sought` is the share of paths in units of √(V/n). Raises InvalidValue.

    Codes that were `known` before the round are candidates without a path, and so are `watched` ones, which have their
    own half of the error. `spread` is that of `HeldOutCounts`.
    """
    if not reports.count:
        raise InvalidValue("no report was counted in this round, so there is nothing to find", reports)
    *shorter, leaves = followed_paths(strings, reports, beam, sought, progress)
    codes, chances, asked = _candidates(leaves, known, watched)
    counts = held_out_counts(strings, reports, codes, spread)
    found = certify(counts, strings.chances, weights_of(chances, asked), error)
    share = spread * sought * math.sqrt(strings.chances.variance / reports.count)
    # Beginnings have no number that could be compared with a larger share than paths are scored for.
    beginnings = shorter if least_share <= share else []
    progress(Progress(1.0))
    return FoundStrings(
        texts=(*leaves.reads, *map(strings.read, codes[len(leaves.codes) :])),
        codes=codes,
        watched=asked,
        paths=leaves,
        counts=counts,
        certified=found,
        seen=tuple(_seen(strings, beginnings, leaves, found, (found.uncut >= least_share) & ~asked)),
        reports=tuple(map(len, reports.levels)),
        least_share=least_share,
    )


def held_out_counts(
    strings: StringDomain, reports: StringReports, codes: Sequence[int], spread: float = 1.0
) -> HeldOutCounts:
    """(m,) how many reports of the held-out level hold each of the `codes` (m,) of the whole depth."""
    members = np.array([strings.text.index_of(code) for code in codes], dtype=np.uint64)
    return HeldOutCounts(reports.held_counts(HELD_OUT, members), len(reports.levels[HELD_OUT]), spread)


def _candidates(
    leaves: Paths, known: Sequence[int], watched: Sequence[int]
) -> tuple[tuple[int, ...], Floats, NDArray[np.bool_]]:
    """(m,) codes, chances of those that were found or known, which are the first, and (m,) which of all are watched.

    What was known counts as sure whatever this round's paths say of it.
    """
    sure, own = set(known), set(leaves.codes)
    found = (*leaves.codes, *(code for code in dict.fromkeys(known) if code not in own))
    chances = [*leaves.chances.tolist(), *(1.0 for _ in found[len(own) :])]
    raised = [1.0 if code in sure else chance for code, chance in zip(found, chances, strict=True)]
    codes, asked = tuple(dict.fromkeys((*found, *watched))), set(watched)
    return codes, np.array(raised), np.array([code in asked for code in codes], dtype=np.bool_)


def followed_paths(
    strings: StringDomain, reports: StringReports, beam: int, sought: float, progress: ProgressCallback
) -> Iterator[Paths]:
    """The paths that each level keeps, by the levels that choose alone; `sought` is in units of √(V/n)."""
    share = sought * math.sqrt(strings.chances.variance / reports.count)
    search = PathSearch(text=strings.text, reader=strings.reader, chances=strings.chances, beam=beam, sought=share)
    paths = Paths.root()
    for number, prefix in enumerate(strings.prefixes):
        paths = search.extended(paths, prefix, reports.rows(number + 1))
        progress(Progress((number + 1) / (len(strings.prefixes) + 1)))
        yield paths


def _seen(
    strings: StringDomain, shorter: list[Paths], leaves: Paths, found: Certified, shown: NDArray[np.bool_]
) -> Iterator[str]:
    """Heavy leaves that were not certified, then heavy beginnings of the longest such level without a heavy leaf.

    Of the leaves only those that are `shown`.
    """
    depth, told = strings.text.depth, 0
    heavy = [at for at, chance in enumerate(leaves.chances.tolist()) if chance >= _SEEN or found.certified[at]]
    for at in heavy:
        if not found.certified[at] and shown[at] and told < MOST_SEEN:
            told += 1
            yield leaves.reads[at].shown
    if not shorter:
        return
    last = strings.prefixes[-1].first
    covered = {leaves.codes[at] >> (depth - last) for at in heavy}
    for code, chance, read in zip(shorter[-1].codes, shorter[-1].chances.tolist(), shorter[-1].reads, strict=True):
        if chance >= _SEEN and code not in covered and read.end is End.OPEN and told < MOST_SEEN:
            told += 1
            yield read.shown
