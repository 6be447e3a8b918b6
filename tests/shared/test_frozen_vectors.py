"""Protocol v1 is frozen: no file of its vectors changes."""

from __future__ import annotations

import importlib
import shutil
from pathlib import Path
from typing import Any

import pytest

VECTORS = Path(__file__).resolve().parents[1] / "vectors"


@pytest.fixture
def generate(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of the generator, which is a script of its folder."""
    monkeypatch.syspath_prepend(str(VECTORS))
    return importlib.import_module("generate")


def test_no_file_of_version_1_changed(generate: Any) -> None:
    assert generate.changed() == []


def test_a_byte_that_changed_a_file_that_is_gone_and_a_new_one_are_noticed(generate: Any, tmp_path: Path) -> None:
    folder = tmp_path / "v1"
    shutil.copytree(VECTORS / "v1", folder)
    (folder / "good/caps.json").write_bytes((folder / "good/caps.json").read_bytes().replace(b"0", b"1", 1))
    (folder / "bad/version.json").unlink()
    (folder / "good/more_caps.json").write_text("{}")
    assert generate.changed(folder) == [
        "bad/version.json of protocol v1 changed",
        "good/caps.json of protocol v1 changed",
        "good/more_caps.json has no sum: `generate.py --freeze` adds it",
    ]


def test_the_generator_writes_no_frozen_file(generate: Any) -> None:
    with pytest.raises(SystemExit, match=r"protocol v1 is frozen, and good/caps\.json would change"):
        generate.refuse_frozen(["good/caps.json", "good/new.json"])
    generate.refuse_frozen(["good/new.json"])
