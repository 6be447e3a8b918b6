"""The console benchmark asks a real server as pages do."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.console.__main__ import measure


@pytest.mark.slow
def test_every_page_is_answered(tmp_path: Path) -> None:
    found = measure(tmp_path, consoles=4, seconds=5.0)
    # Each asks every two seconds from a moment of its own; a slow machine answers fewer.
    assert 4 <= found.answers <= 12
    assert found.answer_bytes > 300
    assert 0 <= found.idle_share < found.share + 1
