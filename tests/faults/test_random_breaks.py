"""The random breaks: the same for a seed; each changes one line, leaves a program, and has tests that look for it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.random_breaks import Break, breaks_of, chosen, stages_of_tests
from tests.seeded_faults import ROOT

FEW = 6


@cache
def few() -> list[Break]:
    """Chosen when a test runs: every worker that lists the tests would read all modules."""
    return chosen(5, FEW)


def test_a_seed_chooses_the_same_breaks_and_another_seed_others() -> None:
    assert chosen(5, FEW) == few()
    assert chosen(6, FEW) != few()
    assert len({each.file for each in few()}) == FEW


@pytest.mark.parametrize("number", range(FEW))
def test_a_break_changes_one_line_and_leaves_a_program(number: int) -> None:
    each = few()[number]
    text = (ROOT / each.file).read_text(encoding="utf-8")
    lines, broken = text.split("\n"), each.broken(text).split("\n")
    assert [number for number, pair in enumerate(zip(lines, broken, strict=True), 1) if pair[0] != pair[1]] == [
        each.line
    ]
    ast.parse(each.broken(text))
    assert any(stages_of_tests(each.file))


def test_every_kind_of_break_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "LIMIT = 3\n\n\ndef over(a: int, b: int) -> bool:\n    '''Docs.'''\n"
    source += "    if a < 1 and not b:\n        raise ValueError(a)\n    print(a)\n    return a - b > 0 is True\n"
    (tmp_path / "module.py").write_text(source)
    monkeypatch.setattr("tests.random_breaks.ROOT", tmp_path)
    found = {(each.line, each.new.strip()) for each in breaks_of("module.py")}
    assert found == {(6, "<="), (6, "2"), (6, "or"), (7, "pass"), (8, "pass"), (9, "+"), (9, "1"), (9, "False")}
    first = min(breaks_of("module.py"), key=lambda each: each.line)
    first.plant(tmp_path)
    assert (tmp_path / "module.py").read_text() == first.broken(source)
