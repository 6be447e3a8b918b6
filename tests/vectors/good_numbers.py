"""Numbers that every implementation must reproduce: directions, proofs of ε, laws and alphabets, cells of values."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from good_documents import RANDOMIZERS, meaning
from strings import NUMBERS, STRINGS, number_values, text_codes

from sordino_analysis.vectorized.directions import directions
from sordino_analysis.vectorized.randomizers import in_alphabet
from sordino_shared.audit import prove_epsilon
from sordino_shared.domains import (
    MAX_CELLS,
    Categorical,
    Domain,
    EvenEdges,
    Hashed,
    Indicator,
    Integers,
    Number,
    Ordinal,
    Span,
)
from sordino_shared.guarantees import PureEpsilon, epsilon_of_ratio, exp_lower_bound
from sordino_shared.protocol import ReportId
from sordino_shared.protocol.schema import to_plain
from sordino_shared.randomizers import (
    Coarsened,
    Dithered,
    OrbitKernel,
    Pair,
    RandomizedResponse,
    SeededDirection,
    SubsetMixture,
    SubsetSelection,
)

SEEDS = (bytes(16), bytes(range(16)), b"\xff" * 16, b"sordino/v1/seed!")
DIMENSIONS = (1, 2, 3, 16, 64, 1000)
# Whole directions are listed up to here; of longer ones the head and a digest.
LISTED = 16
_LISTED_CELLS = 64
NANOS = (0, 1, 10**6, 10**9, 2 * 10**9, 16 * 10**9, 10**12)
RATIOS = ((1, 1), (2, 1), (3, 1), (10**9 + 1, 10**9), (2**60 - 1, 1), (7, 3), (0, 5), (5, 0), (10**435, 1))
EPSILONS = ("0.001", "0.5", "1", "4", "16")
SIZES = (2, 3, 15, 1024, 1 << 20)


# Reports of coarsened randomizers: a level, its fields, and after the last field the bits that the level does not use.
REPORTS = {
    # Offsets below 2 and 3, two rows of three bits, y; an offset below 6, two rows of one bit, y; an offset below 3, y.
    "coarsened_grids": [
        (0, 0, 0, 0, 0, 0),
        (0, 1, 2, 7, 7, 3),
        (0, 1, 3, 7, 7, 3),
        (1, 5, 1, 1, 3),
        (1, 6, 1, 1, 3),
        (1, 5, 1, 1, 3, 1),
        (2, 2, 5),
        (2, 3, 5),
        (2, 2, 6),
        (2, 2, 5, 1),
        (2, 2, 5, 16),
    ],
    # A multiplier, which may be 0, and y.
    "coarsened_histogram": [(0, 0, 0), (0, 15, 7), (0, 15, 7, 1)],
    # A multiplier of 64 bits and y at each of three levels.
    "strings": [(0, 0, 0), (2, 2**64 - 1, 3), (1, 1, 2, 1)],
    # Two attributes, a row, y; two attributes and y.
    "coarsened_subsets": [
        (0, 0, 2, 3, 1),
        (0, 3, 0, 0, 0),
        (0, 0, 0, 0, 0),
        (0, 0, 1, 0, 0),
        (1, 1, 3, 5),
        (1, 3, 1, 5),
        (1, 1, 3, 6),
    ],
}


def _direction(seed: bytes, dimension: int) -> dict[str, Any]:
    drawn = directions(np.frombuffer(seed, dtype=np.uint8).reshape(1, 16), dimension)[0]
    # A vector that no direction is orthogonal to by construction: 1, −2, 3, …
    vector = np.arange(1, dimension + 1) * np.where(np.arange(dimension) % 2, -1, 1)
    return {
        "seed": seed.hex(),
        "dimension": dimension,
        "head": drawn[:LISTED].tolist(),
        "sha256_of_int16_little_endian": hashlib.sha256(drawn.astype("<i2").tobytes()).hexdigest(),
        "squared_norm": int((drawn.astype(np.int64) ** 2).sum()),
        "positive_against_1_-2_3_-4": bool(drawn.astype(np.int64) @ vector >= 0),
    }


def _ratio(numerator: int, denominator: int) -> dict[str, Any]:
    proved = epsilon_of_ratio(numerator, denominator)
    return {
        "numerator": str(numerator),
        "denominator": str(denominator),
        "nano_epsilon": None if proved is None else proved.nano,
    }


def _law(size: int, epsilon: str) -> dict[str, Any]:
    guarantee = PureEpsilon.of(epsilon)
    subset = max(1, size // 4)
    return {
        "size": size,
        "nano_epsilon": guarantee.nano,
        "bits": 60,
        "randomized_response_other_weight": str(RandomizedResponse.for_guarantee(size, guarantee).other_weight),
        "subset_size": subset,
        "subset_selection_include_weight": str(SubsetSelection.for_guarantee(size, subset, guarantee).include_weight),
        "seeded_direction_largest_keep_weight": str(SeededDirection.largest_keep_weight(guarantee)),
    }


def _alphabet(name: str) -> dict[str, Any]:
    domain, _, randomizer = RANDOMIZERS[name]
    width, ratio, proved = randomizer.payload_bytes, randomizer.likelihood_ratio(), prove_epsilon(randomizer)
    assert ratio is not None
    assert proved is not None
    if isinstance(randomizer, Dithered):
        count = randomizer.inner.size
        candidates = [index.to_bytes(width, "little") for index in (0, 1, count - 1, count)]
    elif width == 1 and not isinstance(randomizer, Coarsened):
        candidates = [bytes([index]) for index in range(20)]
    elif isinstance(randomizer, (SubsetSelection, SubsetMixture)):
        candidates = [bytes.fromhex(text) for text in ("0f00", "0100", "1f00", "0740", "0780", "00f0", "0000", "ffff")]
    elif isinstance(randomizer, OrbitKernel):
        texts = "0001ff0000 0001ff0200 0001ff0300 0000ff0000 0001000000 0101000e00 0101000f00 0100010000 0101010000"
        candidates = [bytes.fromhex(text) for text in (*texts.split(), "0201000000", "01010000ff")]
    elif isinstance(randomizer, Coarsened):
        candidates = [_fields(randomizer, *case) for case in REPORTS[name]]
    else:
        candidates = [bytes(16) + bytes([bit]) for bit in (0, 1, 2, 255)]
    if isinstance(randomizer, Pair):
        texts = [
            "".join(("00" * 16, bit, "00" * (width - 18), last)) for bit in ("00", "01", "02") for last in ("01", "09")
        ]
        candidates = [bytes.fromhex(text) for text in texts]
    inside = in_alphabet(randomizer, np.frombuffer(b"".join(candidates), dtype=np.uint8).reshape(-1, width))
    return {
        "name": name,
        "randomizer": meaning(to_plain(randomizer)),
        "size": meaning(domain.size),
        "payload_bytes": width,
        "statistic": randomizer.accumulator,
        "accumulator_size": randomizer.accumulator_size,
        "likelihood_ratio": [str(part) for part in ratio],
        "nano_epsilon": proved.nano,
        "payloads": [
            {"hex": payload.hex(), "in_alphabet": bool(yes)} for payload, yes in zip(candidates, inside, strict=True)
        ],
    }


def _fields(randomizer: Coarsened, level: int, *values: int) -> bytes:
    """A payload of the fields of a level's report; one value more stands for the bits that the level does not use."""
    payload, place = level, randomizer.field_bits[level][0]
    for value, bits in zip(values, (*randomizer.field_bits[level][1:], 0), strict=False):
        payload |= value << place
        place += bits
    return payload.to_bytes(randomizer.payload_bytes, "little")


def _cells(domain: Domain, values: list[Any]) -> dict[str, Any]:
    labels = {"labels": [domain.label(cell) for cell in range(domain.size)]} if domain.size <= _LISTED_CELLS else {}
    return {
        "domain": meaning(to_plain(domain)),
        "size": meaning(domain.size),
        **labels,
        "values": [_placed(domain, value) for value in values],
    }


def _placed(domain: Domain, value: Any) -> dict[str, Any]:
    codes = domain.codes(value)
    cell = {"cell": meaning(domain.encode(value))} if domain.size <= MAX_CELLS else {}
    return {"value": meaning(value), "codes": meaning(codes), **cell, "label": domain.describe(codes)}


def _domains() -> list[dict[str, Any]]:
    delay = Ordinal("delay", (-0.5, 0.1, 15.0), unit="minutes", missing=True)
    carrier = Categorical("carrier", ("AA", "Ünited"), other=True)
    exhaustive = Domain((Ordinal("score", (1.0, 2.0)), Categorical("answer", ("no", "yes"))))
    numbers = [-1e300, -0.5, -0.4999, 0, 0.1, 0.10000000000000002, 15, 15.5, 2**70, None, "15", True]
    numbers += [" 15.5\n", "-.5", "1e1", "1e999", "1_0", "\uff11", "nan", "inf", ""]
    pairs = [[5, "AA"], [None, "ZZ"], {"delay": 0.05, "carrier": "Ünited"}, {"carrier": "AA"}, "AA", [1, 2, 3], None]
    shapes = [
        {},
        {"delay": 5},
        {"carrier": "AA"},
        {"delay": 5, "carrier": "Ünited"},
        [],
        [5],
        ["AA"],
        [5, "AA"],
        {"": 5},
    ]
    lone = Domain((Indicator("early", delay, (Span(0, 1), Span(4, 4))),))
    return [
        _cells(Domain((delay,)), [*numbers, *shapes]),
        _cells(Domain((carrier,)), ["AA", "Ünited", "united", "", None, 1, "other", *shapes]),
        _cells(lone, [*numbers, *shapes, {"early": 5}]),
        _cells(Domain((delay, carrier)), pairs),
        _cells(exhaustive, [[1, "no"], [1.5, "yes"], [3, "yes"], [3, "perhaps"], ["3", "yes"], None]),
        *_unlisted_domains(numbers),
    ]


def _unlisted_domains(numbers: list[Any]) -> list[dict[str, Any]]:
    tenths, sevenths = EvenEdges(0.0, 0.1, 2**20), EvenEdges(-3.5, 0.7, 11)
    even = [0.1, 0.2, 0.3, 0.30000000000000004, 2.1, 2.0999999999999996, -3.5, -2.8, 104857.5, 1e300, -1e300, *numbers]
    whole = [-5, -4.5, -4, 0, 0.5, 1, 2**31, 2**31 + 1, 1e300, -1e300, "7", "+07", "-5", "7.5", "1e3", 2**70, None, "x"]
    word = ["9007199254740993", "4611686018427387904", "12345678901234567890", 2**62, 2**62 - 1, 9007199254740993]
    texts = [
        "",
        "a",
        "\u00fc",
        "u\u0308",
        "https://example.org/a?b=c",
        "a" * 1000,
        "\U0001f3f4",
        "\ud800",
        None,
        5,
        True,
    ]
    salt = bytes(range(16))
    wide = tuple(Categorical(f"a{number}", ("no", "yes")) for number in range(64))
    unmissed = Domain((Number("load", 0.0, 10.0),))
    strings = [*texts, "ab", "abc", "the http://", {"page": "ab"}, {"a": "ab"}, ["ab"], ["ab", "ab", "ab"], {}]
    return [
        _cells(NUMBERS, number_values()),
        _cells(unmissed, [0, 10, 5, 1 / 3, 5e-324, 2.5e-9, None, "nan", "x", 9.999999999999998]),
        _cells(STRINGS, strings),
        _cells(Domain((Ordinal("x", tenths, missing=True),)), even),
        _cells(Domain((Ordinal("x", sevenths, other=True),)), even),
        _cells(Domain((Integers("ms", -4, 2**31, unit="ms"),)), whole),
        _cells(Domain((Integers("ms", -4, 4, missing=True, other=True),)), whole),
        _cells(Domain((Integers("number", 1, 2**62),)), word),
        *(_cells(Domain((Hashed("url", bits, salt),)), texts) for bits in (1, 20, 64)),
        _cells(Domain((Hashed("url", 13, salt, missing=True, other=True),)), texts),
        _cells(Domain((Hashed("url", 64, salt), *wide[1:])), [["a", *["yes"] * 63], None, {"a63": "yes"}]),
    ]


def _report_ids() -> list[dict[str, Any]]:
    ids = (bytes(16), bytes(range(16)), b"\xff" * 16)
    return [{"hex": value.hex(), "epoch": ReportId(value).epoch} for value in ids]


def good_numbers() -> dict[str, Any]:
    """Files of good vectors that are no documents, by path."""
    bounds = [{"nano_epsilon": nano, "bits": 128, "value": str(exp_lower_bound(nano, 128))} for nano in NANOS]
    return {
        "good/directions.json": {"vectors": [_direction(seed, d) for seed in SEEDS for d in DIMENSIONS]},
        "good/epsilon.json": {"exp_lower_bounds": bounds, "ratios": [_ratio(*ratio) for ratio in RATIOS]},
        "good/laws.json": {"vectors": [_law(size, epsilon) for size in SIZES for epsilon in EPSILONS]},
        "good/randomizers.json": {"vectors": [_alphabet(name) for name in RANDOMIZERS]},
        "good/domains.json": {"vectors": _domains()},
        "good/text_codes.json": {"vectors": text_codes()},
        "good/report_ids.json": {"vectors": _report_ids()},
    }
