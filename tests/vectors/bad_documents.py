"""Canonical bytes that must be refused all the same, and why: each differs from a good document in one thing only."""

from __future__ import annotations

from typing import Any

import numpy as np
from bad_encodings import (
    ANALYST_PART,
    BATCH,
    BYTES,
    DEVICE_PART,
    MANIFEST,
    TASK,
    entry,
    fields_of,
    head,
    plain,
    replaced,
    text,
    write,
)
from good_documents import EPSILON, SMALL, documents, small_directions

from sordino_analysis.vectorized.arrays import array_of
from sordino_analysis.vectorized.kernels import two_level_rows
from sordino_shared.protocol.codec import encode_value
from sordino_shared.protocol.schema import to_plain
from sordino_shared.randomizers import (
    Coarsened,
    FiniteKernel,
    GridPartition,
    Level,
    LinearLabel,
    RandomizedResponse,
)


def _schema() -> list[dict[str, Any]]:
    fields, manifest = fields_of(TASK), plain(MANIFEST)
    extra = encode_value(plain(TASK) | {"extra": 1})
    nested = encode_value(plain(TASK) | {"retry": {"min_s": 1, "max_s": 2, "extra": 3}})
    tagged = encode_value(manifest | {"assignment": {"kind": "every_round", "weights": [2**31, 2**31]}})
    unknown = encode_value(manifest | {"assignment": {"kind": "some_rounds"}})
    attribute = manifest["domain"]["attributes"][0]
    false = [manifest | {"domain": {"attributes": [attribute | {name: False}]}} for name in ("missing", "other")]
    missing = [(name, write({key: item for key, item in fields.items() if key != name})) for name in fields]
    return [
        entry("unknown_field", "a field that version 1 does not have", extra),
        entry("unknown_nested_field", "a field that version 1 does not have", nested),
        entry("field_of_another_kind", "a field of another member of the union", tagged, "manifest"),
        entry("unknown_kind", "a kind that version 1 does not have", unknown, "manifest"),
        *_other_guarantees(manifest),
        *(entry(f"without_{name}", "a field is missing", content) for name, content in missing),
        entry("missing_is_false", "a field that is left out where it is false", encode_value(false[0]), "manifest"),
        entry("other_is_false", "a field that is left out where it is false", encode_value(false[1]), "manifest"),
        entry("wrong_document", "another type of document", MANIFEST.content),
        entry("text_for_bytes", "text where bytes belong", replaced(TASK, campaign=text("a" * 32))),
        entry("bytes_for_text", "bytes where text belongs", replaced(TASK, state=head(BYTES, 4) + b"open")),
        entry("null_for_integer", "null where an integer belongs", replaced(TASK, epoch=b"\xf6")),
        entry("unknown_state", "a state that there is not", replaced(TASK, state=text("paused"))),
        entry("short_digest", "a digest of 31 bytes", replaced(TASK, campaign=encode_value(bytes(31)))),
    ]


def _other_guarantees(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    """Pure ε is the only guarantee of devices, wherever a document states one."""
    why, part, first = "a guarantee that version 1 does not have", plain(DEVICE_PART), manifest["rounds"][0]
    found = []
    for kind in ("zero_concentrated", "zcdp", "approximate_epsilon", "", None):
        other = {name: value for name, value in (("kind", kind), ("nano", 10**9)) if value is not None}
        places = [
            ("device", manifest | {"device_guarantee": other}, "manifest"),
            ("round", manifest | {"rounds": [first | {"guarantee": other}, *manifest["rounds"][1:]]}, "manifest"),
            ("part", part | {"guarantee": other}, "device_part"),
        ]
        name = {None: "without_kind", "": "empty_kind"}.get(kind, kind)
        found += [
            entry(f"{name}_of_{where}", why, encode_value(document), read_as) for where, document, read_as in places
        ]
    return found


def _closed(**changes: Any) -> dict[str, Any]:
    return plain(documents()["task"]["closed"]) | changes


def _values() -> list[dict[str, Any]]:
    manifest, task, batch = plain(MANIFEST), plain(TASK), plain(BATCH)
    direction = plain(documents()["device_part"]["seeded_direction"])
    narrow = {"element": "<i4", "shape": [3, 2], "data": bytes(20)}
    wrong_array = direction | {"randomizer": direction["randomizer"] | {"vectors": narrow}}
    wide = plain(DEVICE_PART) | {"domain": to_plain(SMALL)}
    heavy = {"kind": "randomized_response", "size": 15, "bits": 60, "other_weight": 2**60}
    over = plain(DEVICE_PART) | {"randomizer": heavy}
    wrap = array_of(np.full((4, 3), 2**62, dtype=np.uint64), "<u8")
    wrapped = {"kind": "finite_kernel", "bits": 62, "rows": {"kind": "dense", "table": to_plain(wrap)}}
    infinity = {"element": "<f8", "shape": [1], "data": b"\x00\x00\x00\x00\x00\x00\xf0\x7f"}
    bound = plain(ANALYST_PART)["certificate"]["max"] | {"type_weights": infinity}
    negative = plain(ANALYST_PART)["figures"] | {"max_variance": -4.5}
    infinite = plain(ANALYST_PART) | {"certificate": {"max": bound, "mean": bound}}
    cases: list[tuple[str, str, dict[str, Any], str]] = [
        ("epoch_65536", "an epoch has 16 bits", task | {"epoch": 65536}, "task"),
        ("round_while_closed", "a closed campaign takes no reports", task | {"state": "closed"}, "task"),
        ("answer_until_while_closed", "no round is open", _closed(answer_until=1), "task"),
        ("accept_until_while_closed", "no round is open", _closed(accept_until=1), "task"),
        *_bad_tokens(task),
        ("retry_reversed", "max_s below min_s", task | {"retry": {"min_s": 2, "max_s": 1}}, "task"),
        ("empty_purpose", "the owner must be told", manifest | {"purpose": " "}, "manifest"),
        ("hidden_direction", "the purpose would not show as written", manifest | {"purpose": "a\u202eb"}, "manifest"),
        *_hidden_texts(manifest),
        ("first_plan_unknown", "round 0 has no plan", _without_first_plan(manifest), "manifest"),
        ("short_protocol", "a digest of 31 bytes", manifest | {"protocol": bytes(31)}, "manifest"),
        ("budget_exceeded", "rounds may spend more than stated", manifest | {"device_guarantee": _nano(1)}, "manifest"),
        ("no_reports", "an empty batch", batch | {"ids": b"", "payloads": b""}, "report_batch"),
        ("ragged_ids", "31 bytes are no whole number of ids", batch | {"ids": bytes(31)}, "report_batch"),
        ("ragged_payloads", "payloads of unequal width", batch | {"payloads": bytes(33)}, "report_batch"),
        ("array_too_short", "an array's bytes do not fit its shape", wrong_array, "device_part"),
        ("array_not_finite", "an array holds an infinity", infinite, "analyst_part"),
        ("negative_variance", "a variance below 0", plain(ANALYST_PART) | {"figures": negative}, "analyst_part"),
        ("wrong_domain", "randomizer and domain differ in size", wide, "device_part"),
        ("turned_domain", "an orbit kernel for the same cells of other attributes", _turned(), "device_part"),
        ("weight_too_large", "probabilities above one", over, "device_part"),
        (
            "kernel_wraps",
            "columns sum to 2^64, which a 64-bit sum would take for nothing",
            plain(documents()["device_part"]["finite_kernel_dense"]) | {"randomizer": wrapped},
            "device_part",
        ),
        (
            "epsilon_zero",
            "ε of a round is at least .001",
            plain(DEVICE_PART) | {"guarantee": _nano(0)},
            "device_part",
        ),
    ]
    return [entry(name, why, encode_value(content), read_as) for name, why, content, read_as in cases]


def _bad_tokens(task: dict[str, Any]) -> list[tuple[str, str, dict[str, Any], str]]:
    manifest = plain(documents()["manifest"]["tokens_by_address"])
    request = plain(documents()["token_request"]["one"])
    answer = plain(documents()["token_evaluations"]["one"])
    rounds = plain(documents()["manifest"]["tokens_at_limits"])
    [key], element = manifest["route"]["issuer"]["keys"], request["blinded"]
    series = plain(documents()["manifest"]["shuffled_series"])
    servers = [{"name": "eu", "urls": ["https://eu.example"]}]
    gates = {"none": 0, "negative": -1, "too_many": 10_001}
    return [
        *(
            (f"quota_{name}", "per_day is 1 to 10,000", _gate(manifest, "address", per_day=number), "manifest")
            for name, number in gates.items()
        ),
        ("gate_unknown", "there is no such gate", _gate(manifest, "friend"), "manifest"),
        ("gate_with_quota", "an account has no quota", _gate(manifest, "account", per_day=1), "manifest"),
        ("issuer_null", "reports without a token are direct", _issuer(manifest, None), "manifest"),
        ("issuer_without_keys", "a key for each round", _keys(manifest, []), "manifest"),
        ("issuer_key_short", "31 bytes", _keys(manifest, [key[:31]]), "manifest"),
        ("issuer_key_long", "33 bytes", _keys(manifest, [key + b"\0"]), "manifest"),
        ("issuer_keys_too_many", "two keys for one round", _keys(manifest, [key, element]), "manifest"),
        ("issuer_keys_too_few", "a round has none", _keys(rounds, rounds["route"]["issuer"]["keys"][1:]), "manifest"),
        ("issuer_keys_401", "at most 400 keys", _keys(manifest, _numbered(401)), "manifest"),
        ("issuer_key_twice", "two rounds with one key", _keys(rounds, [*_numbered(15), _numbered(15)[0]]), "manifest"),
        ("issuer_of_servers", "tokens of several servers", manifest | {"servers": servers}, "manifest"),
        ("issuer_of_series", "its rounds have no number", _issuer(series, manifest["route"]["issuer"]), "manifest"),
        ("issuer_key_in_task", "it is in the manifest", task | {"issuer_key": key}, "task"),
        ("no_elements", "a request for nothing", request | {"blinded": b""}, "token_request"),
        ("ragged_elements", "31 bytes are no element", request | {"blinded": element[:31]}, "token_request"),
        ("201_elements", "more than 200", request | {"blinded": element * 201}, "token_request"),
        ("credential_long", "more than 16,384 bytes", request | {"credential": bytes(16385)}, "token_request"),
        ("proof_short", "63 bytes are no two scalars", answer | {"proof": bytes(63)}, "token_evaluations"),
        ("nothing_evaluated", "no evaluation", answer | {"evaluated": b""}, "token_evaluations"),
    ]


def _gate(manifest: dict[str, Any], kind: str, **fields: int) -> dict[str, Any]:
    return _issuer(manifest, manifest["route"]["issuer"] | {"gate": {"kind": kind} | fields})


def _keys(manifest: dict[str, Any], keys: list[bytes]) -> dict[str, Any]:
    return _issuer(manifest, manifest["route"]["issuer"] | {"keys": keys})


def _issuer(manifest: dict[str, Any], issuer: dict[str, Any] | None) -> dict[str, Any]:
    return manifest | {"route": manifest["route"] | {"issuer": issuer}}


def _numbered(count: int) -> list[bytes]:
    return [number.to_bytes(32, "little") for number in range(count)]


def _hidden_texts(manifest: dict[str, Any]) -> list[tuple[str, str, dict[str, Any], str]]:
    """Names that show nothing, and names in which something does not show."""
    unseen = ("\u3164", "\u200b", "\u2800", "\U000e0041", "\u200e", "\u00ad", "\ufeff", "\u0301")
    hidden = ("\u061c", "\u115f", "\u200d", "\u2060", "\ufe0f", "\U000e0041")
    return [
        *((f"unseen_{ord(c):x}", "nothing visible", manifest | {"purpose": c}, "manifest") for c in unseen),
        *(
            (f"hidden_{ord(c):x}", "a hidden character", manifest | {"population": f"a{c}b"}, "manifest")
            for c in hidden
        ),
    ]


def _turned() -> dict[str, Any]:
    """A part of an orbit kernel whose domain has the kernel's sizes in another order."""
    part = plain(documents()["device_part"]["orbit_kernel"])
    attributes = part["domain"]["attributes"]
    return part | {"domain": {"attributes": attributes[1:] + attributes[:1]}}


def _without_first_plan(manifest: dict[str, Any]) -> dict[str, Any]:
    return manifest | {"rounds": [manifest["rounds"][0] | {"plan": None}]}


def _nano(nano: int) -> dict[str, Any]:
    return {"kind": "pure_epsilon", "nano": nano}


def _versions() -> list[dict[str, Any]]:
    numbers = (0, 2, 2**63)
    other = encode_value(plain(MANIFEST) | {"version": 2})
    contents = {number: encode_value(plain(TASK) | {"version": number}) for number in numbers}
    return [
        *(entry(f"version_{n}", "another version", contents[n], error="unsupported_version") for n in numbers),
        entry("document_first", "another document, whatever its version", other),
        entry("version_text", "no number", encode_value(plain(TASK) | {"version": "1"})),
    ]


def _oversized() -> list[dict[str, Any]]:
    found = []
    others = ("report_outcomes", "open_campaigns", "manifest_signatures", "device_part", "sealed_reports")
    others += ("sealed_outcomes", "shuffled_page", "batch_statement", "log_entry", "token_request", "token_evaluations")
    for value in (TASK, BATCH, MANIFEST, *(next(iter(documents()[name].values())) for name in others)):
        padding = value.limit + 1 - len(value.content)
        found.append(
            entry(value.document, f"more than {value.limit} bytes", value.content, value.document, "oversized")
            | {"padding": {"byte": "00", "count": padding}}
        )
    return found


def _digests() -> list[dict[str, Any]]:
    found = []
    for value in (TASK, MANIFEST, DEVICE_PART, ANALYST_PART):
        flipped = bytes([*value.content[:-1], value.content[-1] ^ 1])
        for name, content in (("changed", flipped), ("longer", value.content + b"\x00"), ("empty", b"")):
            case = entry(f"{value.document}_{name}", "not these bytes", content, value.document, "digest_mismatch")
            found.append(case | {"sha256": str(value.digest)})
    return found


def _guarantees() -> list[dict[str, Any]]:
    """Well-formed device parts whose integers prove more than they claim."""
    domain, size = SMALL, SMALL.size
    tight = RandomizedResponse.for_guarantee(size, EPSILON)
    members = np.array([[True, False, False], [False, True, False]])
    zero_row = two_level_rows(np.array([0, 2**50], np.uint64), np.full(2, 2**51, np.uint64), members)
    table = np.array([[2**59, 2**59, 2**59], [2**59 - 1, 2**59 - 1, 2**59 - 2**40]], dtype=np.uint64)
    null_gap = {"kind": "dense", "table": to_plain(array_of(table, "<u8"))}
    weights = np.array([2**59, 2**59, 2**60 - 1], dtype=np.uint64)
    coins = to_plain(small_directions()) | {"keep_weights": to_plain(array_of(weights, "<u8"))}
    loose = to_plain(tight) | {"other_weight": tight.other_weight - 2**31}
    hidden = Level(1 << 32, GridPartition((1,)), LinearLabel(2), b"\x01")
    coarse = Coarsened.for_guarantee(domain.shape, (hidden,), EPSILON)
    raised = to_plain(coarse) | {"high": coarse.high + 1}
    cases = [
        ("high_weight_one_above", "the next integer after e^ε times the low weight", raised),
        ("little_less_noise", "a weight 2·10⁻⁹ of it too small", loose),
        ("impossible_for_some", "an output that excludes values", to_plain(FiniteKernel(60, zero_row))),
        ("null_output", "the null output tells values apart", {"kind": "finite_kernel", "bits": 60, "rows": null_gap}),
        ("one_clear_coin", "a coin that never lies for one value", coins),
    ]
    claim = plain(documents()["device_part"]["seeded_direction"]) | {"domain": to_plain(domain)}
    return [
        entry(name, why, encode_value(claim | {"randomizer": randomizer}), "device_part", "guarantee_not_met")
        for name, why, randomizer in cases
    ]


def bad_documents() -> dict[str, Any]:
    """Files of bad vectors that are canonical CBOR and must be refused all the same, by path."""
    groups = {
        "schema": _schema(),
        "values": _values(),
        "version": _versions(),
        "oversized": _oversized(),
        "digest": _digests(),
        "guarantee": _guarantees(),
    }
    return {f"bad/{name}.json": {"vectors": vectors} for name, vectors in groups.items()}
