"""A shuffled campaign at a collector, on both engines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.shuffled.collected import Shuffled, shuffled_campaign


@pytest.fixture(params=["sqlite", "postgres"])
def shuffled(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shuffled]:
    with shuffled_campaign(request.getfixturevalue(f"migrated_{request.param}_url"), tmp_path / "keys") as found:
        yield found
