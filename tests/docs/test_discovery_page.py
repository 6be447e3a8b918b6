"""The Python of the page on discovery runs as it stands, and the figures beside it are what it prints."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "discovery.md"


def test_the_python_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    printed = capsys.readouterr().out
    assert names["plan"].users_needed(share=0.005) == 247_616
    assert "# 247,616" in code
    # The salt is drawn: a string of three times the share that is found with 90 % is missed once in thousands.
    assert {"the", "of", "is", "to"} <= set(names["estimate"].strings)
    assert names["run"].missed == {}
    assert "held by at least one device that reported" in printed
    assert (tmp_path / "words.svg").read_text(encoding="utf-8").startswith("<svg")
