"""A shuffled campaign at a collector: on both engines in the long run, in the gate where transactions matter."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.shuffled.collected import Shuffled, shuffled_campaign


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def shuffled(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shuffled]:
    with shuffled_campaign(request.getfixturevalue(f"migrated_{request.param}_url"), tmp_path / "keys") as found:
        yield found


@pytest.fixture(scope="module")
def unchanged(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shuffled]:
    """One campaign for all tests of a file that only read it or are refused."""
    folder = tmp_path_factory.mktemp("unchanged")
    shutil.copy(sqlite_template, folder / "collector.sqlite3")
    with shuffled_campaign(f"sqlite:///{folder}/collector.sqlite3", folder / "keys") as found:
        yield found
