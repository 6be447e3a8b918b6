"""What a plan of strings publishes, recomputed from its two parts."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.documents.string_queries import StringQueries, StringsDecoder
from sordino_analysis.planning.audit import Check, audit_claims, audit_device, computing_what_was_published
from sordino_analysis.strings.levels import LevelPlan
from sordino_analysis.strings.request import strings_decoder, strings_figures
from sordino_analysis.strings.search import StringDomain
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import Coarsened

# Sums in another order, on another machine.
_RELATIVE = 1e-8


def audit_strings(device: DevicePart, analyst: AnalystPart) -> Iterator[Check]:
    """Every claim of the two parts: that they belong together, ε, the levels, V, the share that is found, (ε, δ).

    Raises InvalidValue where they are of no strings.
    """
    same = analyst.device_digest == device.digest
    yield Check("device part", same, str(analyst.device_digest), str(device.digest))
    yield from audit_device(device)
    queries, decoder, randomizer = analyst.queries, analyst.decoder, device.randomizer
    if not (isinstance(queries, StringQueries) and isinstance(decoder, StringsDecoder)):
        raise InvalidValue("queries and decoder are of different plans", analyst)
    if not isinstance(randomizer, Coarsened):
        raise InvalidValue("strings are collected by levels", device)
    with computing_what_was_published():
        strings = StringDomain(device.domain, randomizer)
        levels = LevelPlan(strings.text.depth, queries.beam, queries.error, len(queries.watched))
        strings.watched_codes(queries.watched)
        found, figures = strings_decoder(device, levels), strings_figures(device, decoder)
    ends = tuple(prefix.last for prefix in strings.prefixes)
    yield Check("levels", ends == levels.ends, _listed(ends), _listed(levels.ends))
    chances = tuple(level.chance for level in randomizer.levels)
    yield Check("chances of levels", chances == levels.chances, _listed(chances), _listed(levels.chances))
    for name in ("variance", "held_out", "found", "sought"):
        yield _number(name.replace("_", "-"), getattr(decoder, name), getattr(found, name))
    for name in ("max_variance", "mean_variance", "bias_bound"):
        yield _number(name.replace("_", " "), getattr(analyst.figures, name), getattr(figures, name))
    if analyst.blanket is not None:
        yield from audit_claims(device, analyst.blanket)


def _number(name: str, published: float, recomputed: float) -> Check:
    holds = math.isclose(published, recomputed, rel_tol=_RELATIVE)
    return Check(name, holds, f"{published:.9g}", f"{recomputed:.9g}")


def _listed(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers))
