"""Archives whose digests fit and whose content does not: every one is refused by the name of a file."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from benchmarks.scale_out.archives import archive_of
from sordino_analysis.archive.archive import Archive
from sordino_analysis.archive.errors import ArchiveError, BadPart
from sordino_shared.randomness import SeededRandomness
from tests.randomizers import RESPONSE

PAYLOADS = bytes([0, 1, 2, 3, 4] * 2)
COLUMNS = [("reports", pa.int32()), ("payloads", pa.large_binary())]
WHOLE = [[10], [PAYLOADS]]


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    """Three parts of ten reports."""
    payloads = RESPONSE.randomize_many(np.arange(30) % 5, SeededRandomness(5))
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
