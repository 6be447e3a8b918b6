"""Read the estimates of campaigns as a data frame, from a server or from a file that `sordino export` wrote."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Literal

from sordino_analysis.analyst.arguments import NONE, PATH, TEXT, takes
from sordino_analysis.answers.columns import Cell, type_of
from sordino_analysis.answers.frames import as_columns, as_pandas, as_polars
from sordino_analysis.answers.parquet import read_parquet
from sordino_analysis.answers.table import AnswerTable
from sordino_analysis.kinds.reading import UnreadableEstimate, estimate_of
from sordino_shared.errors import InvalidValue, NoAnswer, OversizedDocument, SordinoError
from sordino_shared.http.address import Address
from sordino_shared.http.environment import proxy_for
from sordino_shared.http.exchange import HttpRequest, HttpServer

Frame = Literal["pandas", "polars", "columns"]
# A table of many campaigns; what is refused in the end was on the disk, never in memory.
_MOST, _IN_MEMORY, _WITHIN_S = 256 << 20, 1 << 20, 300.0
_HINT = "read what `sordino export estimates` wrote, or a server's /v1/estimates?campaign=ID"


@takes(source=PATH, key=TEXT | NONE, frame=TEXT | NONE)
def read_estimates(source: str | Path, *, key: str | None = None, frame: Frame | None = None) -> Any:
    """Estimates of campaigns with one row for each query: a data frame, or a dict of columns.

    `source` is a .csv, .json or .parquet file that `sordino export estimates` wrote, or an address of a server, with an
    operator's `key`: http://…/v1/estimates?campaign=ID&campaign=ID, or `estimates`, `answers` or `series` of a campaign
    and `answers` of a release. `frame` chooses what is
    returned; by default a pandas DataFrame where pandas is installed, else a polars DataFrame, else columns: each
    number a float array (n,) with NaN for an empty cell, each integer an int64 array (n,) where no cell is empty, each
    text a list with None. Raises SordinoError where the table cannot be read, is of something else, or needs a library
    that is not installed.

    >>> import json, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "delays.json")
    >>> row = {"campaign": "delays", "kind": "prefix", "delay_high": 15.0, "value": 0.75, "users": 1000}
    >>> _ = path.write_text(json.dumps({"rows": [row]}))
    >>> columns = read_estimates(path, frame="columns")
    >>> columns["delay_high"], columns["users"], columns["kind"]
    (array([15.]), array([1000]), ['prefix'])
    """
    text = str(source)
    table = _fetched(text, key) if text.startswith(("http://", "https://")) else _read(Path(source))
    return _FRAMES[frame or _installed()](table)


def _read(path: Path) -> AnswerTable:
    readers: dict[str, Callable[[Path], AnswerTable]] = {
        ".csv": lambda path: _of_csv(path.read_bytes().decode("utf-8-sig"), str(path)),
        ".json": lambda path: _of_json(path.read_bytes(), str(path)),
        ".parquet": read_parquet,
    }
    if path.suffix.lower() not in readers:
        raise InvalidValue(f"{path}: the name of the file ends with none of {', '.join(readers)}", path)
    try:
        return readers[path.suffix.lower()](path)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SordinoError(f"{path}: cannot be read: {error}") from error


def _fetched(address: str, key: str | None) -> AnswerTable:
    """The table that a server answers with; it is bounded, and no redirect takes the key to another address."""
    host, path = Address.parse_url(address)
    headers = {"Accept": "application/json"} | ({} if key is None else {"Authorization": f"Bearer {key}"})
    request = HttpRequest(method="GET", path=path, limit=_MOST, within_s=_WITHIN_S, headers=headers)
    try:
        answer = HttpServer(address=host, proxy=proxy_for(host), room=_room).exchange(request)
    except (NoAnswer, OversizedDocument) as error:
        raise SordinoError(f"{address}: cannot be fetched: {error}") from error
    if not answer.is_success:
        raise SordinoError(f"{address}: the server answers {answer.status}{_detail(answer.content())}")
    if answer.headers.get("content-type", "").partition(";")[0].strip().lower() == "text/csv":
        try:
            return _of_csv(answer.content().decode("utf-8"), address)
        except UnicodeDecodeError as error:
            raise SordinoError(f"{address}: is not UTF-8: {error}") from error
    return _of_json(answer.content() if answer.begins_with(b"{") else b"", address)


def _room() -> IO[bytes]:
    return SpooledTemporaryFile(max_size=_IN_MEMORY)


def _detail(content: bytes) -> str:
    """The reason in a problem document, if that is what was sent."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return ""
    return f": {document['detail']}" if isinstance(document, dict) and "detail" in document else ""


def _of_json(content: bytes, name: str) -> AnswerTable:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise SordinoError(f"{name}: is not JSON: {error}") from error
    if isinstance(document, dict) and "kind" in document:
        return _of_document(document, name)
    rows = document.get("rows") if isinstance(document, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise SordinoError(f"{name}: holds no table of estimates: {_HINT}")
    return _table(rows, name)


def _of_document(document: dict[str, Any], name: str) -> AnswerTable:
    try:
        return estimate_of(document).table
    except UnreadableEstimate as error:
        raise SordinoError(f"{name}: {error}") from error


def _of_csv(text: str, name: str) -> AnswerTable:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header = next(reader, [])
    if "campaign_id" not in header:
        raise SordinoError(f"{name}: holds no table of estimates: {_HINT}")
    rows = list(reader)
    for row in rows:
        if len(row) != len(header):
            raise SordinoError(f"{name}: a row has {len(row)} fields, the header has {len(header)}")
    columns = {column: _typed(column, [row[place] for row in rows], name) for place, column in enumerate(header)}
    return _table([dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)], name)


def _typed(column: str, texts: list[str], name: str) -> list[Cell]:
    """The cells of a column of CSV; those of an attribute's bounds are integers where all of them are written so."""
    kind = type_of(column)
    if kind == "text":
        return [text or None for text in texts]
    if kind == "truth":
        return [text == "true" if text else None for text in texts]
    whole = kind == "integer" or (kind is None and all(text.removeprefix("-").isdigit() for text in texts if text))
    try:
        return [(int(text) if whole else float(text)) if text else None for text in texts]
    except ValueError as error:
        raise SordinoError(f"{name}: column {column!r} holds a cell that is no number: {error}") from error


def _table(rows: Sequence[dict[str, Cell]], name: str) -> AnswerTable:
    try:
        return AnswerTable.of_rows(rows)
    except InvalidValue as error:
        raise SordinoError(f"{name}: {error}") from error


def _installed() -> Frame:
    return "pandas" if find_spec("pandas") else "polars" if find_spec("polars") else "columns"


_FRAMES: dict[Frame, Callable[[AnswerTable], Any]] = {
    "pandas": as_pandas,
    "polars": as_polars,
    "columns": as_columns,
}
