"""A batch is read by comparing bytes; it must be what the reader of every document makes of them."""

from __future__ import annotations

import cbor2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino_shared.errors import OversizedDocument, ProtocolError
from sordino_shared.protocol import Digest, ReportBatch
from sordino_shared.protocol.documents import Document

DIGEST = Digest.of(b"part")


def _generally(content: bytes) -> ReportBatch | type[ProtocolError]:
    return _outcome(lambda: Document.read.__func__(ReportBatch, content))


def _outcome(read) -> ReportBatch | type[ProtocolError]:
    try:
        return read()
    except ProtocolError as error:
        return type(error)


@pytest.mark.parametrize("count", [1, 2, 15, 16, 17, 256, 4096])
@pytest.mark.parametrize("width", [1, 17, 100])
def test_every_length_of_heads(count, width):
    batch = ReportBatch(DIGEST, bytes(16 * count), bytes(width * count))
    assert ReportBatch.read(batch.content) == batch == _generally(batch.content)
    assert ReportBatch.read(batch.content, batch.digest) == batch


@settings(max_examples=2000, deadline=None)
@given(st.integers(1, 20), st.data())
def test_damaged_bytes_are_read_as_the_general_reader_does(count, data):
    content = ReportBatch(DIGEST, bytes(range(16)) * count, b"xyz" * count).content
    start = data.draw(st.integers(0, len(content)))
    stop = data.draw(st.integers(start, min(len(content), start + 6)))
    damaged = content[:start] + data.draw(st.binary(max_size=6)) + content[stop:]
    assert _outcome(lambda: ReportBatch.read(damaged)) == _generally(damaged)


@pytest.mark.parametrize(
    "lengthened",
    [
        # Heads that are longer than they need to be, and lengths that do not fit.
        (b"cidsP", b"cidsX\x10"),
        (b"cidsP", b"cidsY\x00\x10"),
        (b"hpayloadsA", b"hpayloadsX\x01"),
        (b"hpayloadsA", b"hpayloads["),
        (b"hpayloadsA", b"hpayloads\x5f"),
        (b"cidsP", b"cidsZ\xff\xff\xff\xff"),
        (b"cidsP", b"cidsp"),
    ],
)
def test_other_forms_of_heads_are_malformed(lengthened):
    content = ReportBatch(DIGEST, bytes(16), b"\x05").content
    changed = content.replace(*lengthened)
    assert changed != content
    assert _outcome(lambda: ReportBatch.read(changed)) == _generally(changed)
    assert not isinstance(_generally(changed), ReportBatch)


def test_a_batch_beyond_the_limit_is_too_large():
    assert _outcome(lambda: ReportBatch.read(bytes(ReportBatch.limit + 1))) is OversizedDocument


def test_columns_that_do_not_fit_each_other_are_malformed():
    for ids, payloads in ((bytes(15), b"\x05"), (b"", b"\x05"), (bytes(32), b"abc"), (bytes(16), b"")):
        plain = {"ids": ids, "payloads": payloads, "device_digest": bytes(DIGEST)}
        content = cbor2.dumps(plain | {"document": "report_batch", "version": 1}, canonical=True)
        assert _outcome(lambda content=content: ReportBatch.read(content)) == _generally(content)
        assert not isinstance(_generally(content), ReportBatch)
