"""A log as an archive: what its parts add up to, and that nothing but what the manifest lists is added up."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import delete, select

from sordino_analysis.archive.aggregate_document import AggregateDocument, added
from sordino_analysis.archive.archive import Archive
from sordino_analysis.archive.engines import ProcessEngine
from sordino_analysis.archive.errors import ArchiveError, BadPart
from sordino_analysis.archive.manifest import ArchiveManifest, part_name
from sordino_analysis.archive.parts import archived_part, part_content
from sordino_analysis.vectorized.arrays import array_of
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_server import aggregates
from sordino_server.aggregates import AggregateMismatch
from sordino_server.archives import archiving
from sordino_server.archives.archiving import archive_folder, archived_round, write_archive
from sordino_server.kit.db import Database
from sordino_server.models import ReportChunk, Round
from sordino_server.rounds import RoundNotFound
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import (
    AnyRandomizer,
    Coarsened,
    FieldLabel,
    GridPartition,
    Level,
    RandomizedResponse,
    SeededDirection,
    SubsetSelection,
)

ONE = PureEpsilon(10**9)
CHUNKS, IN_CHUNK = 13, 40
REPORTS = CHUNKS * IN_CHUNK
RANDOMIZERS: dict[str, AnyRandomizer] = {
    "a byte": RandomizedResponse.for_guarantee(200, ONE),
    "two bytes": RandomizedResponse.for_guarantee(300, ONE),
    "a set": SubsetSelection.for_guarantee(30, 11, ONE),
    "a direction": SeededDirection(
        60, array_of(np.eye(30, dtype=np.int32), "<i4"), array_of(np.full(30, 7 << 57, dtype=np.uint64), "<u8")
    ),
    "a label": Coarsened.for_guarantee((1 << 10,), (Level(1 << 32, GridPartition((1,)), FieldLabel(2), b"\x01"),), ONE),
}
Fault = Callable[[Path], None]


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    database = Database(request.getfixturevalue(f"migrated_{request.param}_url"))
    yield database
    database.close()


@pytest.fixture
def sqlite(migrated_sqlite_url: str) -> Iterator[Database]:
    database = Database(migrated_sqlite_url)
    yield database
    database.close()


def closed_round(database: Database, store_round: Any, randomizer: AnyRandomizer) -> Any:
    """A closed round with 520 reports in 13 chunks, between those of another round."""
    stored, other = store_round(database, randomizer), store_round(database, randomizer)
    payloads = randomize_many(randomizer, np.arange(REPORTS) % 30, SeededRandomness(3))
    with database.write("log") as session:
        for number, chunk in enumerate(np.split(payloads, CHUNKS)):
            aggregates.add_chunk(session, stored.id, IN_CHUNK, chunk.tobytes(), 0)
            aggregates.add_chunk(session, other.id, IN_CHUNK, chunk.tobytes(), number)
        aggregates.put_shard(session, stored.id, "a", REPORTS, b"")
        session.get_one(Round, stored.id).state = "closed"
    return stored


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of about 200 reports of a byte."""
    monkeypatch.setattr(archiving, "PART_BYTES", 200)


def exported(database: Database, stored: Any, folder: Path) -> tuple[Archive, ArchiveManifest]:
    archived = archived_round(database, stored.campaign, 0)
    place = archive_folder(str(folder), archived)
    manifest = write_archive(database, archived, place)
    return Archive.open(place.url), manifest


@pytest.mark.parametrize("name", list(RANDOMIZERS))
def test_an_archive_adds_up_to_the_bytes_of_the_log(database, store_round, tmp_path, small_parts, name):
    randomizer = RANDOMIZERS[name]
    stored = closed_round(database, store_round, randomizer)
    archive, manifest = exported(database, stored, tmp_path)
    expected = aggregates.re_aggregate(database, stored.id, randomizer, REPORTS)
    assert 1 < len(manifest.parts) <= CHUNKS
    whole = archive.sums(archive.chosen(None, None))
    assert (whole.count, whole.sums) == (REPORTS, expected.to_bytes())
    assert AggregateDocument.read(whole.content) == whole
    some = [archive.sums(archive.chosen(*ends)) for ends in ((1, len(manifest.parts) - 1), (0, 0))]
    assert added(some).content == whole.content
    assert added(some[:1]).missing == 1


def test_two_processes_add_up_to_the_bytes_of_one(sqlite, store_round, tmp_path, small_parts):
    archive, manifest = exported(sqlite, closed_round(sqlite, store_round, RANDOMIZERS["a direction"]), tmp_path)
    numbers = archive.chosen(None, None)
    assert archive.sums(numbers, ProcessEngine(2)).content == archive.sums(numbers).content
    (Path(archive.folder.path) / manifest.parts[2].name).unlink()
    with pytest.raises(BadPart, match=r"part-00002\.parquet is missing"):
        archive.sums(numbers, ProcessEngine(2))


def test_no_order_of_arrival_and_no_id_is_in_a_part(sqlite, store_round, tmp_path, small_parts):
    from pyarrow import parquet

    archive, manifest = exported(sqlite, closed_round(sqlite, store_round, RANDOMIZERS["two bytes"]), tmp_path)
    for part in manifest.parts:
        table = parquet.read_table(Path(archive.folder.path) / part.name)
        assert table.schema.names == ["reports", "payloads"]
        assert set(table.schema.metadata) == {b"sordino_version", b"device", b"width"}
        payloads = b"".join(table.column("payloads").to_pylist())
        rows = [payloads[start : start + 2] for start in range(0, len(payloads), 2)]
        assert rows == sorted(rows)
        assert len(rows) == part.reports


def test_an_export_that_was_broken_off_goes_on_to_the_same_manifest(sqlite, store_round, tmp_path, small_parts):
    stored = closed_round(sqlite, store_round, RANDOMIZERS["a byte"])
    archive, manifest = exported(sqlite, stored, tmp_path)
    folder = Path(archive.folder.path)
    kept = {path.name: path.stat().st_mtime_ns for path in folder.glob("part-*")}
    (folder / manifest.name).unlink()
    (folder / manifest.parts[0].name).unlink()
    (folder / manifest.parts[1].name).write_bytes(b"half")
    with pytest.raises(ArchiveError, match="no finished archive"):
        Archive.open(archive.folder.url)
    _, again = exported(sqlite, stored, tmp_path)
    assert again == manifest
    unchanged = {path.name for path in folder.glob("part-*") if path.stat().st_mtime_ns == kept[path.name]}
    assert unchanged == set(kept) - {part.name for part in manifest.parts[:2]}


def test_an_export_with_other_parts_leaves_a_finished_archive_as_it_is(sqlite, store_round, tmp_path, monkeypatch):
    stored = closed_round(sqlite, store_round, RANDOMIZERS["a byte"])
    monkeypatch.setattr(archiving, "PART_BYTES", 200)
    archive, _ = exported(sqlite, stored, tmp_path)
    expected = archive.sums(archive.chosen(None, None))
    # Another version of the software, or of pyarrow, may cut or write parts in another way.
    for size in (100, 300):
        monkeypatch.setattr(archiving, "PART_BYTES", size)
        with pytest.raises(InvalidValue, match="another archive's _manifest"):
            exported(sqlite, stored, tmp_path)
        assert archive.sums(archive.chosen(None, None)) == expected
    monkeypatch.setattr(archiving, "PART_BYTES", 200)
    (Path(archive.folder.path) / "part-00001.parquet").write_bytes(b"half")
    exported(sqlite, stored, tmp_path)
    assert archive.sums(archive.chosen(None, None)) == expected


def remove(part: Path) -> None:
    part.unlink()


def flip(part: Path) -> None:
    content = bytearray(part.read_bytes())
    content[60] ^= 1
    part.write_bytes(content)


def halve(part: Path) -> None:
    part.write_bytes(part.read_bytes()[: part.stat().st_size // 2])


def overwrite(part: Path) -> None:
    part.write_bytes(part.with_name("part-00000.parquet").read_bytes())


@pytest.mark.parametrize("fault", [remove, flip, halve, overwrite])
def test_a_damaged_part_is_refused_by_its_name(sqlite, store_round, tmp_path, small_parts, fault: Fault):
    archive, manifest = exported(sqlite, closed_round(sqlite, store_round, RANDOMIZERS["a byte"]), tmp_path)
    fault(Path(archive.folder.path) / manifest.parts[1].name)
    with pytest.raises(BadPart, match=r"part-00001\.parquet"):
        archive.sums(archive.chosen(None, None))
    assert archive.sums(archive.chosen(0, 0)).count == manifest.parts[0].reports


def crafted(archive: Archive, manifest: ArchiveManifest, content: bytes, reports: int) -> Archive:
    """The archive as somebody would leave it who writes part 1 anew, and a manifest of its digest."""
    part = archived_part(part_name(1), reports, content)
    (Path(archive.folder.path) / part.name).write_bytes(content)
    parts = (manifest.parts[0], part, *manifest.parts[2:])
    (Path(archive.folder.path) / manifest.name).unlink()
    changed = replace(manifest, parts=parts)
    (Path(archive.folder.path) / changed.name).write_bytes(changed.content)
    return Archive.open(archive.folder.url)


@pytest.mark.parametrize("fault", ["width", "plan", "alphabet", "count", "text"])
def test_a_part_that_is_listed_and_wrong_is_refused_by_its_name(sqlite, store_round, tmp_path, small_parts, fault: str):
    archive, manifest = exported(sqlite, closed_round(sqlite, store_round, RANDOMIZERS["two bytes"]), tmp_path)
    device, two = str(archive.device.digest), np.zeros((40, 2), dtype=np.uint8)
    content = part_content(two, device)
    crafts = {
        "width": (part_content(np.zeros((40, 1), dtype=np.uint8), device), 40, "another plan"),
        "plan": (part_content(two, "0" * 64), 40, "another plan"),
        "alphabet": (part_content(two + 255, device), 40, "no device of this round sends"),
        "count": (content, 41, "holds 40 reports, the manifest says 41"),
        "text": (b"PAR1 and no more", 40, "cannot be read as Parquet"),
    }
    content, reports, told = crafts[fault]
    wrong = crafted(archive, manifest, content, reports)
    with pytest.raises(BadPart, match=rf"part-00001\.parquet .*{told}"):
        wrong.sums(wrong.chosen(None, None))


def test_files_that_are_not_listed_are_not_read(sqlite, store_round, tmp_path, small_parts):
    archive, manifest = exported(sqlite, closed_round(sqlite, store_round, RANDOMIZERS["a byte"]), tmp_path)
    before = archive.sums(archive.chosen(None, None))
    folder = Path(archive.folder.path)
    (folder / "part-00099.parquet").write_bytes((folder / manifest.parts[0].name).read_bytes())
    again = Archive.open(archive.folder.url)
    assert again.sums(again.chosen(None, None)) == before


def test_an_altered_manifest_is_refused(sqlite, store_round, tmp_path, small_parts):
    archive, manifest = exported(sqlite, closed_round(sqlite, store_round, RANDOMIZERS["a byte"]), tmp_path)
    path = Path(archive.folder.path) / manifest.name
    plain = json.loads(manifest.content)

    def changed(**change: Any) -> bytes:
        return json.dumps(plain | change, sort_keys=True, separators=(",", ":")).encode()

    first = plain["parts"][0]
    for content in (
        b"",
        b"[" * 10_000,
        changed(round=1),
        changed(version=2),
        changed(parts=[*plain["parts"], first]),
        changed(parts=[first | {"name": "../part-00000.parquet"}]),
        changed(parts=[first | {"reports": 0}]),
        changed(width=2),
        manifest.content + b" ",
    ):
        path.write_bytes(content)
        with pytest.raises(ArchiveError, match="_manifest-"):
            Archive.open(archive.folder.url)
    path.write_bytes(manifest.content)
    (path.parent / f"_manifest-{'0' * 64}.json").write_bytes(manifest.content)
    with pytest.raises(ArchiveError, match="2 manifests"):
        Archive.open(archive.folder.url)


def test_sums_of_other_archives_and_of_the_same_part_are_not_added(sqlite, store_round, tmp_path, small_parts):
    archive, _ = exported(sqlite, closed_round(sqlite, store_round, RANDOMIZERS["a byte"]), tmp_path)
    other, _ = exported(sqlite, closed_round(sqlite, store_round, RANDOMIZERS["a byte"]), tmp_path)
    some = archive.sums(archive.chosen(0, 1))
    with pytest.raises(InvalidValue, match="part 1 is in two"):
        added([some, archive.sums(archive.chosen(1, 2))])
    with pytest.raises(InvalidValue, match="one archive"):
        added([some, other.sums(other.chosen(2, 2))])
    with pytest.raises(InvalidValue, match="not 1 to 99"):
        archive.chosen(1, 99)


def test_a_log_that_lost_a_chunk_gets_no_manifest(sqlite, store_round, tmp_path, small_parts):
    stored = closed_round(sqlite, store_round, RANDOMIZERS["a byte"])
    with sqlite.write("lose") as session:
        first = session.scalars(select(ReportChunk.id).where(ReportChunk.round_id == stored.id)).first()
        session.execute(delete(ReportChunk).where(ReportChunk.id == first))
    with pytest.raises(AggregateMismatch):
        exported(sqlite, stored, tmp_path)
    assert not list(tmp_path.rglob("_manifest-*"))


def test_rounds_that_cannot_be_archived(sqlite, store_round):
    stored = store_round(sqlite)
    with pytest.raises(InvalidValue, match="close it"):
        archived_round(sqlite, stored.campaign, 0)
    with pytest.raises(RoundNotFound):
        archived_round(sqlite, stored.campaign, 1)
    closed = closed_round(sqlite, store_round, RANDOMIZERS["a byte"])
    aggregates.purge(sqlite, closed.id, closed.part.randomizer, 5)
    with pytest.raises(aggregates.LogPurged):
        archived_round(sqlite, closed.campaign, 0)
