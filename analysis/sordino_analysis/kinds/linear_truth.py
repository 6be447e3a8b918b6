"""What the answers of a simulated campaign should be, from the values that its devices hold.

Of a domain whose items no closed round lists, those that most devices hold are asked for by value. They are chosen by
what devices hold and not by any answer, so that an interval is one of a question fixed before.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence

from sordino_analysis.evaluation.grids.listing import listed_by_grids
from sordino_analysis.evaluation.listing import published_queries
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.building import build_workload
from sordino_analysis.request_terms import LONGEST_QUESTION
from sordino_analysis.vectorized.domains import codes_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.domains import Domain
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers.coarsened.randomizer import MAX_TABLES

# Counting one item in a million reports takes some tenths of a second.
MOST_CANDIDATES = 256


def lists_items(workload: Workload) -> bool:
    """Whether the estimate of a closed round has answers to compare."""
    return workload.is_listed or workload.size <= MAX_TABLES


def candidates(domain: Domain, values: Sequence[object]) -> list[str]:
    """The values that most devices hold, as one asks for a cell, at most `MOST_CANDIDATES`; ties in order of the text.

    A value that is absent, not in the domain or too long to be asked for is none. Raises InvalidValue if all are.
    """
    # Any salt: it tells members from absent values, and not which member a text is.
    known = domain.salted(SeededRandomness(0))
    texts = Counter(text for text in (_text(known, value) for value in values) if text is not None)
    if not texts:
        raise InvalidValue(
            f"of {domain.size} items none is published, and no device holds a value of up to {LONGEST_QUESTION} "
            "characters that could be asked for, so there is nothing to compare",
            domain.size,
        )
    ordered = sorted(texts.items(), key=lambda each: (-each[1], each[0]))
    return [text for text, _ in ordered[:MOST_CANDIDATES]]


def shares_of(domain: Domain, values: Sequence[object], texts: Sequence[str]) -> list[float]:
    """The share of the devices that hold the item of each candidate, whatever other text has the same hash."""
    held = Counter(map(tuple, codes_many(domain, values).tolist()))
    by_text = {text: value for value in values if (text := _text(domain, value)) is not None}
    codes = codes_many(domain, [by_text[text] for text in texts]).tolist()
    return [held[tuple(code)] / len(values) for code in codes]


def truth_of(workload: Workload, domain: Domain, values: Sequence[object], labels: Sequence[object]) -> list[float]:
    """The true answers to the published queries of these `labels`; `domain` is the campaign's, with salts of hashes."""
    if workload.is_listed:
        whole = build_workload(domain, workload.published)
        codes, numbers = codes_many(domain, values), published_queries(whole)
        if len(labels) == len(numbers):
            return [float(answer) for answer in whole.truth_of_codes(codes)[numbers]]
        return [float(answer) for answer in listed_by_grids(whole).truth_of_codes(codes)]
    held = Counter(map(domain.describe, codes_many(domain, values).tolist()))
    return [held[str(label)] / len(values) for label in labels]


def _text(domain: Domain, value: object) -> str | None:
    """A value as one asks for its cell; None where one cannot."""
    names = [attribute.name for attribute in domain.attributes]
    members = [value[name] for name in names] if isinstance(value, Mapping) else [value]
    for attribute, member in zip(domain.attributes, members, strict=True):
        if member is None or attribute.encode(member, strict=False) >= attribute.listed:
            return None
    if len(members) == 1:
        text = str(members[0])
    else:
        text = json.dumps(dict(zip(names, map(str, members), strict=True)), ensure_ascii=False)
    return text if len(text) <= LONGEST_QUESTION else None
