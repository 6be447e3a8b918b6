"""Every promise of the pages has a test that is there, and docs/promises.md lists them."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.site import __main__ as site
from docs.site.promises import PAGE, Promise, misfits, page, promises, read


def test_every_promise_has_a_test_and_the_page_lists_it() -> None:
    """Where this fails, change docs/site/promises.toml and run `python -m docs.site promises`."""
    kept, pages = read()
    assert misfits(kept, pages) == []
    assert len(kept) > 60
    assert PAGE.read_text(encoding="utf-8") == page(kept, pages), "run python -m docs.site promises"


PAGES = {"guarantees.md": "# Guarantees\n\n## 1. Kept\n\nIt is kept. [Held by tests](promises.md#it-is-kept).\n"}
KEPT = [Promise("It is kept", ("tests/test_kept.py: after a kill",))]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_kept.py").write_text("def test_it() -> None: ...\n")
    (tmp_path / "tests" / "test_empty.py").write_text("NOTHING = 1\n")
    return tmp_path


def test_a_promise_is_listed_with_its_page_and_its_tests(root: Path) -> None:
    assert misfits(KEPT, PAGES, root) == []
    assert page(KEPT, PAGES).endswith(
        "## It is kept\n\n[Guarantees: 1. Kept](guarantees.md#1-kept)\n\n- `tests/test_kept.py`: after a kill\n"
    )


@pytest.mark.parametrize(
    ("kept", "added", "said"),
    [
        ([], "", "guarantees.md, 1. Kept: no test of 'it-is-kept' in promises.toml"),
        ([Promise("It is kept", ())], "", "It is kept: no test"),
        ([Promise("It is kept", ("tests/test_gone.py",))], "", "It is kept: tests/test_gone.py is not there"),
        ([Promise("It is kept", ("tests/test_empty.py",))], "", "It is kept: tests/test_empty.py is not there"),
        ([*KEPT, Promise("More", ("tests/test_kept.py",))], "", "More: no page promises it"),
        (KEPT, "\n## 2. New\n\nIt is new.\n", "guarantees.md, 2. New: say which tests hold it"),
    ],
)
def test_what_does_not_fit_is_said(kept: list[Promise], added: str, said: str, root: Path) -> None:
    assert misfits(kept, {"guarantees.md": PAGES["guarantees.md"] + added}, root) == [said]


def test_nothing_is_written_while_something_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, pages = read()
    monkeypatch.setattr("docs.site.promises.read", lambda: (kept[1:], pages))
    monkeypatch.setattr("sys.argv", ["docs.site", "promises"])
    with pytest.raises(SystemExit, match=kept[0].name):
        site.main()


def test_a_file_of_promises_is_read() -> None:
    assert promises('[[promise]]\ntitle = "It is kept"\ntests = ["tests/a.py"]\n') == [
        Promise("It is kept", ("tests/a.py",))
    ]
