"""Documents: strict reading, bytes and digests that belong together, values that the types cannot hold."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest

from sordino_analysis.documents.analyst_part import AnalystPart, ErrorFigures, Factors
from sordino_analysis.documents.certificate import LowerBound
from sordino_analysis.documents.decoders import AnswerDecoder, ScaledHistogramDecoder
from sordino_analysis.documents.queries import MatrixQueries
from sordino_analysis.vectorized.arrays import array_of
from sordino_analysis.vectorized.payloads import payload_rows
from sordino_shared.arrays import Array
from sordino_shared.domains import Categorical, Domain, Ordinal
from sordino_shared.errors import InvalidValue, MalformedDocument, OversizedDocument, UnsupportedVersion
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import (
    CampaignId,
    CampaignState,
    DevicePart,
    Digest,
    Document,
    DrawOneRound,
    EveryRound,
    Manifest,
    PlanReference,
    Refusal,
    RefusedReport,
    ReportBatch,
    ReportId,
    ReportOutcomes,
    RetryWindow,
    RoundTerms,
    Task,
)
from sordino_shared.protocol.codec import decode_value, encode_value
from sordino_shared.randomizers import RandomizedResponse

ONE = PureEpsilon.of(1)
DOMAIN = Domain((Ordinal("x", (0.0,)),))
REFERENCE = PlanReference(Digest(bytes(32)), Digest(bytes(32)))


def reals(*values: Any) -> Array:
    return array_of(np.array(values, dtype=np.float64), "<f8")


def manifest(**changes: Any) -> Manifest:
    fields: dict[str, Any] = {
        "name": "n",
        "purpose": "s",
        "population": "p",
        "created_at": 1,
        "domain": DOMAIN,
        "device_guarantee": ONE,
        "rounds": (RoundTerms(ONE, REFERENCE),),
        "assignment": EveryRound(),
        "protocol": None,
    }
    return Manifest(**(fields | changes))


def task(**changes: Any) -> Task:
    fields: dict[str, Any] = {
        "campaign": CampaignId(bytes(32)),
        "state": CampaignState.OPEN,
        "round": 0,
        "device_parts": (Digest(bytes(32)),),
        "epoch": 0,
        "retry": RetryWindow(1, 2),
        "answer_until": 5,
        "accept_until": 6,
    }
    return Task(**(fields | changes))


def test_every_document_type_has_its_own_name(document_types: dict[str, type[Document]]) -> None:
    """Also among those of other distributions, which other tests of this process may have imported."""
    kinds = Document.__subclasses__()
    assert {kind for kind in kinds if kind.__module__.startswith("sordino_shared.")} <= set(document_types.values())
    assert len({kind.document for kind in kinds}) == len(kinds)


def test_no_document_reads_as_another_type(
    good_contents: list[tuple[str, bytes]], document_types: dict[str, type[Document]]
) -> None:
    for name, content in good_contents:
        for other, kind in document_types.items():
            if other != name:
                with pytest.raises((MalformedDocument, OversizedDocument)):
                    kind.read(content)


def test_every_field_is_needed_and_no_other_is_taken(
    good_contents: list[tuple[str, bytes]], document_types: dict[str, type[Document]]
) -> None:
    """At every map of every good document: one field fewer, one more, one of another type.

    `missing` and `other` are there where they are true alone: without one a document is of another domain.
    """
    seen: set[tuple[Any, ...]] = set()
    for name, content in good_contents:
        for changed in _disturbed(decode_value(content, len(content)), (name,), seen):
            with pytest.raises((MalformedDocument, UnsupportedVersion)):
                document_types[name].read(encode_value(changed))


def _disturbed(plain: Any, path: tuple[Any, ...], seen: set[tuple[Any, ...]]) -> list[Any]:
    """Changes of the maps in `plain`; one of each form in each place of a type is enough."""
    found: list[Any] = []
    if isinstance(plain, dict):
        form = (*path, *((name, item if name == "kind" else type(item)) for name, item in plain.items()))
        if form not in seen:
            seen.add(form)
            found += _disturbed_map(plain)
        for name, item in plain.items():
            found += [plain | {name: inner} for inner in _disturbed(item, (*path, name), seen)]
    if isinstance(plain, list):
        for index, item in enumerate(plain):
            found += [[*plain[:index], inner, *plain[index + 1 :]] for inner in _disturbed(item, path, seen)]
    return found


def _disturbed_map(plain: dict[str, Any]) -> list[Any]:
    found: list[Any] = [plain | {"unexpected": 1}]
    for name, item in plain.items():
        if not (name in ("missing", "other") and item is True):
            found.append({key: value for key, value in plain.items() if key != name})
        found.append(plain | {name: [[item]]})
    return found


def test_content_and_digest_are_computed_once_and_survive_copies() -> None:
    document = task()
    assert document.content is document.content
    assert document.digest == Digest.of(document.content)
    assert pickle.loads(pickle.dumps(document)) == document
    assert dataclasses.replace(document, epoch=1).content != document.content


def test_documents_are_frozen_equal_by_value_and_hashable() -> None:
    first, second = manifest(), manifest()
    assert first == second
    assert len({first, second, manifest(name="other")}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.name = "x"  # type: ignore[misc]


def test_device_parts_with_large_arrays_compare_and_hash() -> None:
    table = array_of(np.zeros((1, 2), dtype=np.uint64), "<u8")
    assert Array("<u8", (1, 2), bytes(16)) == table
    assert len({table, Array("<u8", (1, 2), bytes(16)), Array("<u8", (2, 1), bytes(16))}) == 2


def test_integers_in_float_fields_are_written_as_floats() -> None:
    for given in (3, np.float64(3), np.int64(3), np.float32(3)):
        decoder = ScaledHistogramDecoder(given, -0.0)  # type: ignore[arg-type]
        assert (type(decoder.slope), type(decoder.offset)) == (float, float)
        assert encode_value([decoder.slope, decoder.offset]).hex() == "82f94200f90000"
    assert ErrorFigures(1, 2, 0) == ErrorFigures(1.0, 2.0, 0.0)
    assert type(Ordinal("x", (1, 2)).edges[0]) is float


@pytest.mark.parametrize("number", [float("nan"), float("inf"), True, "1", None, 10**400])
def test_float_fields_refuse_what_is_no_finite_number(number: Any) -> None:
    for build in (
        lambda: ScaledHistogramDecoder(number, 0.0),
        lambda: ErrorFigures(0.0, number, 0.0),
        lambda: LowerBound(number, reals(1), reals(1)),
        lambda: Ordinal("x", (number,)),
    ):
        with pytest.raises(InvalidValue):
            build()


@pytest.mark.parametrize(
    "changes",
    [
        {"name": ""},
        {"name": " n"},
        {"name": "n" * 201},
        {"name": "a\nb"},
        {"name": "a\u202eb"},
        {"population": "\x00"},
        {"purpose": ""},
        {"purpose": "\n"},
        {"purpose": "s" * 2001},
        {"purpose": "\ud800"},
        {"purpose": "\x1b[31m"},
        {"created_at": -1},
        {"created_at": True},
        {"rounds": ()},
        {"rounds": (RoundTerms(ONE, None),)},
        {"rounds": (RoundTerms(ONE, REFERENCE),) * 2},
        {"device_guarantee": PureEpsilon.of("0.5")},
        {"rounds": (RoundTerms(ONE, REFERENCE),) * 17, "device_guarantee": PureEpsilon.of(17)},
        {"assignment": DrawOneRound((5, 2**32 - 5))},
    ],
)
def test_manifests_refuse_the_impossible(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue):
        manifest(**changes)


def test_manifests_take_the_worlds_scripts_and_one_round_of_two() -> None:
    purpose = "Quelle heure\u00a0?\n\u0645\u06cc \u062e\u0648\u0627\u0647\u0645 \U0001f469\u200d\U0001f52c"
    rounds = (RoundTerms(ONE, REFERENCE), RoundTerms(ONE, None))
    document = manifest(purpose=purpose, rounds=rounds, assignment=DrawOneRound((1, 2**32 - 1)))
    assert Manifest.read(document.content, document.campaign) == document
    assert type(document.campaign) is CampaignId
    assert document.campaign == document.digest


@pytest.mark.parametrize(
    "changes",
    [
        {"round": 1},
        {"round": -1},
        {"device_parts": ()},
        {"epoch": 2**16},
        {"epoch": -1},
        {"state": CampaignState.CLOSED},
        {"state": CampaignState.READY},
        {"device_parts": (Digest(bytes(32)),) * 17},
    ],
)
def test_tasks_refuse_the_impossible(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue):
        task(**changes)


@pytest.mark.parametrize("window", [(-1, 2), (3, 2), (0, 604_801), (604_801, 604_801)])
def test_retry_windows_refuse_the_impossible(window: tuple[int, int]) -> None:
    with pytest.raises(InvalidValue):
        RetryWindow(*window)


@pytest.mark.parametrize("window", [(0, 0), (7, 7), (604_800, 604_800)])
def test_retry_windows_take_their_ends(window: tuple[int, int]) -> None:
    assert (RetryWindow(*window).min_s, RetryWindow(*window).max_s) == window


def test_a_batch_reads_as_columns() -> None:
    batch = ReportBatch(Digest(bytes(32)), bytes(range(32)), b"abcdef")
    assert (batch.count, batch.width) == (2, 3)
    assert batch.report_ids() == [bytes(range(16)), bytes(range(16, 32))]
    assert payload_rows(batch).tolist() == [[97, 98, 99], [100, 101, 102]]


@pytest.mark.parametrize(("ids", "payloads"), [(0, 0), (0, 1), (16, 0), (15, 1), (32, 3), (16 * 4097, 4097)])
def test_batches_refuse_the_impossible(ids: int, payloads: int) -> None:
    with pytest.raises(InvalidValue):
        ReportBatch(Digest(bytes(32)), bytes(ids), bytes(payloads))


def test_what_is_too_large_to_be_read_is_not_written() -> None:
    with pytest.raises(OversizedDocument):
        _ = ReportBatch(Digest(bytes(32)), bytes(16), bytes(ReportBatch.limit)).content


def test_the_largest_batch_and_outcomes_are_read() -> None:
    batch = ReportBatch(Digest(bytes(32)), bytes(16 * 4096), bytes(4096 * 1000))
    assert ReportBatch.read(batch.content).count == 4096
    outcomes = ReportOutcomes(0, 0, tuple(RefusedReport(i, Refusal.ID_CONFLICT) for i in range(4096)))
    assert ReportOutcomes.read(outcomes.content) == outcomes


@pytest.mark.parametrize(
    ("accepted", "replayed", "refused"),
    [
        (0, 0, ()),
        (-1, 2, ()),
        (4097, 0, ()),
        (4000, 97, ()),
        (1, 0, (3, 3)),
        (1, 0, (4, 3)),
        (1, 0, (4096,)),
        (1, 0, (2,)),
        (0, 0, (5,)),
    ],
)
def test_outcomes_refuse_the_impossible(accepted: int, replayed: int, refused: tuple[int, ...]) -> None:
    with pytest.raises(InvalidValue):
        ReportOutcomes(accepted, replayed, tuple(RefusedReport(i, Refusal.WRONG_EPOCH) for i in refused))


def test_plan_parts_refuse_shapes_that_do_not_fit() -> None:
    with pytest.raises(InvalidValue, match="the domain has 2"):
        DevicePart(DOMAIN, ONE, RandomizedResponse.for_guarantee(3, ONE))
    with pytest.raises(InvalidValue, match="query matrix"):
        MatrixQueries(reals([1, 0], [0, 1]), ("one",))
    with pytest.raises(InvalidValue, match="decoder matrix"):
        AnswerDecoder(reals([1, 0]), reals(0, 0))
    with pytest.raises(InvalidValue, match="decoder"):
        AnswerDecoder(reals([1, 0]), reals([0]))
    with pytest.raises(InvalidValue, match="factor R"):
        Factors(reals([1]), reals([1], [1]), reals(0), None)
    with pytest.raises(InvalidValue, match="transform T"):
        Factors(reals([1]), reals([1]), reals(0), reals([1, 1]))
    with pytest.raises(InvalidValue, match="weights"):
        LowerBound(1.0, reals([1]), reals(1))


@pytest.mark.parametrize("nano", [0, 999_999, 16 * 10**9 + 1])
def test_round_guarantees_have_limits(nano: int) -> None:
    with pytest.raises(InvalidValue, match="one round"):
        DevicePart(DOMAIN, PureEpsilon(nano), RandomizedResponse.for_guarantee(2, ONE))
    with pytest.raises(InvalidValue, match="one round"):
        RoundTerms(PureEpsilon(nano), REFERENCE)


@pytest.mark.parametrize("changes", [{"objective": "median"}, {"seed": -1}, {"workload": ""}, {"mechanism": " x"}])
def test_analyst_parts_refuse_the_impossible(changes: dict[str, Any], good_contents: list[tuple[str, bytes]]) -> None:
    content = next(content for name, content in good_contents if name == "analyst_part")
    with pytest.raises(InvalidValue):
        dataclasses.replace(AnalystPart.read(content), **changes)


def test_a_malformed_document_says_where() -> None:
    plain = decode_value(manifest().content, 1000)
    plain["domain"]["attributes"][0]["edges"] = [1.0, 1.0]
    with pytest.raises(MalformedDocument, match="strictly increasing") as raised:
        Manifest.read(encode_value(plain))
    assert raised.value.path == "/domain/attributes/0"


def test_a_document_without_version_is_malformed_and_a_later_one_unsupported() -> None:
    plain = decode_value(task().content, 1000)
    with pytest.raises(UnsupportedVersion) as raised:
        Task.read(encode_value(plain | {"version": 2}))
    assert (raised.value.found, raised.value.supported) == (2, 1)
    with pytest.raises(MalformedDocument):
        Task.read(encode_value({key: value for key, value in plain.items() if key != "version"}))


def test_labels_have_a_limit_that_readers_keep() -> None:
    domain = Domain((Categorical("c", tuple(f"{i:x}" for i in range(1 << 12))),))
    part = DevicePart(domain, ONE, RandomizedResponse.for_guarantee(domain.size, ONE))
    assert DevicePart.read(part.content) == part
    with pytest.raises(InvalidValue, match="members"):
        Domain((Categorical("c", tuple(f"{i:x}" for i in range((1 << 19) + 1))),))


def test_report_ids_and_digests_are_typed() -> None:
    assert ReportId(b"\x01\x02" + bytes(14)).epoch == 258
    assert str(ReportId(bytes(16))) == "00" * 16
    digest = Digest.of(b"abc")
    assert Digest.parse(str(digest)) == digest
    for text in ("", "AB" * 32, "g" * 64, "ab" * 31, "ab" * 33, "ab " * 21 + "a", "é" * 64):
        with pytest.raises(InvalidValue):
            Digest.parse(text)
    for size in (0, 15, 31, 33):
        with pytest.raises(InvalidValue):
            Digest(bytes(size))
        with pytest.raises(InvalidValue):
            ReportId(bytes(size))


def test_a_digest_shows_its_hexadecimal_digits():
    digest = CampaignId.of(b"shown")
    assert repr(digest) == f"CampaignId({digest.hex()})"
    assert str(digest) == digest.hex()


def _zeros(count: int) -> bytes:
    """`encode_value({"a": [0] * count})`, which takes longer than to read it; a head that is no longer than needed."""
    first, size = (0x98, 1) if count < 1 << 8 else (0x99, 2) if count < 1 << 16 else (0x9A, 4)
    head = bytes([first]) + count.to_bytes(size, "big")
    return encode_value({"a": []})[:-1] + head + bytes(count)


def test_every_document_is_read_up_to_its_limits_and_no_further(document_types: dict[str, type[Document]]) -> None:
    """Of items: a map, a key, an array and what is in it. Of bytes: the largest documents are left to the vectors."""
    for kind in document_types.values():
        room = kind.max_items - 3
        with pytest.raises(MalformedDocument, match="not a"):
            kind.read(_zeros(room))
        with pytest.raises(MalformedDocument, match="too many items"):
            kind.read(_zeros(room + 1))
        if kind.limit <= 1 << 23:
            with pytest.raises(MalformedDocument):
                kind.read(bytes(kind.limit))
            with pytest.raises(OversizedDocument):
                kind.read(bytes(kind.limit + 1))
