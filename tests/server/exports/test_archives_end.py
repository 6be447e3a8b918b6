"""Retention holds for archives: their files go with the reports, or both stay and the reason is said."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sordino_analysis.archive.archive import Archive
from sordino_server import aggregates, archives
from sordino_server.archives import ArchiveKept
from sordino_server.campaigns import retention
from sordino_server.exports import archiving
from sordino_server.exports.archiving import ExportTerms, archive_folder, archived_round, export_round
from sordino_server.keys import service as keys
from sordino_server.keys.source_terms import SourceTerms
from sordino_server.models import Role


class Ended:
    """A campaign of a running server that is estimated, with reports in several parts."""

    def __init__(self, running: Any) -> None:
        self.running = running
        self.campaign = running.campaign("open")
        for seed in range(3):
            assert running.report(self.campaign, [0, 1, 2, 3] * 10, seed).status_code == 200
        running.api.post(f"/v1/campaigns/{self.campaign['id']}/close").raise_for_status()
        running.work()
        running.clock.advance(1)

    def export(self, to: Path, managed: bool = True) -> Path:
        archived = archived_round(self.running.database, self.campaign["id"], 0)
        folder = archive_folder(str(to), archived)
        export_round(self.running.database, archived, folder, ExportTerms(managed, 0))
        return Path(folder.path)

    def purge(self) -> None:
        for old in retention.old_reports(self.running.database, 0, self.running.clock.now()):
            retention.purge(self.running.database, old, self.running.clock.now())

    @property
    def logged(self) -> int:
        with self.running.database.read() as session:
            row = archiving.rounds.find(session, self.campaign["id"], 0)
            return aggregates.repository.logged(session, row.id)


@pytest.fixture
def ended(running: Any, monkeypatch: pytest.MonkeyPatch) -> Ended:
    monkeypatch.setattr(archiving, "PART_BYTES", 1)
    return Ended(running)


def test_the_files_go_with_the_reports(ended: Ended, tmp_path: Path) -> None:
    first, second = ended.export(tmp_path / "a"), ended.export(tmp_path / "b")
    (first / "notes.txt").write_text("mine")
    assert len(list(first.iterdir())) == 3 + 2 + 1
    ended.purge()
    assert [path.name for path in first.iterdir()] == ["notes.txt"]
    assert list(second.iterdir()) == []
    assert ended.logged == 0


def test_an_archive_that_is_not_there_keeps_the_reports(ended: Ended, tmp_path: Path) -> None:
    """Not there may mean that this is another machine; nothing of it is taken for deleted."""
    folder = ended.export(tmp_path / "lake")
    moved = folder.rename(tmp_path / "elsewhere")
    with pytest.raises(ArchiveKept, match="export forget"):
        ended.purge()
    assert ended.logged == 120
    with ended.running.database.write("forget") as session:
        assert archives.give_to_operator(session, str(folder))
    ended.purge()
    assert ended.logged == 0
    assert len(list(moved.iterdir())) == 5


def test_files_of_another_archive_are_not_deleted(ended: Ended, tmp_path: Path) -> None:
    folder = ended.export(tmp_path / "lake")
    (folder / f"_manifest-{'0' * 64}.json").write_bytes(b"{}")
    with pytest.raises(ArchiveKept, match="another archive"):
        ended.purge()
    assert len(list(folder.iterdir())) == 6


@pytest.mark.parametrize("left", [0, 1, 4])
def test_a_deletion_that_broke_off_is_finished(
    ended: Ended, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: int
) -> None:
    folder = ended.export(tmp_path / "lake")
    deleted: list[str] = []
    delete = archives.deleting.Folder.delete

    def some(self: Any, name: str) -> None:
        if len(deleted) == 5 - left:
            raise KeyboardInterrupt
        deleted.append(name)
        delete(self, name)

    with monkeypatch.context() as patch:
        patch.setattr(archives.deleting.Folder, "delete", some)
        # With none left it is broken off after the last file, before the row goes.
        patch.setattr(archives.repository, "forget", lambda *_: some(None, ""))
        with pytest.raises(KeyboardInterrupt):
            ended.purge()
    assert len(list(folder.iterdir())) == left
    assert ended.logged == 120
    ended.purge()
    assert list(folder.iterdir()) == []
    assert ended.logged == 0


def test_an_export_that_broke_off_is_deleted_too(ended: Ended, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = archiving.Folder.write

    def some(self: Any, name: str, content: bytes) -> None:
        if name == "part-00002.parquet":
            raise KeyboardInterrupt
        write(self, name, content)

    with monkeypatch.context() as patch:
        patch.setattr(archiving.Folder, "write", some)
        with pytest.raises(KeyboardInterrupt):
            ended.export(tmp_path / "lake")
    assert len(list(tmp_path.rglob("part-*"))) == 2
    ended.purge()
    assert list(tmp_path.rglob("part-*")) == []


def test_what_is_exported_while_the_log_goes_is_not_left(
    ended: Ended, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = archiving.Folder.write

    def purged_meanwhile(self: Any, name: str, content: bytes) -> None:
        if name == "part-00001.parquet":
            ended.purge()
        write(self, name, content)

    monkeypatch.setattr(archiving.Folder, "write", purged_meanwhile)
    with pytest.raises(aggregates.LogPurged):
        ended.export(tmp_path / "lake")
    assert list(tmp_path.rglob("part-*")) == []


def test_one_archive_out_of_reach_keeps_no_other_round(ended: Ended, running: Any, tmp_path: Path) -> None:
    """The worker's retention goes on with the next round."""
    shutil.rmtree(ended.export(tmp_path / "lake"))
    other = running.campaign("open", epsilon=2)
    running.report(other, [0, 1, 2, 3])
    running.api.post(f"/v1/campaigns/{other['id']}/cancel").raise_for_status()
    running.clock.advance(86400)
    running.settings = running.settings.model_copy(update={"raw_report_retention_days": 1})
    running.worker().purge()
    kept = retention.old_reports(running.database, 0, running.clock.now())
    assert [(each.campaign, each.reports) for each in kept] == [(ended.campaign["id"], 120)]


def test_archives_by_hand_stay(ended: Ended, tmp_path: Path) -> None:
    ended.export(tmp_path)
    folder = ended.export(tmp_path, managed=False)
    ended.purge()
    assert Archive.open(str(folder)).manifest.reports == 120
    assert ended.logged == 0


def test_sums_of_an_own_archive_are_not_counted_twice(running: Any, tmp_path: Path, monkeypatch: Any) -> None:
    campaign = running.campaign("open")
    running.report(campaign, [0, 1, 2, 3] * 10)
    with running.database.write("key") as session:
        keys.create(session, "eu", Role.AGGREGATOR, 0, campaign["id"], SourceTerms("eu", 100))
    running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    archived = archived_round(running.database, campaign["id"], 0)
    folder = archive_folder(str(tmp_path), archived)
    export_round(running.database, archived, folder, ExportTerms(True, 0))
    archive = Archive.open(folder.url)
    sums = replace(archive.sums(archive.chosen(None, None)), source="eu")
    path = f"/v1/campaigns/{campaign['id']}/rounds/0/aggregates"
    answer = running.api.post(path, content=sums.content, headers={"Content-Type": "application/cbor"})
    assert (answer.status_code, "this server's own reports" in answer.text) == (409, True)
