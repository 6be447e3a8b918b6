"""What a Parquet file would unpack to, from its footer and the heads of its pages, before anything is unpacked.

A page of zeros unpacks to thirty thousand times its bytes. The footer says how much that is, but readers allocate what
the head of each page says, and encodings that files of sordino do not use repeat one value without end. So footer and
heads are read here (parquet.thrift), and are of the one form that such files have. pyarrow is not asked: to look at the
metadata of a damaged column with it (26.0.1) ends the process.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sordino_analysis.parquet_files.compact_thrift import Struct, ThriftReader


@dataclass(frozen=True)
class FileForm:
    """What files called `name` have at most: rows and unpacked bytes of a row group, bytes of the footer."""

    name: str
    group_rows: int
    group_bytes: int
    footer_bytes: int


_MAGIC = b"PAR1"
# The length of the footer and the magic word.
_TAIL_BYTES = 8
_WRITER = b"parquet-cpp-arrow"
# Numbers of fields in parquet.thrift. FileMetaData.
_FILE_GROUPS, _FILE_WRITER = 4, 6
# RowGroup.
_GROUP_COLUMNS, _GROUP_ROWS = 1, 3
# ColumnChunk.
_COLUMN_META = 3
# ColumnMetaData.
_CODEC, _UNPACKED_ALL, _PACKED_ALL, _DATA_AT, _DICTIONARY_AT = 4, 6, 7, 9, 11
# CompressionCodec.
_ZSTD = 6
# PageHeader.
_TYPE, _UNPACKED, _PACKED, _CRC, _DATA_PAGE = 1, 2, 3, 4, 5
# DataPageHeader.
_VALUES, _ENCODING, _DEFINITIONS, _REPETITIONS, _STATISTICS = 1, 2, 3, 4, 5
# PageType and Encoding.
_DATA_PAGE_TYPE, _PLAIN, _RLE = 0, 0, 3


def checked_rows(content: bytes, form: FileForm) -> int:
    """The rows of a file of this form; raises ValueError for any other file, and for one that is larger."""
    footer = _footer(content, form)
    if not footer.get(_FILE_WRITER, b"").startswith(_WRITER):
        # Of other writers pyarrow reads more bytes than the footer names.
        raise ValueError("another program wrote it")
    return sum(_group_rows(content, form, number, group) for number, group in enumerate(footer.get(_FILE_GROUPS, [])))


def _footer(content: bytes, form: FileForm) -> Struct:
    end = len(content) - _TAIL_BYTES
    size = int.from_bytes(content[-_TAIL_BYTES : -len(_MAGIC)], "little")
    if not content.endswith(_MAGIC) or size > end:
        raise ValueError("it ends with no footer")
    if size > form.footer_bytes:
        raise ValueError(f"its footer has {size:,} bytes, that of {form.name} at most {form.footer_bytes:,}")
    return ThriftReader(content, end - size, end).struct()


def _group_rows(content: bytes, form: FileForm, number: int, group: Struct) -> int:
    """The rows of a row group that is no larger than the form has."""
    rows: int = group[_GROUP_ROWS]
    if not 0 <= rows <= form.group_rows:
        raise ValueError(f"row group {number} has {rows:,} rows, one of {form.name} at most {form.group_rows:,}")
    columns = [column[_COLUMN_META] for column in group[_GROUP_COLUMNS]]
    stated = sum(column[_UNPACKED_ALL] for column in columns)
    unpacked = sum(size for column in columns for size in _pages(content, form, column))
    if max(stated, unpacked) > form.group_bytes:
        raise ValueError(
            f"row group {number} unpacks to {max(stated, unpacked):,} bytes, one of {form.name} to at most "
            f"{form.group_bytes:,}"
        )
    return rows


def _pages(content: bytes, form: FileForm, column: Struct) -> Iterator[int]:
    """The unpacked size of every page of a column in a row group."""
    if column[_CODEC] != _ZSTD or _DICTIONARY_AT in column:
        raise ValueError(f"a column has another compression than one of {form.name}, or a dictionary")
    end = column[_DATA_AT] + column[_PACKED_ALL]
    if not 0 <= column[_DATA_AT] <= end <= len(content):
        raise ValueError("a column lies outside of the file")
    reader = ThriftReader(content, column[_DATA_AT], end)
    while reader.at < end:
        head = reader.struct()
        if not _is_plain_page(head, form) or head[_PACKED] > end - reader.at:
            raise ValueError(f"a page has another form than one of {form.name}")
        reader.at += head[_PACKED]
        yield head[_UNPACKED]


def _is_plain_page(head: Struct, form: FileForm) -> bool:
    if {*head} - {_CRC} != {_TYPE, _UNPACKED, _PACKED, _DATA_PAGE}:
        return False
    page = head[_DATA_PAGE]
    encodings = [page.get(field) for field in (_ENCODING, _DEFINITIONS, _REPETITIONS)]
    return (
        head[_TYPE] == _DATA_PAGE_TYPE
        and min(head[_UNPACKED], head[_PACKED]) >= 0
        and encodings == [_PLAIN, _RLE, _RLE]
        and 0 <= page.get(_VALUES, -1) <= form.group_rows
        and not page.get(_STATISTICS)
    )
