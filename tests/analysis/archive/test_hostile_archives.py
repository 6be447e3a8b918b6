"""Archives whose digests fit and whose content does not: every one is refused by the name of a file."""

from __future__ import annotations

import hashlib
import io
import json
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from benchmarks.scale_out.archives import archive_of
from sordino_analysis.archive.archive import Archive
from sordino_analysis.archive.errors import ArchiveError, BadPart
from sordino_analysis.archive.parts import BLOCK_REPORTS, PART, archived_part, part_content
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from tests.randomizers import RESPONSE

PAYLOADS = bytes([0, 1, 2, 3, 4] * 2)
COLUMNS = [("reports", pa.int32()), ("payloads", pa.large_binary())]
WHOLE = [[10], [PAYLOADS]]


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    """Three parts of ten reports."""
    payloads = randomize_many(RESPONSE, np.arange(30) % 5, SeededRandomness(5))
    return archive_of(str(tmp_path), RESPONSE, np.split(payloads, 3))


def forged(archive: Archive, **change: Any) -> Archive:
    """The archive with another manifest, whose name is that of its content."""
    folder = Path(archive.folder.path)
    for other in folder.glob("_manifest-*"):
        other.unlink()
    plain = json.loads(archive.manifest.content) | change
    content = json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()
    (folder / f"_manifest-{hashlib.sha256(content).hexdigest()}.json").write_bytes(content)
    return Archive.open(archive.folder.url)


def first_part(archive: Archive, **change: Any) -> list[dict[str, Any]]:
    first, *others = json.loads(archive.manifest.content)["parts"]
    return [first | change, *others]


@pytest.mark.parametrize(
    "change",
    [
        {"name": "../part-00000.parquet"},
        {"name": "/etc/passwd"},
        {"name": "part-00000.parquet\n"},
        {"name": "part-0000\u0660.parquet"},
        {"name": "part-00001.parquet"},
        {"reports": 0},
        {"reports": True},
        {"reports": 10.0},
        {"reports": 10**30},
        {"size": 10**30},
        {"size": 300.0},
        {"size": "300"},
        {"sha256": "A" * 64},
        {"compression": "none"},
    ],
    ids=str,
)
def test_a_part_that_cannot_be(archive: Archive, change: dict[str, Any]) -> None:
    with pytest.raises(ArchiveError, match="_manifest-"):
        forged(archive, parts=first_part(archive, **change))


@pytest.mark.parametrize(
    "change",
    [
        {"width": True},
        {"width": 1.0},
        {"width": 0},
        {"round": -1},
        {"round": 0.0},
        {"round": 10**30},
        {"round": float("nan")},
        {"campaign": "../.."},
        {"campaign": None},
        {"device": "../x"},
        {"analyst": 5},
        {"version": "1"},
        {"reports": 31},
        {"more": 1},
        {"parts": {}},
        {"parts": [5]},
        {"parts": []},
    ],
    ids=str,
)
def test_a_manifest_that_cannot_be(archive: Archive, change: dict[str, Any]) -> None:
    with pytest.raises(ArchiveError, match="_manifest-"):
        forged(archive, **change)


def test_a_part_that_is_listed_twice(archive: Archive) -> None:
    first, second, third = json.loads(archive.manifest.content)["parts"]
    for parts in ([first, first, second], [second, first, third]):
        with pytest.raises(ArchiveError, match="each once"):
            forged(archive, parts=parts)
    # Its content under another part's name.
    twice = forged(archive, parts=[first, second, second | {"name": third["name"]}])
    with pytest.raises(BadPart, match=r"part-00002\.parquet is not the file"):
        twice.sums(twice.chosen())


@pytest.mark.parametrize(
    ("values", "columns"),
    [
        ([[10], ["0" * 10]], [COLUMNS[0], ("payloads", pa.string())]),
        ([[10], [[0] * 10]], [COLUMNS[0], ("payloads", pa.list_(pa.int8()))]),
        ([[10], [3]], [COLUMNS[0], ("payloads", pa.int64())]),
        ([[10.0], [PAYLOADS]], [("reports", pa.float64()), COLUMNS[1]]),
        ([[PAYLOADS]], COLUMNS[1:]),
        ([*WHOLE, [1]], [*COLUMNS, ("time", pa.int8())]),
        ([*WHOLE, [PAYLOADS]], [*COLUMNS, COLUMNS[1]]),
        ([[None, 10], [b"", PAYLOADS]], COLUMNS),
        ([[0, 10], [None, PAYLOADS]], COLUMNS),
        ([[-1, 10], [b"", PAYLOADS]], COLUMNS),
        ([[9], [PAYLOADS]], COLUMNS),
        ([[9], [PAYLOADS[:9]]], COLUMNS),
        ([[10], [b"\xff" * 10]], COLUMNS),
    ],
)
def test_a_part_of_another_form(archive: Archive, values: list[list[Any]], columns: list[Any]) -> None:
    terms = {"device": str(archive.manifest.device), "width": "1"}
    schema = pa.schema(columns, metadata=terms)
    arrays = [pa.array(column, type=kind) for column, (_, kind) in zip(values, columns, strict=True)]
    file = Path(archive.folder.path) / "part-00000.parquet"
    parquet.write_table(pa.Table.from_arrays(arrays, schema=schema), file)
    content = file.read_bytes()
    listed = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    altered = forged(archive, parts=first_part(archive, **listed))
    with pytest.raises(BadPart, match=r"^part-00000\.parquet "):
        altered.sums(altered.chosen())
    assert altered.sums((1, 2)).count == 20


def with_first(archive: Archive, content: bytes, reports: int = 10) -> Archive:
    """The archive with another first part, as its manifest says."""
    (Path(archive.folder.path) / "part-00000.parquet").write_bytes(content)
    listed = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest(), "reports": reports}
    return forged(archive, parts=first_part(archive, **listed), reports=20 + reports)


def written(archive: Archive, rows: list[bytes], **terms: Any) -> bytes:
    """A file of a row for each of these, with the form of a part but for `terms`."""
    metadata = {"device": str(archive.manifest.device), "width": "1"}
    table = pa.table([[len(row) for row in rows], rows], schema=pa.schema(COLUMNS, metadata=metadata))
    sink, form = io.BytesIO(), {"compression": "zstd", "use_dictionary": False, "write_statistics": False}
    parquet.write_table(table, sink, **(form | terms))
    return sink.getvalue()


def peak_mib() -> int:
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) >> 10


BLOCK = bytes(BLOCK_REPORTS)
BOMBS: dict[str, tuple[list[bytes], dict[str, Any], str]] = {
    "a row of zeros": ([bytes(128 << 20)], {}, "unpacks to"),
    "a dictionary": ([BLOCK] * 2500, {"use_dictionary": True}, "rows"),
    "a dictionary of few rows": ([BLOCK] * 16, {"use_dictionary": True}, "dictionary"),
    "one row group": ([BLOCK] * 2500, {}, "rows"),
    "another encoding": ([BLOCK] * 9, {"column_encoding": {"payloads": "DELTA_BYTE_ARRAY"}}, "another form"),
    "another page": ([BLOCK] * 9, {"data_page_version": "2.0"}, "form|lack"),
    "another compression": ([BLOCK] * 9, {"compression": "gzip"}, "compression"),
    "a long footer": ([b"x"] * 3000, {"row_group_size": 1}, "footer"),
    "statistics": ([BLOCK] * 9, {"write_statistics": True}, "form|lack"),
    "a row of too many": ([bytes(BLOCK_REPORTS + 1), BLOCK], {}, "65,536 a row at most"),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_what_would_unpack_to_more_than_a_part_is_refused_before(archive: Archive, bomb: str) -> None:
    """A file of 9 KB takes no more memory than a part of 16 MiB does."""
    rows, terms, words = BOMBS[bomb]
    altered = with_first(archive, written(archive, rows, **terms), sum(map(len, rows)))
    Path("/proc/self/clear_refs").write_text("5")
    before = peak_mib()
    with pytest.raises(BadPart, match=rf"^part-00000\.parquet .*({words})"):
        altered.sums((0,))
    assert peak_mib() - before <= 64


def test_few_rows_cannot_hold_the_reports_of_a_manifest(archive: Archive) -> None:
    altered = with_first(archive, written(archive, [PAYLOADS]), BLOCK_REPORTS + 1)
    with pytest.raises(BadPart, match="has 1 row for 65,537 reports, 65,536 a row at most"):
        altered.sums((0,))


def test_a_page_that_says_more_than_the_footer_is_refused(archive: Archive) -> None:
    """Readers allocate what the head of a page says: here 128 MiB, where the footer says one."""
    content = written(archive, [bytes(BLOCK_REPORTS)] * 16)
    place = parquet.ParquetFile(pa.BufferReader(content)).metadata.row_group(0).column(1)
    said = place.data_page_offset + 3
    assert content[said - 3 : said] == b"\x15\x00\x15", "the type of a page, and the field of what it unpacks to"
    assert [byte >> 7 for byte in content[said : said + 4]] == [1, 1, 1, 0], "a number of four bytes"
    lying = content[:said] + b"\xfe\xff\xff\x7f" + content[said + 4 :]
    with pytest.raises(BadPart, match=r"unpacks to 134,2\d\d,\d\d\d bytes, one of a part to at most 67,108,864"):
        with_first(archive, lying, 1 << 20).sums((0,))
    assert with_first(archive, content, 1 << 20).sums((0,)).count == 1 << 20


def test_a_damaged_part_is_a_bad_part(archive: Archive) -> None:
    """400 files with one to four other bytes, and 100 that are cut: whatever pyarrow says of them."""
    draw, content = np.random.default_rng(11), written(archive, [PAYLOADS, PAYLOADS])
    refused = 0
    for number in range(500):
        damaged = bytearray(content)
        for place in draw.integers(0, len(content), draw.integers(1, 5)):
            damaged[place] ^= int(draw.integers(1, 256))
        if number >= 400:
            del damaged[int(draw.integers(1, len(content))) :]
        altered = with_first(archive, bytes(damaged), 20)
        try:
            assert altered.sums((0,)).count == 20
        except BadPart:
            refused += 1
    assert refused >= 450


def test_wide_payloads_are_written_in_rows_that_are_read(archive: Archive) -> None:
    """24 MiB of reports of 8 KiB: rows and row groups stay below what a reader takes."""
    content = part_content(np.zeros((3072, 8192), dtype=np.uint8), str(archive.manifest.device))
    groups = parquet.ParquetFile(pa.BufferReader(content)).metadata
    sizes = [groups.row_group(number).total_byte_size for number in range(groups.num_row_groups)]
    assert max(sizes) <= PART.group_bytes // 2 + 4096
    assert groups.num_rows == 12


@pytest.mark.parametrize("name", ["part-00000.parquet", "device"])
def test_a_pipe_is_no_file(archive: Archive, name: str) -> None:
    """It is opened without waiting for somebody who writes to it."""
    folder = Path(archive.folder.path)
    path = folder / (f"device-{archive.manifest.device}.cbor" if name == "device" else name)
    path.unlink()
    os.mkfifo(path)
    # Code that waits is not kept waiting for the whole test.
    late = threading.Timer(20, lambda: os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK)))
    late.daemon = True
    late.start()
    try:
        with pytest.raises(ArchiveError, match="is no regular file"):
            Archive.open(str(folder)).sums((0,))
    finally:
        late.cancel()


def test_a_manifest_that_promises_gibibytes_allocates_none(archive: Archive) -> None:
    altered = forged(archive, parts=first_part(archive, size=1 << 32))
    Path("/proc/self/clear_refs").write_text("5")
    before = peak_mib()
    with pytest.raises(BadPart, match="is not the file that the manifest names"):
        altered.sums((0,))
    assert peak_mib() - before <= 64
    assert archived_part("part-00000.parquet", 1, b"x").size == 1
