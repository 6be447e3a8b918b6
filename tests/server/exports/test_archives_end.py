"""Retention holds for archives: their files go with the reports, or both stay and the reason is said."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from sqlalchemy import text
from typer.testing import CliRunner

from sordino_analysis.archive.archive import Archive
from sordino_server import aggregates, archives
from sordino_server.archives import ArchiveKept, archiving
from sordino_server.archives.archiving import ExportTerms, archive_folder, archived_round, export_round
from sordino_server.archives.deleting import LocalFiles
from sordino_server.campaigns import retention
from sordino_server.cli import app
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

    def export(self, to: Path | str, managed: bool = True) -> Path:
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


@pytest.mark.parametrize("written", [str, lambda path: f"file://{quote(str(path))}"])
def test_files_of_this_machine_go_without_pyarrow(
    ended: Ended, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: Any
) -> None:
    """As in the image, whose worker has none."""
    folder = ended.export(written(tmp_path / "a b"))
    assert list(folder.iterdir())
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    ended.purge()
    assert list(folder.iterdir()) == []
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
    delete = LocalFiles.delete

    def some(self: Any, name: str) -> None:
        if len(deleted) == 5 - left:
            raise KeyboardInterrupt
        deleted.append(name)
        delete(self, name)

    with monkeypatch.context() as patch:
        patch.setattr(LocalFiles, "delete", some)
        # With none left it is broken off after the last file, before the row goes.
        patch.setattr(archives.repository, "forget", lambda *_: some(None, ""))
        with pytest.raises(KeyboardInterrupt):
            ended.purge()
    assert len(list(folder.iterdir())) == left
    assert ended.logged == 120
    ended.purge()
    assert list(folder.iterdir()) == []
    assert ended.logged == 0


def break_off(monkeypatch: pytest.MonkeyPatch, ended: Ended, to: Path, at: str, after: bool = False) -> None:
    """Export, and stop before or after the write of the first file whose name begins with `at`."""
    write = archiving.Folder.write

    def some(self: Any, name: str, content: bytes) -> None:
        if after or not name.startswith(at):
            write(self, name, content)
        if name.startswith(at):
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(archiving.Folder, "write", some)
        with pytest.raises(KeyboardInterrupt):
            ended.export(to)


def test_an_export_that_broke_off_is_deleted_too(ended: Ended, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    break_off(monkeypatch, ended, tmp_path / "lake", "part-00002")
    [first, _] = sorted(tmp_path.rglob("part-*"))
    # As a killed process leaves what it was writing.
    first.with_name(".part-00002.parquet.unfinished").write_bytes(first.read_bytes())
    ended.purge()
    assert list(first.parent.iterdir()) == []


def test_a_manifest_of_an_export_that_broke_off_is_known(
    ended: Ended, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken off right before and right after the manifest is there: both go on, and both are deleted with the log."""
    before, after, again = tmp_path / "before", tmp_path / "after", tmp_path / "again"
    for folder, is_after in [(before, False), (after, True), (again, False)]:
        break_off(monkeypatch, ended, folder, "_manifest", is_after)
    assert [len(list(folder.rglob("_manifest*"))) for folder in (before, after)] == [0, 1]
    for folder in (after, again):
        manifest = Archive.open(str(ended.export(folder))).manifest
        assert manifest.reports == 120
    break_off(monkeypatch, ended, after, "_manifest", after=True)
    with ended.running.database.read() as session:
        row = archiving.rounds.find(session, ended.campaign["id"], 0)
        noted = [each.manifest for each in archives.repository.of_round(session, row.id)]
    assert noted == [str(manifest.digest)] * 3
    ended.purge()
    assert list(tmp_path.rglob("campaign=*/round=0/*")) == []
    assert ended.logged == 0


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


def test_nothing_goes_where_the_reports_do_not_add_up(
    ended: Ended, running: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Log and archives are what is left of what was counted; the command goes on with the next round and fails."""
    folder = ended.export(tmp_path / "lake")
    files = sorted(path.name for path in folder.iterdir())
    with running.database.write("tamper") as session:
        session.execute(text("UPDATE accumulators SET count = count + 1"))
    other = running.campaign("open", epsilon=2)
    running.report(other, [0, 1, 2, 3])
    running.api.post(f"/v1/campaigns/{other['id']}/cancel").raise_for_status()
    with pytest.raises(retention.ReportsKept, match=r"and so are their archives: .* 121 reports counted, 120"):
        ended.purge()
    assert sorted(path.name for path in folder.iterdir()) == files
    monkeypatch.setattr("sordino_server.cli.db.WallClock", lambda: running.clock)
    monkeypatch.setenv("SORDINO_DATABASE_URL", str(running.database.url))
    done = CliRunner().invoke(app, ["db", "purge", "--older-than-days", "0"])
    assert (done.exit_code, "121 reports counted" in done.output.replace("\n", " ")) == (2, True)
    kept = retention.old_reports(running.database, 0, running.clock.now())
    assert [(each.campaign, each.bytes) for each in kept if each.bytes] == [(ended.campaign["id"], 120)]
    assert sorted(path.name for path in folder.iterdir()) == files


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
