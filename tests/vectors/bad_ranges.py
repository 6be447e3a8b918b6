"""One past the end of every range that docs/protocol.md states: integers, lengths of texts and arrays, and sums."""

from __future__ import annotations

from typing import Any

import numpy as np
from bad_encodings import entry, plain
from dithering import changes_of_dithered
from good_documents import documents
from log import changes_of_entries
from routes import changes_of_routes
from sealing import changes_of_sealed
from strings import changes_of_domains

from sordino_analysis.vectorized.arrays import array_of
from sordino_shared.protocol.codec import encode_value
from sordino_shared.protocol.schema import to_plain

Place = tuple[str | int, ...]
WHOLE = 2**60
_MOST = "0 to 2^53 − 1"
BLANKS = "\u0020\u00a0\u1680\u2000\u200a\u202f\u205f\u3000"


def changed(value: Any, place: Place, wrong: Any) -> Any:
    """A plain value with what is at `place` replaced."""
    if not place:
        return wrong
    step, rest = place[0], place[1:]
    if isinstance(value, list):
        return [changed(item, rest, wrong) if index == step else item for index, item in enumerate(value)]
    assert step in value or step in ("missing", "other"), step
    return value | {step: changed(value.get(step), rest, wrong)}


def one_past(document: str, example: str, place: Place, *wrong: Any, why: str) -> list[dict[str, Any]]:
    """An example of a document with each wrong value in one place."""
    good = plain(documents()[document][example])
    name = "_".join((document, example, *map(str, place)))
    return [
        entry(f"{name}#{number}", why, encode_value(changed(good, place, each)), document)
        for number, each in enumerate(wrong)
    ]


def _array(values: Any, element: str) -> dict[str, Any]:
    plain_array: dict[str, Any] = to_plain(array_of(np.array(values), element))
    return plain_array


def _manifests() -> list[dict[str, Any]]:
    first, carrier = ("domain", "attributes", 0), ("domain", "attributes", 1)
    long, edges = "x" * 201, [f"{b}a" for b in BLANKS] + [f"a{b}" for b in BLANKS]
    breaks = ["a\nb", "a\tb", "a\u2028b", "a\u2029b", "a\x7fb", "a\x85b"]
    rounds = plain(documents()["manifest"]["one_round"])["rounds"]
    one, two, limits = (("manifest", name) for name in ("one_round", "two_rounds", "at_limits"))
    nano = ("rounds", 0, "guarantee", "nano")
    other = plain(documents()["manifest"]["one_round"])["domain"]["attributes"]
    return [
        *one_past(*one, ("name",), "", long, "\u2603" * 201, *edges, *breaks, why="1 to 200 characters, no blank ends"),
        *one_past(*one, ("population",), "", long, "a\u00a0", *breaks, why="1 to 200 characters, no blank ends"),
        *one_past(*one, ("purpose",), "", "x" * 2001, why="1 to 2000 characters"),
        *(
            entry(f"sentence_{ord(c):x}", "only U+000A breaks a line", _sentence(f"a{c}b"), "manifest")
            for c in "\r\t\v\x85\u2028\u2029"
        ),
        *one_past(*one, ("created_at",), -1, 2**40 + 1, why="0 to 2^40"),
        *one_past(*one, ("rounds",), [], why="at least one round"),
        *one_past(*limits, ("rounds",), rounds * 17, why="at most 16 rounds"),
        *one_past(*one, ("device_guarantee", "nano"), -1, 10**12 + 1, why="ε up to 1000"),
        *one_past(*one, nano, 999_999, why="ε of a round is at least .001"),
        *one_past(*limits, nano, 16 * 10**9 + 1, why="ε of a round is at most 16"),
        *one_past(
            *two,
            ("assignment", "weights"),
            *([0, 2**32], [2**32], [1] * 16 + [2**32 - 16], [2**31, 2**31 - 1], [2**30, 2**30, 2**31]),
            why="2 to 16 weights of 1 to 2^32 − 1 that sum to 2^32, one for each of the two rounds",
        ),
        *one_past(*two, ("rounds",), rounds, why="one of two rounds is drawn, there is one"),
        *one_past(
            *one, ("domain", "attributes"), [], other * 2, [_categorical(["AA"])], why="distinct, at least two cells"
        ),
        *_servers(),
        *one_past(*one, (*first, "name"), "", long, " a", why="1 to 200 characters, no blank ends"),
        *one_past(*one, (*first, "unit"), long, "a ", why="0 to 200 characters, no blank ends"),
        *one_past(*one, (*first, "edges"), [1.0, 1.0], [2.0, 1.0], why="edges increase strictly"),
        *one_past(*one, (*carrier, "categories"), ["AA", "AA"], ["AA", "other"], why="two members of one label"),
        *one_past(*limits, (*first, "missing"), True, why="the label of the member `missing`"),
        *one_past(*one, (*carrier, "categories", 0), "", long, "AA\u3000", why="1 to 200 characters, no blank ends"),
        *one_past(*one, carrier, _categorical([]), why="an attribute without a member"),
        *_without_lists(carrier),
    ]


def _servers() -> list[dict[str, Any]]:
    some, limits = ("manifest", "servers"), ("manifest", "at_limits")
    known = plain(documents()["manifest"]["servers"])["servers"]
    seventeenth = [*plain(documents()["manifest"]["at_limits"])["servers"], {"name": "q", "urls": ["https://q"]}]
    addresses = [
        *("", "https:/", "https://a/".ljust(201, "x"), "ftp://eu.example", "https://", "//eu.example", "https://-a"),
        *("https://EU.example", "https://eu.example/", "https://eu.example:443", "http://eu.example:80", "https://a."),
        *(
            "https://a:65536",
            "https://a:08000",
            "https://a:",
            "https://u@a",
            "https://a?b",
            "https://a#b",
            "https://a/.",
        ),
        *("https://a/../b", "https://a//b", "https://a/%41", "https://a b", "https://\u00fc.example", "https://[::g]"),
    ]
    return [
        *one_past(*limits, ("servers",), seventeenth, why="at most 16 servers"),
        *one_past(*some, ("servers",), known + known[:1], why="distinct names of servers"),
        *one_past(
            *some, ("servers", 1, "name"), "", "x" * 25, "EU", "-eu", "e u", "\u00e9", why="letters, digits, hyphens"
        ),
        *one_past(
            *some,
            ("servers", 1, "urls"),
            *([], ["https://a"] * 2, known[0]["urls"]),
            why="at least one address, each once, also among servers",
        ),
        *one_past(*limits, ("servers", 0, "urls"), [f"https://a{n}" for n in range(5)], why="at most 4 addresses"),
        *one_past(*some, ("servers", 1, "urls", 0), *addresses, why="an address in its one spelling"),
    ]


def _without_lists(place: Place) -> list[dict[str, Any]]:
    edges = (*place[:-1], 0, "edges")
    hashed = {"kind": "hashed", "name": "h", "bits": 64, "salt": bytes(16)}
    whole = {"kind": "integers", "name": "i", "low": 0, "high": 1, "unit": ""}
    even = {"start": 0.0, "step": 1.0, "count": 1}
    many = [{**_categorical(["a", "b"]), "name": f"a{number}"} for number in range(256)]
    wrong: list[tuple[str, Place, list[Any], str]] = [
        ("bits", place, [{**hashed, "bits": 0}, {**hashed, "bits": 65}], "1 to 64 bits of a hash"),
        ("salt", place, [{**hashed, "salt": bytes(n)} for n in (0, 15, 17, 32)], "a salt has 16 bytes"),
        ("hashes", place, [{**hashed, "missing": True}], "at most 2^64 members"),
        ("none", place, [{**whole, "low": 2}, {**whole, "high": -1}], "low is at most high"),
        ("word", place, [{**whole, "high": 2**63}, {**whole, "low": 2**63}], "-2^63 to 2^63 - 1"),
        ("integers", place, [{**whole, "high": 2**62}, {**whole, "low": -(2**63)}], "at most 2^62 integers"),
        ("unit", place, [{**whole, "unit": "x" * 201}], "0 to 200 characters"),
        ("attributes", place[:-1], [[{**whole, "high": 0}], many], "two cells, and up to 255 attributes"),
        ("step", edges, [{**even, "step": step} for step in (0.0, -1.0)], "edges increase"),
        ("count", edges, [{**even, "count": count} for count in (0, 2**48 + 1)], "1 to 2^48 edges"),
        ("near", edges, [{"start": 1e16, "step": 0.5, "count": 2}], "edges are distinct doubles"),
        ("far", edges, [{"start": 1e308, "step": 1e308, "count": 2}], "edges are finite doubles"),
    ]
    good = plain(documents()["manifest"]["one_round"])
    return [
        entry(f"unlisted_{name}#{number}", why, encode_value(changed(good, where, each)), "manifest")
        for name, where, values, why in wrong
        for number, each in enumerate(values)
    ]


def _routes() -> list[dict[str, Any]]:
    """One past the ends of routes, arms and texts."""
    shuffled = plain(documents()["manifest"]["shuffled"])["route"]
    return [
        case
        for example, place, wrong, why in changes_of_routes()
        for case in one_past("manifest", example, place, *(shuffled if w == "shuffled" else w for w in wrong), why=why)
    ]


def _domains() -> list[dict[str, Any]]:
    """One past the ends of numbers, texts and prefixes."""
    return [
        case
        for example, place, wrong, why in changes_of_domains()
        for case in one_past("manifest", example, place, *wrong, why=why)
    ]


def _entries() -> list[dict[str, Any]]:
    """One past the ends of entries of the log."""
    return [
        case
        for example, place, wrong, why in changes_of_entries()
        for case in one_past("log_entry", example, place, *wrong, why=why)
    ]


def _sealed() -> list[dict[str, Any]]:
    """One past the ends of what goes through a shuffler."""
    return [
        case
        for document, example, place, wrong, why in changes_of_sealed()
        for case in one_past(document, example, place, *wrong, why=why)
    ]


def _series() -> list[dict[str, Any]]:
    """One past the ends of every field of a series, and series whose rounds, late time or ε do not fit."""
    one, every, second = (("manifest", name) for name in ("series", "series_at_limits", "series_every_second"))
    law = "assignment"
    rounds = plain(documents()["manifest"]["series"])["rounds"]
    return [
        *one_past(*one, (law, "start"), -1, 2**40 + 1, why="0 to 2^40"),
        *one_past(*one, (law, "period_s"), 0, -86_400, 2**31 + 1, 86_400.0, why="1 to 2^31"),
        *one_past(*one, (law, "slots"), 0, 4097, 2, 3, why="1 to 4096, late_s is below (slots − 1) · period_s"),
        *one_past(*every, (law, "answers_max"), 0, 10**6 + 1, None, why="1 to 10^6, and never unbounded"),
        *one_past(*one, (law, "value_of"), "next", "", why="current or previous"),
        *one_past(*second, (law, "late_s"), -1, 2**40 + 1, why="0 to 2^40"),
        *one_past(*one, (law, "late_s"), 29 * 86_400, why="below (slots − 1) · period_s"),
        *one_past(*one, (law, "replaces"), bytes(31), "", why="a digest of 32 bytes or null"),
        *one_past(*one, (law, "answers_max"), 13, why="answers_max times ε is at most the device's ε"),
        *one_past(*one, ("rounds",), rounds * 2, why="the terms of one round, which all periods share"),
    ]


def _sentence(text: str) -> bytes:
    return encode_value(plain(documents()["manifest"]["one_round"]) | {"purpose": text})


def _categorical(categories: list[str]) -> dict[str, Any]:
    return {"kind": "categorical", "name": "c", "categories": categories}


def _tasks() -> list[dict[str, Any]]:
    part = bytes(32)
    return [
        *one_past("task", "closed", ("device_parts",), [], [part] * 17, why="1 to 16 parts"),
        *one_past("task", "open", ("round",), -1, 1, why="a round whose part is named"),
        *one_past("task", "open", ("epoch",), -1, why="0 to 65,535"),
        *one_past("task", "open", ("number",), -1, 1, why="0 where the task is not signed"),
        *one_past("task", "signed", ("number",), 0, 2**40 + 1, why="1 to 2^40 where the task is signed"),
        *one_past("task", "signed", ("signature",), bytes(63), bytes(65), None, "", why="64 bytes, or null"),
        *one_past("task", "open", ("retry", "min_s"), -1, why="0 to 604,800"),
        *one_past("task", "open", ("retry", "max_s"), 59, 604_801, why="min_s to 604,800"),
        *one_past("task", "open", ("answer_until",), -1, 1_800_604_801, why="0 to 2^40, not after accept_until"),
        *one_past("task", "open", ("accept_until",), -1, 1_800_403_199, 2**40 + 1, why="answer_until to 2^40"),
        *one_past("task", "no_end", ("answer_until",), -1, 2**40 + 1, why="0 to 2^40"),
    ]


def _finding() -> list[dict[str, Any]]:
    one, two = bytes(32), b"\x01" * 32
    signed = plain(documents()["manifest_signatures"]["one"])["signatures"][0]
    short = ([signed | {"key": bytes(31)}], [signed | {"signature": bytes(65)}])
    digests, signatures = "digests of 32 bytes, ascending, each once", "1 to 4, ascending keys of 32 bytes, each once"
    return [
        *one_past("open_campaigns", "some", ("population",), "", "r" * 201, why="1 to 200 characters"),
        *one_past("open_campaigns", "some", ("number",), -1, 2**40 + 1, why="0 to 2^40"),
        *one_past("open_campaigns", "some", ("campaigns",), [two, one], [one, one], [bytes(31)], why=digests),
        *one_past("manifest_signatures", "one", ("signatures",), [], [signed, signed], *short, why=signatures),
    ]


def _parts() -> list[dict[str, Any]]:
    kinds = ("randomized_response", "subset_selection", "subset_mixture", "finite_kernel_dense", "seeded_direction")
    bits, whole = ("randomizer", "bits"), WHOLE
    found = [one_past("device_part", kind, bits, 15, 63, why="16 to 62") for kind in (*kinds, "orbit_kernel")]
    return [
        *(case for cases in found for case in cases),
        *one_past("device_part", kinds[0], ("randomizer", "other_weight"), 0, whole // 15 + 1, why="up to ⌊2^bits/k⌋"),
        *one_past("device_part", kinds[1], ("randomizer", "subset_size"), 0, 15, why="1 to size − 1"),
        *one_past("device_part", kinds[1], ("randomizer", "include_weight"), 0, whole, why="1 to 2^bits − 1"),
        *_mixtures(),
        *_kernels(),
        *_orbits(),
        *_coarsened(),
        *_dithered(),
    ]


def _dithered() -> list[dict[str, Any]]:
    """One past the ends of knots, and inner randomizers for other types."""
    return [
        entry(f"dithered_{number}#{place}", why, encode_value(changed(good, where, wrong)), "device_part")
        for number, (example, where, values, why) in enumerate(changes_of_dithered())
        for good in (plain(documents()["device_part"][example]),)
        for place, wrong in enumerate(values)
    ]


def _mixtures() -> list[dict[str, Any]]:
    kind = ("device_part", "subset_mixture")
    return [
        *one_past(*kind, ("randomizer", "subset_sizes"), [0, 4], [3, 15], [4, 3], [3, 3], [3], [], why="they increase"),
        *one_past(*kind, ("randomizer", "size_weights"), [0, WHOLE], [1, WHOLE], [WHOLE], why="weights sum to 2^bits"),
        *one_past(*kind, ("randomizer", "include_weights", 0), 0, WHOLE, WHOLE // 8, why="a ratio of at least 1"),
    ]


def _kernels() -> list[dict[str, Any]]:
    dense, levels = ("device_part", "finite_kernel_dense"), ("device_part", "finite_kernel_two_level")
    seeded, pair = ("device_part", "seeded_direction"), ("device_part", "pair_of_directions")
    coin, coins = 2**59, _array([[2**59, 2**59], [2**59, 2**59]], "<u8")
    of_two_types = {"kind": "finite_kernel", "bits": 60, "rows": {"kind": "dense", "table": coins}}
    two = _array([[1, 2], [3, 4]], "<i4")
    return [
        *one_past(*dense, ("randomizer", "rows", "table"), _array([1, 2, 3], "<u8"), why="a table has two dimensions"),
        *one_past(*dense, ("randomizer", "rows", "table", "element"), "<i8", "<f4", ">u8", why="<u8"),
        *one_past(*dense, ("randomizer", "rows", "table", "shape"), [0, 3], [9], [3, 3, 1], [], why="(m, k)"),
        *one_past(*levels, ("randomizer", "rows", "types"), 1, 2, 9, 2**20 + 1, why="k of the members' width"),
        *one_past(*levels, ("randomizer", "rows", "members", "data"), b"\x05\x0a", why="bits past the last type are 0"),
        *one_past(*seeded, ("randomizer", "keep_weights"), _array([0, coin, coin], "<u8"), why="1 to 2^bits − 1"),
        *one_past(*seeded, ("randomizer", "vectors"), two, why="a vector for every type"),
        *one_past(*pair, ("randomizer", "second"), of_two_types, why="both parts are for the same k"),
    ]


def _orbits() -> list[dict[str, Any]]:
    kind, one, both = ("device_part", "orbit_kernel"), ("randomizer", "rows", 0), ("randomizer", "rows", 1)
    low, slot = 1 << 50, "an attribute's number, which the first slot has the size of"
    return [
        *one_past(*kind, ("randomizer", "width"), 0, 3, why="1 to the number of attributes"),
        *one_past(*kind, ("randomizer", "low"), 0, WHOLE + 1, why="1 to 2^bits"),
        *one_past(*kind, ("randomizer", "high"), low - 1, WHOLE + 1, 2**60, why="low to 2^bits, a row's sum to 2^62"),
        *one_past(*kind, ("randomizer", "row_weights"), [0, WHOLE], [1, 1], [WHOLE], why="weights sum to 2^bits"),
        *one_past(*kind, (*one, "shape"), [1], [2], [4], [], [5, 5], why="slots of the attributes' sizes"),
        *one_past(
            *kind, (*one, "members", "data"), b"\x00", b"\x07", b"\x09", why="some are 1, some 0, past the last 0"
        ),
        *one_past(*kind, both, _huge_row(), why="at most 4096 cells"),
        *one_past(*kind, ("randomizer", "rows"), [], why="1 to 256 rows"),
        *one_past("device_part", "orbit_kernel_pinned", ("randomizer", "pinned"), -1, 4, 1, why=slot),
    ]


def _coarsened() -> list[dict[str, Any]]:
    grids, subsets = ("device_part", "coarsened_grids"), ("device_part", "coarsened_subsets")
    field, family = ("device_part", "coarsened_histogram"), ("randomizer", "families", 0)
    comb, low = ("randomizer", "families", 1), 1 << 40
    width, slots = (*family, "partitions", 0, "widths"), (*family, "partitions", 0, "slots")
    grid, many = {"kind": "grid", "widths": [1, 1]}, 1 << 24
    crowd = [{"label": {"kind": "linear", "label_bits": 1}, "members": b"\x01"} | part for part in _crowd(grid, many)]
    return [
        *one_past(*grids, ("randomizer", "low"), 0, 2**62 + 1, why="1 to 2^62"),
        *one_past(
            *grids, ("randomizer", "high"), low - 1, 2**62 + 1, -(-(2**63) // 6), why="low to 2^62, G times it < 2^63"
        ),
        *one_past(*grids, ("randomizer", "largest"), [], [4], [4, 3], [2, 4], why="the attributes of the domain"),
        *one_past(*grids, ("randomizer", "largest", 0), -1, 2**64 - 1, why="the largest index of the attribute"),
        *one_past(*grids, ("randomizer", "families"), [], crowd, why="1 to 256 levels, there are none or 257"),
        *one_past(*grids, (*family, "chances"), [], [0, 1 << 31], [1 << 31], [1, 1], why="they sum to 2^32, one each"),
        *one_past(*grids, (*comb, "chances"), [2**31 - 1], [2**31 + 1], [2**32 + 1], why="they sum to 2^32"),
        *one_past(*grids, width, [0, 0], [2], [2, 3, 1], [11, 3], [2, 7], [-1, 3], why="0 to twice the size"),
        *one_past(*subsets, slots, [], [2, 2, 2, 2], [3, 3], [1, 2], [5], why="slots that attributes fill"),
        *one_past(*grids, (*family, "label", "label_bits"), 0, 17, why="1 to 16 bits"),
        *one_past(*field, (*family, "label", "label_bits"), 0, 5, 17, why="1 to 16 bits, no more than the field has"),
        *one_past(*grids, (*comb, "label", "moduli"), [], [6], [1, 1], [0, 6], [2, 3, 1], [256, 257], why="2 to 2^16"),
        *one_past(*grids, (*family, "label"), *_swapped(), why="the fields of another kind of label"),
        *one_past(*grids, (*family, "members"), b"", b"\x00", b"\x01\x00", b"\x0f", b"\x10", why="some of the labels"),
        *one_past(*grids, (*comb, "members"), b"\x3f", b"\x40", b"\x11\x01", why="some of six labels, not all"),
    ]


def _crowd(grid: dict[str, Any], chance: int) -> list[dict[str, Any]]:
    """257 levels in two families, whose chances sum to 2^32."""
    chances = [chance] * 255 + [chance // 2] * 2
    return [{"partitions": [grid] * len(part), "chances": part} for part in (chances[:128], chances[128:])]


def _swapped() -> list[dict[str, Any]]:
    return [
        {"kind": "linear", "moduli": [2, 3]},
        {"kind": "residue", "label_bits": 2},
        {"kind": "residue", "moduli": [4]},
        {"kind": "identity"},
    ]


def _huge_row() -> dict[str, Any]:
    return {"shape": [65, 64], "members": {"element": "|u1", "shape": [520], "data": b"\x01" + bytes(519)}}


def _reports() -> list[dict[str, Any]]:
    ids, index = bytes(16 * 4097), ("refused", 0, "index")
    batch = plain(documents()["report_batch"]["two_reports"]) | {"ids": ids, "payloads": bytes(4097)}
    refused = ("report_outcomes", "refused")
    return [
        entry("batch_of_4097", "1 to 4096 reports", encode_value(batch), "report_batch"),
        *one_past("report_batch", "one_report", ("arm",), -1, 16, None, 0.0, why="0 to 15"),
        *one_past("report_outcomes", "accepted", ("accepted",), -1, 0, 4097, why="1 to 4096 reports in all"),
        *one_past("report_outcomes", "accepted", ("replayed",), -1, 4096, 4097, why="1 to 4096 reports in all"),
        *one_past(*refused, index, -1, 2, 4096, why="0 to 4095, increasing"),
        *one_past(*refused, ("accepted",), 0, 255, 4088, why="every index is below the number of reports"),
        *one_past(*refused, ("refused", 0, "reason"), "late", "", why="a reason that there is not"),
    ]


def _analyst_parts() -> list[dict[str, Any]]:
    kind, widths, weights = "analyst_part", ("queries", "width"), ("decoder", "type_weights")
    label, stack, asked = ("queries", "labels", 0), ("analyst_part", "characters"), ("queries", "asked", 0)
    return [
        *one_past(kind, "parities", widths, 0, 256, why="1 to 255"),
        *one_past(*stack, ("queries", "parts"), [], why="at least one part"),
        *one_past(*stack, ("queries", "parts", 0, "weight"), 0.0, -1.0, why="a weight is above 0"),
        *one_past(
            kind, "numbers", (*asked, "attribute"), "", "x" * 201, "a ", why="1 to 200 characters, no blank ends"
        ),
        *one_past(kind, "numbers", (*asked, "levels"), 1, 514, why="2 to 513"),
        *one_past(kind, "numbers", (*asked, "measures"), [], why="1 to 16"),
        *one_past(kind, "numbers", (*asked, "measures", 0, "name"), "median", "", why="a measure that there is"),
        *one_past(kind, "numbers", (*asked, "measures", 6, "at"), [], [1.0, 2.0], why="one number for share_above"),
        *one_past(kind, "numbers", (*asked, "measures", 7, "at"), [1.0], [2.0, 2.0], why="two numbers that rise"),
        *one_past(kind, "numbers", (*asked, "measures", 8, "at"), [0.0], [1.0], why="a share between 0 and 1"),
        *one_past(kind, "numbers", (*asked, "measures", 0, "weight"), 0.0, -1.0, why="above 0"),
        *one_past(kind, "numbers", (*asked, "bins"), -1, 1, 257, why="0 to 256, and not 1 with a quantile"),
        *one_past(kind, "answers", label, "x" * 2001, "a\u200b", "a\nb", why="0 to 2000 characters, none hidden"),
        *one_past(kind, "answers", ("queries", "labels"), ["a", "b"], [], why="one label a query"),
        *one_past(kind, "histogram", ("queries", "factors"), [], [""], ["x" * 201], why="1 to 200 characters each"),
        *one_past(kind, "histogram", ("workload",), "", "x" * 201, "a ", why="1 to 200 characters, no blank ends"),
        *one_past(kind, "histogram", ("mechanism",), "", "x" * 201, "a ", why="1 to 200 characters, no blank ends"),
        *one_past(kind, "histogram", ("objective",), "median", "", why="max or mean"),
        *one_past(kind, "histogram", ("seed",), -1, 2**63, why="0 to 2^63 − 1"),
        *one_past(kind, "type_weights", weights, _array([[2.0, -1.0, 0.0], [0, 1, 0]], "<f8"), why="none is negative"),
        *one_past(kind, "type_weights", ("decoder", "groups"), _array([0, 2, 0], "<i4"), why="a group there is not"),
    ]


def _searches() -> list[dict[str, Any]]:
    """What is asked of strings, and the figures of their plan."""
    strings, watched = ("analyst_part", "strings"), ("queries", "watched")
    many = [number.to_bytes(3, "big") for number in range(1001)]
    return [
        *one_past(*strings, ("queries", "beam"), 0, 10_001, why="1 to 10,000"),
        *one_past(*strings, ("queries", "error"), 0.0009, 0.51, why="0.001 to 0.5"),
        *one_past(*strings, watched, many, [b""], [bytes(65)], [b"ab0", b"ab0"], why="up to 1,000 codes, each once"),
        *one_past(*strings, ("queries", "least_share"), -0.01, 0.51, why="0 to 0.5, or null"),
        *one_past(*strings, ("decoder", "held_out"), 0.0, 1.0, why="above 0, and below 1"),
    ]


def _aggregates() -> list[dict[str, Any]]:
    whole, parts, most = ("aggregate", "whole"), ("aggregate", "parts"), 2**53
    names = ["", "e" * 25, "EU", "-eu", "eu west", "eu\u2013west"]
    return [
        *(step for name in ("round", "number", "count") for step in one_past(*whole, (name,), -1, most, why=_MOST)),
        *one_past(*whole, ("arm",), -1, 16, why="0 to 15"),
        *one_past(*whole, ("blanket",), -1, 8, 10**7 + 1, why="0 to 10^7, not above count"),
        *one_past(*whole, ("source",), *names, why="1 to 24 lower-case letters, digits and hyphens"),
        *one_past(*whole, ("sums",), bytes(7), bytes(25), why="whole integers of 8 bytes"),
        *one_past(*whole, ("parts_in_all",), 1, why="0 without a manifest"),
        *one_past(*parts, ("parts_in_all",), -1, 0, 3, most, why="more than any part's number"),
        *one_past(*parts, ("parts",), [3, 0], [0, 0], [-1], [4], why="increasing, below parts_in_all"),
    ]


def bad_ranges() -> dict[str, Any]:
    """The file of values beyond their ranges, by path."""
    manifests = (*_manifests(), *_routes(), *_domains(), *_series())
    vectors = [
        *manifests,
        *_tasks(),
        *_finding(),
        *_parts(),
        *_reports(),
        *_analyst_parts(),
        *_searches(),
        *_aggregates(),
    ]
    vectors += [*_sealed(), *_entries()]
    return {"bad/ranges.json": {"vectors": vectors}}
