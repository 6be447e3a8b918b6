"""Bytes that are not the canonical CBOR of anything, and why: each differs from a good document in one thing only.

The writer below makes any CBOR at all, canonical or not, since no library would.
"""

from __future__ import annotations

from typing import Any

from good_documents import documents

from sordino_shared.protocol import Document
from sordino_shared.protocol.codec import encode_value
from sordino_shared.protocol.documents import PROTOCOL_VERSION
from sordino_shared.protocol.schema import to_plain

Fields = dict[str, bytes]
UNSIGNED, NEGATIVE, BYTES, TEXT, ARRAY, MAP, TAG, SIMPLE = range(8)


def head(major: int, argument: int, width: int | None = None) -> bytes:
    """The head of an item: shortest, or with an argument of `width` bytes."""
    if width is None:
        width = next(w for w, end in ((0, 24), (1, 1 << 8), (2, 1 << 16), (4, 1 << 32), (8, 1 << 64)) if argument < end)
    if width == 0:
        return bytes([major << 5 | argument])
    return bytes([major << 5 | {1: 24, 2: 25, 4: 26, 8: 27}[width]]) + argument.to_bytes(width, "big")


def text(value: str) -> bytes:
    return encode_value(value)


def plain(value: Document) -> dict[str, Any]:
    return {"document": value.document, "version": PROTOCOL_VERSION} | to_plain(value)


def fields_of(value: Document) -> Fields:
    """Encoded values by field name, in canonical order."""
    encoded = {name: encode_value(item) for name, item in plain(value).items()}
    return dict(sorted(encoded.items(), key=lambda pair: text(pair[0])))


def joined(fields: Fields) -> bytes:
    return b"".join(text(name) + item for name, item in fields.items())


def write(fields: Fields) -> bytes:
    """A map of the fields in the order given."""
    return head(MAP, len(fields)) + joined(fields)


def replaced(value: Document, **fields: bytes) -> bytes:
    """The document with the encoded values of some fields replaced."""
    return write(fields_of(value) | fields)


TASK = documents()["task"]["open"]
MANIFEST = documents()["manifest"]["one_round"]
DEVICE_PART = documents()["device_part"]["randomized_response"]
BATCH = documents()["report_batch"]["two_reports"]
ANALYST_PART = documents()["analyst_part"]["scaled_histogram"]


def entry(name: str, why: str, content: bytes, read_as: str = "task", error: str = "malformed") -> dict[str, Any]:
    return {"name": name, "why": why, "read_as": read_as, "error": error, "hex": content.hex()}


def _heads() -> list[dict[str, Any]]:
    fields = fields_of(TASK)
    body, count = joined(fields), len(fields)
    digest, epoch, parts = fields["campaign"][2:], 7, fields["device_parts"][1:]
    cases = [(f"map_head_{w}", "map head longer than needed", head(MAP, count, w) + body) for w in (1, 2, 4, 8)]
    for width in (1, 2, 4, 8):
        cases += [
            (f"integer_{width}", "integer longer than needed", replaced(TASK, epoch=head(UNSIGNED, epoch, width))),
            (f"array_head_{width}", "array head too long", replaced(TASK, device_parts=head(ARRAY, 1, width) + parts)),
            (f"text_head_{width}", "text head too long", replaced(TASK, state=head(TEXT, 4, width) + b"open")),
        ]
        if width > 1:
            bloated = head(BYTES, 32, width) + digest
            cases.append((f"bytes_head_{width}", "bytes head longer than needed", replaced(TASK, campaign=bloated)))
    key = head(TEXT, 5, 1) + b"epoch"
    long_key = head(MAP, count) + body.replace(text("epoch"), key)
    return [entry(*case) for case in (*cases, ("key_head", "key head longer than needed", long_key))]


def _lengths() -> list[dict[str, Any]]:
    fields = fields_of(TASK)
    body, digest, parts = joined(fields), fields["campaign"][2:], fields["device_parts"][1:]
    chunks = b"\x5f" + head(BYTES, 32) + digest + b"\xff"
    cases = [
        ("indefinite_map", "indefinite length", b"\xbf" + body + b"\xff"),
        ("indefinite_array", "indefinite length", replaced(TASK, device_parts=b"\x9f" + parts + b"\xff")),
        ("indefinite_bytes", "indefinite length", replaced(TASK, campaign=chunks)),
        ("indefinite_text", "indefinite length", replaced(TASK, state=b"\x7f\x64open\xff")),
        ("break", "a break outside of an indefinite length", replaced(TASK, round=b"\xff")),
    ]
    cases += [(f"reserved_head_{info}", "reserved head", replaced(TASK, epoch=bytes([info]))) for info in (28, 29, 30)]
    huge = {"bytes": BYTES, "text": TEXT, "array": ARRAY, "map": MAP}
    for name, major in huge.items():
        for width in (4, 8):
            content = head(major, 2 ** (8 * width) - 1, width)
            cases.append((f"huge_{name}_{width}", "declares far more than there is", content))
    return [entry(*case) for case in cases]


def _maps() -> list[dict[str, Any]]:
    fields = fields_of(TASK)
    backwards = dict(reversed(fields.items()))
    alphabetic = dict(sorted(fields.items()))
    twice = head(MAP, len(fields) + 1) + text("epoch") + fields["epoch"] + joined(fields)
    other = head(MAP, len(fields) + 1) + text("epoch") + encode_value(8) + joined(fields)
    number_key = head(MAP, len(fields) + 1) + encode_value(1) + encode_value(1) + joined(fields)
    bytes_key = head(MAP, len(fields)) + joined(fields).replace(text("epoch"), head(BYTES, 5) + b"epoch")
    return [
        entry("keys_backwards", "keys out of order", write(backwards)),
        entry("keys_alphabetic", "keys in alphabetic order, not in that of their encodings", write(alphabetic)),
        entry("key_twice", "a key occurs twice", twice),
        entry("key_twice_other_value", "a key occurs twice with another value", other),
        entry("integer_key", "keys must be text", number_key),
        entry("bytes_key", "keys must be text", bytes_key),
    ]


def _numbers() -> list[dict[str, Any]]:
    figures = "analyst_part"

    def with_slope(encoded: bytes) -> bytes:
        decoder = {"kind": text("scaled_histogram"), "slope": encoded, "offset": encode_value(-0.25)}
        ordered = dict(sorted(decoder.items(), key=lambda pair: text(pair[0])))
        return replaced(ANALYST_PART, decoder=write(ordered))

    cases = [
        ("half_as_single", "3.0 fits a half-precision float", "fa40400000"),
        ("half_as_double", "3.0 fits a half-precision float", "fb4008000000000000"),
        ("single_as_double", "100000.5 fits a single-precision float", "fb40f86a0800000000"),
        ("integer_for_float", "an integer where a float belongs", "03"),
        ("not_a_number", "not finite", "f97e00"),
        ("not_a_number_payload", "not finite", "fb7ff8000000000001"),
        ("infinity", "not finite", "f97c00"),
        ("minus_infinity", "not finite", "f9fc00"),
        ("minus_zero", "zero has no sign", "f98000"),
    ]
    found = [entry(name, why, with_slope(bytes.fromhex(code)), figures) for name, why, code in cases]
    return [
        *found,
        entry("float_for_integer", "a float where an integer belongs", replaced(TASK, epoch=bytes.fromhex("f94700"))),
        entry("boolean_for_integer", "a boolean where an integer belongs", replaced(TASK, epoch=b"\xf5")),
        entry("negative_65_bits", "below 64 bits", replaced(TASK, epoch=head(NEGATIVE, 2**63, 8))),
        entry("negative_long", "negative integer longer than needed", replaced(TASK, epoch=head(NEGATIVE, 6, 1))),
    ]


def _tags_and_simple_values() -> list[dict[str, Any]]:
    digest = fields_of(TASK)["campaign"]
    bignum = replaced(TASK, epoch=head(TAG, 2) + head(BYTES, 1) + b"\x07")
    bigfloat = replaced(TASK, epoch=bytes.fromhex("c5821b7fffffffffffffff01"))
    decimal = replaced(TASK, epoch=bytes.fromhex("c4821b7fffffffffffffff01"))
    tags = (0, 1, 2, 3, 4, 5, 21, 24, 25, 28, 29, 30, 32, 35, 37, 55799, 2**32)
    simple = {"undefined": "f7", "simple_0": "e0", "simple_19": "f3", "simple_32": "f820", "two_byte_null": "f816"}
    return [
        *(entry(f"tag_{tag}", "a tag", replaced(TASK, campaign=head(TAG, tag) + digest)) for tag in tags),
        entry("self_described", "a tag before the document", head(TAG, 55799) + TASK.content),
        entry("bignum", "a big number that would fit an integer", bignum),
        entry("bigfloat", "a big float that would fill any memory", bigfloat),
        entry("decimal_fraction", "a decimal fraction that would fill any memory", decimal),
        *(entry(name, "a simple value", replaced(TASK, round=bytes.fromhex(code))) for name, code in simple.items()),
    ]


def _texts_and_nesting() -> list[dict[str, Any]]:
    broken = {"lone_byte": "ff", "surrogate": "eda080", "overlong": "c080", "cut": "e282"}
    deep = b"\x81" * 17 + b"\xf6"
    return [
        *(
            entry(f"utf8_{name}", "not UTF-8", replaced(TASK, state=head(TEXT, len(code) // 2) + bytes.fromhex(code)))
            for name, code in broken.items()
        ),
        entry("deep", "17 levels of nesting", deep),
        entry("many_items", "a task of more than 256 items", replaced(TASK, round=head(ARRAY, 256) + b"\xf6" * 256)),
    ]


def _bytes() -> list[dict[str, Any]]:
    content = TASK.content
    cuts = [0, 1, len(content) // 2, len(content) - 1]
    return [
        *(entry(f"truncated_to_{end}", "bytes are missing", content[:end]) for end in cuts),
        entry("trailing_byte", "a byte follows", content + b"\x00"),
        entry("trailing_document", "a document follows", content + content),
        entry("not_a_map", "no map", encode_value([plain(TASK)])),
    ]


def bad_encodings() -> dict[str, Any]:
    """Files of bad vectors that are refused before any field is looked at, by path."""
    canonical = [*_heads(), *_lengths(), *_maps(), *_numbers(), *_tags_and_simple_values(), *_texts_and_nesting()]
    return {"bad/canonical.json": {"vectors": canonical}, "bad/bytes.json": {"vectors": _bytes()}}
