"""The golden vectors: what must be read is read and written back, what must be refused is refused for its reason."""

from __future__ import annotations

import hashlib
import struct
import subprocess
import sys
from pathlib import Path
from statistics import NormalDist
from typing import Any

import cbor2
import numpy as np
import pytest

from sordino_analysis.vectorized.directions import directions
from sordino_analysis.vectorized.randomizers import dithered_types, in_alphabet
from sordino_shared.audit import check_guarantee, prove_epsilon
from sordino_shared.domains import Domain, Text
from sordino_shared.errors import (
    DigestMismatch,
    GuaranteeNotMet,
    MalformedDocument,
    OversizedDocument,
    UnsupportedVersion,
)
from sordino_shared.guarantees import PureEpsilon, epsilon_of_ratio, exp_lower_bound
from sordino_shared.protocol import DevicePart, Digest, Document, Manifest, ReportId, Rotating, successor_faults
from sordino_shared.protocol.codec import decode_value, encode_value
from sordino_shared.protocol.schema import from_plain
from sordino_shared.randomizers import Dithered, RandomizedResponse, SeededDirection, SubsetSelection
from sordino_shared.randomness import Randomness

DOCUMENTS = (
    "manifest",
    "task",
    "device_part",
    "analyst_part",
    "report_batch",
    "report_outcomes",
    "aggregate",
    "sealed_reports",
    "sealed_outcomes",
    "shuffled_page",
    "batch_statement",
    "log_entry",
)
_MOST_CHANGES = 80
BAD_GROUPS = ("canonical", "bytes", "schema", "values", "ranges", "version", "oversized", "digest", "guarantee")
ERRORS = {
    "malformed": MalformedDocument,
    "oversized": OversizedDocument,
    "unsupported_version": UnsupportedVersion,
    "digest_mismatch": DigestMismatch,
    "guarantee_not_met": GuaranteeNotMet,
}


def plain(meaning: Any) -> Any:
    """A vector's meaning as a plain value."""
    if isinstance(meaning, list):
        return [plain(item) for item in meaning]
    if not isinstance(meaning, dict):
        return meaning
    if meaning.keys() == {"bytes"}:
        return bytes.fromhex(meaning["bytes"])
    if meaning.keys() == {"integer"}:
        return int(meaning["integer"])
    return {name: plain(item) for name, item in meaning.items()}


def read(case: dict[str, Any], document_types: dict[str, type[Document]]) -> Document:
    """Do with a bad vector what a device or server does with bytes."""
    padding = case.get("padding", {"byte": "", "count": 0})
    content = bytes.fromhex(case["hex"]) + bytes.fromhex(padding["byte"]) * padding["count"]
    digest = Digest.parse(case["sha256"]) if "sha256" in case else None
    document = document_types[case["read_as"]].read(content, digest)
    if isinstance(document, DevicePart):
        check_guarantee(document)
    return document


def test_generator_writes_the_committed_files(repository: Path) -> None:
    command = [sys.executable, str(repository / "tests/vectors/generate.py"), "--check"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("name", DOCUMENTS)
def test_good_documents(name: str, vectors: dict[str, Any], document_types: dict[str, type[Document]]) -> None:
    for case in vectors[f"good/{name}"]["vectors"]:
        content, digest = bytes.fromhex(case["hex"]), Digest.parse(case["sha256"])
        document = document_types[name].read(content, digest)
        assert document.content == content
        assert document.digest == digest
        assert document == document_types[name].read(content)
        assert hash(document) == hash(document_types[name].read(content))
        assert encode_value(plain(case["meaning"])) == content
        if isinstance(document, DevicePart):
            check_guarantee(document)


@pytest.mark.parametrize("group", BAD_GROUPS)
def test_bad_documents(group: str, vectors: dict[str, Any], document_types: dict[str, type[Document]]) -> None:
    cases = vectors[f"bad/{group}"]["vectors"]
    assert len({case["name"] for case in cases}) == len(cases) > 0
    for case in cases:
        with pytest.raises(ERRORS[case["error"]]) as raised:
            read(case, document_types)
        assert raised.type is ERRORS[case["error"]], case["name"]


def test_every_group_is_read(vectors: dict[str, Any]) -> None:
    groups = {f"bad/{group}" for group in (*BAD_GROUPS, "log_proof")}
    assert {name for name in vectors if name.startswith("bad/")} == groups


def test_a_common_library_takes_many_encodings_that_are_not_canonical(
    vectors: dict[str, Any], good_contents: list[tuple[str, bytes]]
) -> None:
    """The bad encodings are bad for their form only: a lax decoder finds a good document's value in most of them."""
    values = [cbor2.loads(content) for _, content in good_contents]
    taken = set()
    for case in vectors["bad/canonical"]["vectors"]:
        try:
            value = cbor2.loads(bytes.fromhex(case["hex"]))
        except (cbor2.CBORDecodeError, ValueError, OverflowError):
            continue
        if value in values:
            taken.add(case["name"])
    assert {"map_head_8", "integer_8", "indefinite_map", "keys_backwards", "key_twice", "half_as_double"} <= taken
    assert len(taken) >= 30


def test_directions(vectors: dict[str, Any]) -> None:
    for case in vectors["good/directions"]["vectors"]:
        seed = np.frombuffer(bytes.fromhex(case["seed"]), dtype=np.uint8).reshape(1, 16)
        drawn = directions(seed, case["dimension"])[0]
        assert drawn[: len(case["head"])].tolist() == case["head"]
        assert Digest.of(drawn.astype("<i2").tobytes()) == Digest.parse(case["sha256_of_int16_little_endian"])


def test_the_atoms_beside_the_vectors_are_those_of_the_page(repository: Path) -> None:
    """The formula of docs/protocol.md, with the standard library's normal distribution."""
    content = (repository / "tests/vectors/v1/normal_atoms.bin").read_bytes()
    page = (repository / "docs/protocol.md").read_text("utf-8")
    assert content == (repository / "shared/sordino_shared/randomizers/normal_atoms.bin").read_bytes()
    assert f"`{hashlib.sha256(content).hexdigest()}`" in page
    normal, half = NormalDist(), 32_768
    densities = [normal.pdf(normal.inv_cdf(0.5 + i / 65_536)) for i in range(half)] + [0.0]
    products = [4096 * 65_536 * (densities[i] - densities[i + 1]) for i in range(half)]
    atoms = [max(1, round(product)) for product in products]
    assert atoms == [value for (value,) in struct.iter_unpack("<h", content)]
    assert min(abs(product % 1 - 0.5) for product in products) > 1e-5
    assert f"The first three are {atoms[0]}, {atoms[1]} and {atoms[2]}, the hundredth is {atoms[99]}" in page
    assert f"the last {atoms[-1]:,}" in page


def test_epsilon(vectors: dict[str, Any]) -> None:
    for case in vectors["good/epsilon"]["exp_lower_bounds"]:
        assert exp_lower_bound(case["nano_epsilon"], case["bits"]) == int(case["value"])
    for case in vectors["good/epsilon"]["ratios"]:
        proved = epsilon_of_ratio(int(case["numerator"]), int(case["denominator"]))
        assert (None if proved is None else proved.nano) == case["nano_epsilon"]


def test_laws(vectors: dict[str, Any]) -> None:
    for case in vectors["good/laws"]["vectors"]:
        size, guarantee, bits = case["size"], PureEpsilon(case["nano_epsilon"]), case["bits"]
        response = RandomizedResponse.for_guarantee(size, guarantee, bits)
        subset = SubsetSelection.for_guarantee(size, case["subset_size"], guarantee, bits)
        assert response.other_weight == int(case["randomized_response_other_weight"])
        assert subset.include_weight == int(case["subset_selection_include_weight"])
        keep = SeededDirection.largest_keep_weight(guarantee, bits)
        assert keep == int(case["seeded_direction_largest_keep_weight"])


def test_randomizers(vectors: dict[str, Any], document_types: dict[str, type[Document]]) -> None:
    parts = {v["name"]: DevicePart.read(bytes.fromhex(v["hex"])) for v in vectors["good/device_part"]["vectors"]}
    for case in vectors["good/randomizers"]["vectors"]:
        part = parts[case["name"]]
        randomizer = part.randomizer
        assert (part.domain.size, randomizer.payload_bytes) == (plain(case["size"]), case["payload_bytes"])
        assert (randomizer.accumulator, randomizer.accumulator_size) == (case["statistic"], case["accumulator_size"])
        assert prove_epsilon(randomizer) == PureEpsilon(case["nano_epsilon"])
        payloads = np.array([list(bytes.fromhex(p["hex"])) for p in case["payloads"]], dtype=np.uint8)
        assert in_alphabet(randomizer, payloads).tolist() == [p["in_alphabet"] for p in case["payloads"]]


def test_dithered(vectors: dict[str, Any]) -> None:
    """Each type by one number, of a device and of many values at once."""
    tried = 0
    for case in vectors["good/dithered"]["vectors"]:
        knots, members = tuple(map(int, case["knots"])), int(case["members"])
        types = len(knots) + members - 1 - knots[-1]
        inner = RandomizedResponse.for_guarantee(types, PureEpsilon.of(1))
        dithered, own = Dithered((knots,), inner), bytes(7) + b"\0"
        for draw in case["draws"]:
            words = [] if draw["drawn"] is None else [int(draw["drawn"]).to_bytes(8, "little")]
            sent = dithered.randomize(int(draw["member"]), Words(*words, own))
            assert sent == bytes([draw["type"]]), draw
            codes = np.array([[int(draw["member"])]], dtype=np.uint64)
            assert dithered_types(dithered, codes, Words(*words)).tolist() == [[draw["type"]]], draw
            tried += 1
    assert tried >= 40


class Words(Randomness):
    """Words in order; all of them have to be taken, and no more."""

    def __init__(self, *words: bytes) -> None:
        self._left = list(words)

    def bytes(self, count: int) -> bytes:
        return self._left.pop(0) if count else b""


def test_domains(vectors: dict[str, Any]) -> None:
    for case in vectors["good/domains"]["vectors"]:
        domain = from_plain(Domain, plain(case["domain"]))
        assert domain.size == plain(case["size"])
        if "labels" in case:
            assert [domain.label(cell) for cell in range(domain.size)] == case["labels"]
        for pair in case["values"]:
            value = plain(pair["value"])
            codes = domain.codes(value)
            assert codes == plain(pair["codes"]), pair
            assert domain.describe(codes) == pair["label"]
            if "cell" in pair:
                assert domain.encode(value) == plain(pair["cell"]), pair


def test_text_codes(vectors: dict[str, Any]) -> None:
    for case in vectors["good/text_codes"]["vectors"]:
        tokens, lengths = tuple(map(bytes.fromhex, case["tokens"])), bytes.fromhex(case["lengths"])
        text = Text(
            name="t", normal=case["normal"], depth=case["depth"], salt=bytes(16), tokens=tokens, lengths=lengths
        )
        for each in case["vectors"]:
            assert f"{text.bits_of(each['text']):0{case['depth']}b}" == each["bits"], each
            assert f"{text.code.first_bits(text.utf_8(each['text']), 9):09b}" == each["first_nine"] == each["bits"][:9]


def test_report_ids(vectors: dict[str, Any]) -> None:
    for case in vectors["good/report_ids"]["vectors"]:
        assert ReportId(bytes.fromhex(case["hex"])).epoch == case["epoch"]


def test_series(vectors: dict[str, Any]) -> None:
    for case in vectors["good/series"]["arithmetic"]:
        law = from_plain(Rotating, case["assignment"])
        for each in case["periods"]:
            number = each["number"]
            assert (law.period(number).start, law.period(number).end) == (each["start"], each["end"])
            assert (law.accepted_from(number), law.accepted_until(number)) == (
                each["accepted_from"],
                each["accepted_until"],
            )
            assert law.epoch(number) == each["epoch"]
        for each in case["times"]:
            asked = law.asked_at(case["phase"], each["now"])
            assert law.number_at(each["now"]) == each["number"]
            assert (None if asked is None else asked.number) == each["asked"], each
        for each in case["windows"]:
            assert law.most_answers(each["periods"]) == each["most_answers"]
            assert law.most_reports(each["periods"]) == each["most_reports"]
        for each in case["drawn"]:
            assert law.most_drawn(each["seconds"]) == each["most_drawn"]


def test_successors_of_a_series(vectors: dict[str, Any]) -> None:
    cases = vectors["good/series"]["successors"]
    for case in cases:
        old, new = (Manifest.read(bytes.fromhex(case[name])) for name in ("old", "new"))
        faults = successor_faults(old, new)
        assert (not faults) is case["may_replace"], case["name"]
        assert len(faults) <= 1, "one field was changed"
    refused = {case["name"] for case in cases if not case["may_replace"]}
    fields = {"start", "period_s", "value_of", "fewer_slots", "more_answers", "more_epsilon"}
    assert refused == fields | {"replaces_nothing", "replaces_another"}


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.slow), 31])
def test_any_changed_byte_is_noticed(
    good_contents: list[tuple[str, bytes]], document_types: dict[str, type[Document]], step: int
) -> None:
    """Every byte of every good document, or every 31st and of long ones fewer, is changed once, in a bit or all.

    With the digest nothing passes; without it, what passes is a canonical document of other content.
    """
    for number, (name, content) in enumerate(good_contents):
        digest, kind = Digest.of(content), document_types[name]
        stride = step if step == 1 else max(step, len(content) // _MOST_CHANGES)
        for position in range(number % stride, len(content), stride):
            changed = bytearray(content)
            changed[position] ^= (1 << position % 8) if position % 3 else 0xFF
            with pytest.raises(DigestMismatch):
                kind.read(bytes(changed), digest)
            try:
                read_back = kind.read(bytes(changed))
            except (MalformedDocument, UnsupportedVersion):
                continue
            assert read_back.content == bytes(changed)


def test_decoded_good_documents_are_what_a_general_library_reads(good_contents: list[tuple[str, bytes]]) -> None:
    for _, content in good_contents:
        assert decode_value(content, len(content)) == cbor2.loads(content)
