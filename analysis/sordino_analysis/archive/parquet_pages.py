"""What a Parquet file would unpack to, from its footer and the heads of its pages, before anything is unpacked.

A page of zeros unpacks to thirty thousand times its bytes. The footer says how much that is, but readers allocate what
the head of each page says, and encodings that a part does not use repeat one value without end. So footer and heads
are read here (parquet.thrift), and are of the one form that a part has. pyarrow is not asked: to look at the metadata
of a damaged column with it (26.0.1) ends the process.
"""

from __future__ import annotations

from collections.abc import Iterator

from sordino_analysis.archive.compact_thrift import Struct, ThriftReader

# A row group, and its rows: a part has 32 MiB and 16 at most.
MAX_GROUP_BYTES = 1 << 26
MAX_GROUP_ROWS = 16
# A row group has 125 bytes of a footer; read into objects it has thirty times as many.
MAX_FOOTER_BYTES = 1 << 16

_MAGIC = b"PAR1"
_TAIL_BYTES = 8
_WRITER = b"parquet-cpp-arrow"
# parquet.thrift: FileMetaData, RowGroup, ColumnChunk, ColumnMetaData.
_FILE_GROUPS, _FILE_WRITER = 4, 6
_GROUP_COLUMNS, _GROUP_ROWS = 1, 3
_COLUMN_META = 3
_CODEC, _UNPACKED_ALL, _PACKED_ALL, _DATA_AT, _DICTIONARY_AT = 4, 6, 7, 9, 11
_ZSTD = 6
# PageHeader and DataPageHeader.
_TYPE, _UNPACKED, _PACKED, _CRC, _DATA_PAGE = 1, 2, 3, 4, 5
_VALUES, _ENCODING, _DEFINITIONS, _REPETITIONS, _STATISTICS = 1, 2, 3, 4, 5
_DATA_PAGE_TYPE, _PLAIN, _RLE = 0, 0, 3


def checked_rows(content: bytes) -> int:
    """The rows of a file in the form of a part; raises ValueError for any other file, and for one that is larger."""
    footer = _footer(content)
    if not footer.get(_FILE_WRITER, b"").startswith(_WRITER):
        # Of other writers pyarrow reads more bytes than the footer names.
        raise ValueError("another program wrote it")
    return sum(_group_rows(content, number, group) for number, group in enumerate(footer.get(_FILE_GROUPS, [])))


def _footer(content: bytes) -> Struct:
    end = len(content) - _TAIL_BYTES
    size = int.from_bytes(content[-_TAIL_BYTES : -len(_MAGIC)], "little")
    if not content.endswith(_MAGIC) or size > end:
        raise ValueError("it ends with no footer")
    if size > MAX_FOOTER_BYTES:
        raise ValueError(f"its footer has {size:,} bytes, that of a part at most {MAX_FOOTER_BYTES:,}")
    return ThriftReader(content, end - size, end).struct()


def _group_rows(content: bytes, number: int, group: Struct) -> int:
    """The rows of a row group that is no larger than one of a part."""
    rows: int = group[_GROUP_ROWS]
    if not 0 <= rows <= MAX_GROUP_ROWS:
        raise ValueError(f"row group {number} has {rows:,} rows, one of a part at most {MAX_GROUP_ROWS}")
    columns = [column[_COLUMN_META] for column in group[_GROUP_COLUMNS]]
    stated = sum(column[_UNPACKED_ALL] for column in columns)
    unpacked = sum(size for column in columns for size in _pages(content, column))
    if max(stated, unpacked) > MAX_GROUP_BYTES:
        raise ValueError(
            f"row group {number} unpacks to {max(stated, unpacked):,} bytes, one of a part to at most "
            f"{MAX_GROUP_BYTES:,}"
        )
    return rows


def _pages(content: bytes, column: Struct) -> Iterator[int]:
    """The unpacked size of every page of a column in a row group."""
    if column[_CODEC] != _ZSTD or _DICTIONARY_AT in column:
        raise ValueError("a column has another compression than one of a part, or a dictionary")
    end = column[_DATA_AT] + column[_PACKED_ALL]
    if not 0 <= column[_DATA_AT] <= end <= len(content):
        raise ValueError("a column lies outside of the file")
    reader = ThriftReader(content, column[_DATA_AT], end)
    while reader.at < end:
        head = reader.struct()
        if not _is_plain_page(head) or head[_PACKED] > end - reader.at:
            raise ValueError("a page has another form than one of a part")
        reader.at += head[_PACKED]
        yield head[_UNPACKED]


def _is_plain_page(head: Struct) -> bool:
    if {*head} - {_CRC} != {_TYPE, _UNPACKED, _PACKED, _DATA_PAGE}:
        return False
    page = head[_DATA_PAGE]
    encodings = [page.get(field) for field in (_ENCODING, _DEFINITIONS, _REPETITIONS)]
    return (
        head[_TYPE] == _DATA_PAGE_TYPE
        and min(head[_UNPACKED], head[_PACKED]) >= 0
        and encodings == [_PLAIN, _RLE, _RLE]
        and 0 <= page.get(_VALUES, -1) <= MAX_GROUP_ROWS
        and not page.get(_STATISTICS)
    )
