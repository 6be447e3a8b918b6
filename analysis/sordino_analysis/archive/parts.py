"""The file of one part, and its sums: the unit of work of a pool, of an engine, of a job on another machine."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.archive.errors import BadPart
from sordino_analysis.archive.folder import Folder, check_archives
from sordino_analysis.archive.manifest import ArchivedPart
from sordino_analysis.evaluation.accumulate import Aggregate, add_payloads
from sordino_analysis.parquet_files.page_heads import FileForm, checked_rows
from sordino_analysis.vectorized.randomizers import in_alphabet
from sordino_shared.protocol.documents import PROTOCOL_VERSION
from sordino_shared.quantities import quantity
from sordino_shared.randomizers import AnyRandomizer

Payloads = NDArray[np.uint8]
# A row group, and its rows: a part has 32 MiB and 16 at most. A row group has 125 bytes of a footer; read into objects
# it has thirty times as many.
PART = FileForm("a part", group_rows=16, group_bytes=1 << 26, footer_bytes=1 << 16)
# A row holds a block of reports: a row for each costs ten times as much to write and to read.
BLOCK_REPORTS = 1 << 16
# Half of what a reader takes of a row group.
_BLOCK_BYTES = PART.group_bytes // PART.group_rows // 2
# What pyarrow and the reading of metadata raise at damaged files.
_UNREADABLE = (OSError, LookupError, ValueError, TypeError, AttributeError, ArithmeticError)
# Reports that are counted at once: tens of megabytes of their cells.
_COUNTED_AT_ONCE = 1 << 20


def part_content(payloads: Payloads, device: str) -> bytes:
    """The file of (n, width) payloads, sorted as bytes: the order in which they came says who was early.

    `device` is the digest of the device part. The same payloads give the same bytes with the same pyarrow.
    """
    arrow, parquet = _pyarrow()
    ordered = sorted_payloads(payloads)
    size = max(1, min(BLOCK_REPORTS, _BLOCK_BYTES // payloads.shape[1]))
    blocks = [ordered[start : start + size] for start in range(0, len(ordered), size)]
    terms = {"sordino_version": str(PROTOCOL_VERSION), "device": device, "width": str(payloads.shape[1])}
    schema = arrow.schema(_columns(arrow), metadata=terms)
    columns = {"reports": [len(block) for block in blocks], "payloads": [block.tobytes() for block in blocks]}
    sink = io.BytesIO()
    parquet.write_table(
        arrow.table(columns, schema=schema),
        sink,
        compression="zstd",
        use_dictionary=False,
        write_statistics=False,
        row_group_size=PART.group_rows,
    )
    return sink.getvalue()


def sorted_payloads(payloads: Payloads) -> Payloads:
    """(n, width) the rows in the order of their bytes."""
    width = payloads.shape[1]
    whole = np.ascontiguousarray(payloads)
    if width <= 2:
        # To count the few different payloads takes a tenth of the time of sorting them.
        kind = np.dtype(f">u{width}")
        values, counts = whole.view(kind).ravel(), np.zeros(1 << 8 * width, dtype=np.int64)
        for start in range(0, len(values), _COUNTED_AT_ONCE):
            counts += np.bincount(values[start : start + _COUNTED_AT_ONCE], minlength=len(counts))
        return np.repeat(np.arange(len(counts)).astype(kind), counts).view(np.uint8).reshape(-1, width)
    # Text of one length is compared byte by byte.
    return np.sort(whole.view(f"S{width}"), axis=None).view(np.uint8).reshape(-1, width)


def archived_part(name: str, reports: int, content: bytes) -> ArchivedPart:
    """What a manifest says of the file."""
    return ArchivedPart(name, reports, len(content), hashlib.sha256(content).hexdigest())


def sums_of_part(randomizer: AnyRandomizer, device: str, url: str, part: ArchivedPart) -> Aggregate:
    """What the reports of a part add up to; `device` is the digest of the device part, `url` the archive's folder.

    Raises BadPart where the file is missing, is not the one of the manifest, or holds other reports than it says.
    """
    content = _content(url, part)
    if content is None:
        raise BadPart(part.name, "is missing")
    if len(content) != part.size or hashlib.sha256(content).hexdigest() != part.sha256:
        raise BadPart(part.name, "is not the file that the manifest names")
    sums, count = Aggregate.empty(randomizer).sums, 0
    for payloads in _blocks(part, content, device, randomizer.payload_bytes):
        if not in_alphabet(randomizer, payloads).all():
            raise BadPart(part.name, "holds payloads that no device of this round sends")
        add_payloads(randomizer, payloads, sums)
        count += len(payloads)
    if count != part.reports:
        raise BadPart(part.name, f"holds {quantity(count, 'report')}, the manifest says {part.reports}")
    return Aggregate(count, sums)


def _content(url: str, part: ArchivedPart) -> bytes | None:
    folder = Folder.open(url)
    try:
        # One byte more shows that a file is too long, however long it is.
        return folder.read(part.name, part.size + 1)
    except MemoryError as error:
        raise BadPart(part.name, "needs more memory than there is here") from error


def _blocks(part: ArchivedPart, content: bytes, device: str, width: int) -> Iterator[Payloads]:
    """The blocks of a part, one row at a time; what it would unpack to is known before."""
    arrow, parquet = _pyarrow()
    try:
        _check_rows(part, checked_rows(content, PART))
        file = parquet.ParquetFile(
            arrow.BufferReader(content),
            thrift_string_size_limit=PART.footer_bytes,
            thrift_container_size_limit=PART.footer_bytes,
        )
        _check_schema(part, file, device, width)
        for batch in file.iter_batches(batch_size=1, columns=["reports", "payloads"], use_threads=False):
            yield _block(part, batch.column(0)[0].as_py(), batch.column(1)[0], width)
    except (
        arrow.ArrowException,
        OSError,
        LookupError,
        ValueError,
        TypeError,
        AttributeError,
        ArithmeticError,
    ) as error:
        raise BadPart(part.name, f"cannot be read as Parquet: {error}") from error
    except MemoryError as error:
        raise BadPart(part.name, "needs more memory than there is here") from error


def _check_schema(part: ArchivedPart, file: Any, device: str, width: int) -> None:
    terms = file.schema_arrow.metadata or {}
    if (terms.get(b"device"), terms.get(b"width")) != (device.encode(), str(width).encode()):
        raise BadPart(part.name, "holds reports of another plan")
    if list(zip(file.schema_arrow.names, file.schema_arrow.types, strict=True)) != _columns(check_archives()):
        raise BadPart(part.name, f"has other columns than a part: {', '.join(file.schema_arrow.names)}")


def _check_rows(part: ArchivedPart, rows: int) -> None:
    if part.reports > rows * BLOCK_REPORTS:
        found = f"has {quantity(rows, 'row')} for {quantity(part.reports, 'report')}"
        raise BadPart(part.name, f"{found}, {BLOCK_REPORTS:,} a row at most")


def _block(part: ArchivedPart, reports: int, payloads: Any, width: int) -> Payloads:
    """(reports, width) the payloads of a row."""
    if not 0 <= reports <= BLOCK_REPORTS:
        raise BadPart(part.name, f"has a row of {quantity(reports, 'report')}, {BLOCK_REPORTS:,} a row at most")
    found = np.frombuffer(payloads.as_buffer(), dtype=np.uint8)
    if len(found) != reports * width:
        raise BadPart(
            part.name, f"has a block of {quantity(len(found), 'byte')} for {quantity(reports, 'report')} of {width}"
        )
    return found.reshape(-1, width)


def _columns(arrow: Any) -> list[tuple[str, Any]]:
    return [("reports", arrow.int32()), ("payloads", arrow.large_binary())]


def _pyarrow() -> tuple[Any, Any]:
    arrow = check_archives()
    from pyarrow import parquet

    return arrow, parquet
