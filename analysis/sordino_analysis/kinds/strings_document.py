"""The estimate of common strings as a document, and the true shares of strings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.answers.columns import Cell
from sordino_analysis.answers.document import EstimateDocument, ends
from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.documents.string_queries import StringQueries, StringsDecoder, reports_alone
from sordino_analysis.estimation.linear import EstimationError
from sordino_analysis.figures import SHARE
from sordino_analysis.kinds.base import digests_of
from sordino_analysis.kinds.strings import StringExtras, why_listed
from sordino_analysis.kinds.strings_periods import known_codes, of_period
from sordino_analysis.planning.rounds import ClosedRound, EarlierPeriod
from sordino_analysis.progress import ProgressCallback, ignore_progress
from sordino_analysis.strings.certification import forged_reach
from sordino_analysis.strings.labels import kind_of, label_of, legible
from sordino_analysis.strings.levels import LevelPlan
from sordino_analysis.strings.reports import HELD_OUT, StringReports
from sordino_analysis.strings.search import FoundStrings, StringDomain, find_strings
from sordino_analysis.text_codes.reading import CodeReader
from sordino_shared.domains import Domain, Text
from sordino_shared.protocol import DevicePart, Manifest
from sordino_shared.randomizers import Coarsened

# Below so many reports of a level shares of levels are not judged.
_LEAST_JUDGED = 100
# Levels are drawn by the randomizer alone: counts that are rarer than one in a thousand are told.
_SUSPICIOUS = 0.001


def estimated(manifest: Manifest, closed: ClosedRound) -> EstimateDocument:
    """The document of a closed round; raises EstimationError without its reports."""
    if closed.payloads is None:
        raise EstimationError("strings are found in the reports themselves, which are not at hand")
    plan, campaign = closed.plan, str(manifest.campaign)
    terms = {"campaign_id": campaign, **digests_of(plan)}
    return strings_document(
        plan.device,
        plan.analyst,
        closed.payloads(),
        blanket=closed.blanket,
        number=closed.number,
        before=closed.before,
        progress=closed.progress,
        **terms,
    )


def strings_document(
    device: DevicePart,
    analyst: AnalystPart,
    pages: Iterable[NDArray[np.uint8]],
    *,
    blanket: int = 0,
    number: int | None = None,
    before: EarlierPeriod | None = None,
    progress: ProgressCallback = ignore_progress,
    **terms: Cell,
) -> EstimateDocument:
    """The document of what is found in (n, width) payloads, with further terms; raises EstimationError.

    `blanket` of them are random ones of a shuffler. Of a series they are those of the period `number`, and `before` is
    an earlier one.
    """
    queries, decoder = _search_of(analyst)
    assert isinstance(device.randomizer, Coarsened), "as every device part of strings"
    strings = StringDomain(device.domain, device.randomizer)
    reports = StringReports.of(device.randomizer, pages)
    users = _devices_among(reports, blanket)
    share = decoder.share_found(users, blanket)
    found = find_strings(
        strings,
        reports,
        *(queries.beam, queries.error, decoder.sought),
        progress,
        known=known_codes(before),
        watched=strings.watched_codes(queries.watched),
        spread=reports.count / users,
        least_share=queries.shown_from(share),
    )
    series = of_period(number, before, strings, found, queries.error)
    forged = forged_reach(strings.chances, decoder.held_out)
    extras = StringExtras(
        warnings=(*_warnings(device.randomizer, found.reports), *series.warnings),
        workload=analyst.workload,
        beam=queries.beam,
        found=share,
        forged=forged[0],
        forged_held_out=forged[1],
        blanket=blanket or None,
        **_of_found(strings, queries, found, math.sqrt(decoder.variance / reports_alone(users, blanket))),
        **series.extras,
    )
    return EstimateDocument.of_columns(
        "strings",
        _columns(strings, found),
        extras,
        users=users,
        epsilon=device.guarantee.epsilon,
        level=found.certified.level,
        bias_bound=analyst.figures.bias_bound,
        target="reporters",
        validity="worst_case",
        mechanism=analyst.mechanism,
        compared=len(found.texts),
        **terms,
    )


def _of_found(strings: StringDomain, queries: StringQueries, found: FoundStrings, unit: float) -> dict[str, Any]:
    """The fields about candidates, and which of them are seen, watched and hidden, with a `unit` of shares, √(V/n)."""
    watched = LevelPlan(strings.text.depth, queries.beam, queries.error, len(queries.watched)).found_watched
    return {
        "candidates": len(found.texts),
        "reports": found.reports,
        "seen": tuple(map(legible, found.seen)),
        "watched": len(queries.watched),
        "found_watched": None if watched is None else min(1.0, unit * watched),
        "least_share": found.least_share,
        "hidden": int((found.certified.certified & ~found.listed).sum()),
    }


def _search_of(analyst: AnalystPart) -> tuple[StringQueries, StringsDecoder]:
    if not isinstance(analyst.queries, StringQueries) or not isinstance(analyst.decoder, StringsDecoder):
        raise EstimationError("the plan finds no strings")
    return analyst.queries, analyst.decoder


def _devices_among(reports: StringReports, blanket: int) -> int:
    """How many reports are no random ones; raises EstimationError where nothing can be found in them."""
    if not reports.count:
        raise EstimationError("no report was counted in this round, so there is nothing to find")
    if reports.count <= blanket:
        raise EstimationError(
            f"{reports.count} reports were counted, and {blanket} of them are the shuffler's random ones: no device "
            "is left to ask about"
        )
    if not len(reports.levels[HELD_OUT]):
        raise EstimationError("no report certifies: of so few none is of the held-out level")
    return reports.count - blanket


def true_shares(domain: Domain, values: Sequence[object]) -> dict[tuple[str, str], float]:
    """The share of the values that each kind and label of a row stands for."""
    (text,) = (each for each in domain.attributes if isinstance(each, Text))
    reader = CodeReader(text.code)
    counts = Counter(text.bits_of(domain.parts(value)[0]) for value in values)
    reads = ((reader.read(bits, text.depth), count) for bits, count in counts.items())
    return {(kind_of(read), label_of(read)): count / len(values) for read, count in reads}


def _columns(strings: StringDomain, found: FoundStrings) -> dict[str, Sequence[Cell]]:
    """Certified strings by their shares, then watched ones that are not certified."""
    certified, listed = found.certified, found.listed.tolist()
    rows_of = [at for at, watched in enumerate(found.watched.tolist()) if watched or listed[at]]
    rows_of.sort(key=lambda at: (not listed[at], -float(certified.uncut[at])))
    errors = found.counts.standard_errors(strings.chances)
    rows = [
        {
            "kind": kind_of(found.texts[at]),
            "label": label_of(found.texts[at]),
            "unit": SHARE,
            "value": float(certified.value[at]),
            "uncut": float(certified.uncut[at]),
            "standard_error": float(errors[at]),
            **ends("band_", (float(certified.interval[at, 0]), float(certified.interval[at, 1]))),
        }
        for at in rows_of
    ]
    names = ("kind", "label", "unit", "value", "uncut", "standard_error", "band_lower", "band_upper")
    columns: dict[str, Sequence[Cell]] = {name: [row[name] for row in rows] for name in names}
    if found.watched.any():
        columns["sentence"] = [why_listed(certified=listed[at], watched=bool(found.watched[at])) for at in rows_of]
    return columns


def _warnings(randomizer: Coarsened, reports: Sequence[int]) -> list[str]:
    """Whether the levels have other shares than devices draw: forged reports of one level add most."""
    from scipy.stats import chisquare

    chances = [level.chance for level in randomizer.levels]
    expected = [sum(reports) * chance / sum(chances) for chance in chances]
    if min(expected) < _LEAST_JUDGED or chisquare(reports, expected).pvalue >= _SUSPICIOUS:
        return []
    return ["levels have other shares of the reports than devices draw, as forged reports have: see `reports`"]
