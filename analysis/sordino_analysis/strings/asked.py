"""The shares of strings that somebody asks for, from the held-out level of a closed round."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.answers.columns import Cell
from sordino_analysis.documents.string_queries import MAX_TEXT_BYTES
from sordino_analysis.figures import SHARE
from sordino_analysis.strings.held_out import HeldOutCounts
from sordino_analysis.strings.labels import kind_of, label_of
from sordino_analysis.strings.reports import HELD_OUT, StringReports
from sordino_analysis.strings.search import StringDomain
from sordino_shared.errors import InvalidValue

# The band holds for all texts at once.
ALL_TEXTS = 1 << 64


def asked_strings(
    strings: StringDomain,
    pages: Iterable[NDArray[np.uint8]],
    texts: Sequence[str],
    level: float = 0.95,
    spread: float = 1.0,
) -> dict[str, Sequence[Cell]]:
    """Columns of the answers: shares of `texts` by payloads (n, width), an interval for each, a band for all texts.

    `spread` is how many times those of all reports the shares of devices are, with a shuffler's random ones among them.
    A text whose code is cut is answered as what it begins with, since all that begin so are one value.

    Raises InvalidValue for a text of more than 64 KiB, and where no report counts.
    """
    if any(len(text.encode("utf-8", "surrogatepass")) > MAX_TEXT_BYTES for text in texts):
        raise InvalidValue("/query/string: a string that is asked for has at most 64 KiB", len(texts))
    reports = StringReports.of(strings.randomizer, pages)
    if not len(reports.levels[HELD_OUT]):
        raise InvalidValue("no report of this round counts strings", texts)
    codes = [strings.text.bits_of(text) for text in texts]
    members, reads = [strings.text.index_of(code) for code in codes], [strings.read(code) for code in codes]
    counts = reports.held_counts(HELD_OUT, np.array(members, dtype=np.uint64))
    found = HeldOutCounts(counts, len(reports.levels[HELD_OUT]), spread)
    uncut = found.shares(strings.chances)
    columns: dict[str, Sequence[Cell]] = {
        "kind": [kind_of(read) for read in reads],
        "label": [label_of(read) for read in reads],
        "unit": [SHARE] * len(texts),
        "value": np.clip(uncut, 0.0, 1.0).tolist(),
        "uncut": uncut.tolist(),
        "standard_error": found.standard_errors(strings.chances).tolist(),
    }
    for prefix, error in (("", 1 - level), ("band_", (1 - level) / ALL_TEXTS)):
        shares = found.intervals(strings.chances, np.full(len(texts), error))
        columns |= {f"{prefix}lower": shares[:, 0].tolist(), f"{prefix}upper": shares[:, 1].tolist()}
    return columns
