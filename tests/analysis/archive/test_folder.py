"""Addresses of archives: what is refused before anything is read, and in which words."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.scale_out.archives import archive_of
from sordino_analysis.archive.archive import Archive
from sordino_analysis.archive.errors import ArchiveError, BadPart
from sordino_analysis.archive.folder import Folder
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from tests.randomizers import RESPONSE


def answers(folder: Path, seed: int) -> Archive:
    """Two parts of five reports."""
    payloads = randomize_many(RESPONSE, np.arange(10) % 5, SeededRandomness(seed))
    return archive_of(str(folder / "archive"), RESPONSE, np.split(payloads, 2))


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("s3a://bucket/x", "say s3://bucket/x"),
        ("s3n://bucket/x", "say s3://bucket/x"),
        ("s3:/bucket/x", "two slashes"),
        ("dbfs:/Volumes/x", "use a path"),
        ("ftp://host/x", "use a path, file://, s3://"),
        ("", "empty"),
    ],
)
def test_an_address_that_is_none(url: str, words: str) -> None:
    with pytest.raises(ArchiveError, match=words):
        Folder.open(url)


def test_a_password_in_an_address_is_refused_and_not_shown() -> None:
    with pytest.raises(ArchiveError, match="leave the password out") as refused:
        Folder.open("s3://me:open-sesame@bucket/x")
    assert "sesame" not in str(refused.value)


def test_what_is_below_comes_before_the_options_of_a_store() -> None:
    folder = Folder("s3://bucket/lake/?endpoint_override=minio:9000", None, "bucket/lake")
    assert folder.below("a", "b").url == "s3://bucket/lake/a/b?endpoint_override=minio:9000"
    assert Folder("what?", None, "/what?").below("a").url == "what?/a"


def test_a_store_that_fails_is_an_error_of_the_archive(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(ArchiveError, match="folder"):
        Folder.open(str(tmp_path)).read("folder")


def test_an_unreachable_store_is_not_waited_for_and_says_what_to_check() -> None:
    """Google's library by itself repeats a request for minutes; an address may have a limit of its own."""
    fs = pytest.importorskip("pyarrow.fs")
    url = "gs://anonymous@bucket/lake?endpoint_override=127.0.0.1:9&scheme=http"
    assert Folder.open(url).filesystem == fs.FileSystem.from_uri(f"{url}&retry_limit_seconds=10")[0]
    assert Folder.open(url).url == url
    folder = Folder.open(f"{url}&retry_limit_seconds=1")
    with pytest.raises(ArchiveError, match=r"lake.*Could not connect.*; check the network, the address, and the cred"):
        folder.read("part-00000.parquet")


def test_a_file_that_is_far_too_long_is_not_read_to_its_end(tmp_path: Path) -> None:
    archive = answers(tmp_path, 5)
    part = Path(archive.folder.path) / "part-00001.parquet"
    with open(part, "r+b") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(BadPart, match=r"part-00001\.parquet is not the file"):
        archive.sums(archive.chosen())


@pytest.mark.parametrize("which", ["_manifest-*.json", "device-*.cbor"])
def test_a_manifest_or_plan_that_is_far_too_long_is_not_read_to_its_end(tmp_path: Path, which: str) -> None:
    [file] = Path(answers(tmp_path, 5).folder.path).glob(which)
    with open(file, "r+b") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(ArchiveError, match=rf"{re.escape(file.name)}.* (bytes|SHA-256)"):
        Archive.open(str(file.parent))


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    folder = Folder.open(str(tmp_path))
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ArchiveError, match="No space left"):
        folder.write("part-00000.parquet", b"payloads")
    assert folder.names() == []


def test_the_manifest_of_another_round_names_other_files(tmp_path: Path) -> None:
    other = answers(tmp_path, 5)
    folder = Path(other.folder.path)
    content = (folder / other.manifest.name).read_bytes()
    (folder / other.manifest.name).unlink()
    (folder / answers(tmp_path, 6).manifest.name).unlink()
    (folder / other.manifest.name).write_bytes(content)
    with pytest.raises(BadPart, match=r"part-00000\.parquet is not the file that the manifest names"):
        other.sums(Archive.open(other.folder.url).chosen())
    (folder / f"device-{other.manifest.device}.cbor").unlink()
    with pytest.raises(ArchiveError, match=r"device-.*\.cbor is missing"):
        Archive.open(other.folder.url)
