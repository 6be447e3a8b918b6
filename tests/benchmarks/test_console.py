"""The console benchmark asks a real server as pages do."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.mark.slow
def test_every_page_is_answered(tmp_path: Path) -> None:
    # Drives a browser, whose library takes half a second to import in every worker that only lists this test.
    from benchmarks.console.__main__ import measure

    found = measure(tmp_path, consoles=4, seconds=5.0)
    # Each asks every two seconds from a moment of its own; a slow machine answers fewer.
    assert 4 <= found.answers <= 12
    assert found.answer_bytes > 300
    assert 0 <= found.idle_share < found.share + 1
