"""docs/README.md lists every page once, and llms.txt has what it lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.site import __main__ as site
from docs.site import contents

PARTS = contents.parts(contents.CONTENTS.read_text(encoding="utf-8"))


def test_every_page_is_listed_once() -> None:
    """Where this fails, add a line to docs/README.md and run `python -m docs.site llms`."""
    assert contents.misfits(PARTS, contents.pages()) == []
    assert [part.title for part in PARTS] == ["Tutorials", "How-to", "Explanation", "Reference", "Evidence"]


def test_llms_txt_is_of_these_pages() -> None:
    assert site.LLMS.read_text(encoding="utf-8") == site.llms(), "run python -m docs.site llms"


@pytest.mark.parametrize(("code", "said"), [(0, "open "), (1, "docs/site/nitpicks.py")])
def test_a_build_with_warnings_ends_with_what_to_do(
    code: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(site, "build", lambda _folder: code)
    monkeypatch.setattr("sys.argv", ["docs.site", "build"])
    assert site.main() == code
    printed = capsys.readouterr()
    assert said in (printed.err if code else printed.out)


def test_what_does_not_fit_is_said() -> None:
    parts = contents.parts("# x\n\n## Reference\n\n- [A](a.md): one\n- [A](a.md): again\n- [Gone](gone.md): no more\n")
    assert contents.misfits(parts, {"a.md", "new.md"}) == [
        "new.md: add a line to docs/README.md",
        "gone.md: docs/README.md lists it, and it is not there",
        "a.md: listed twice",
    ]


def test_a_line_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\[A\]\(a.md\)"):
        contents.parts("## Reference\n\n- [A](a.md)\n")


def test_a_site_names_each_page_by_what_is_kept(tmp_path: Path) -> None:
    (tmp_path / "reference").mkdir()
    (tmp_path / "medians.md").write_text("# Medians\n")
    (tmp_path / "reference" / "cli.md").write_text("# Commands\n")
    lines = contents.site_llms(tmp_path).splitlines()
    assert lines[-2:] == ["- [Medians](_sources/medians.md.txt)", "- [Commands](reference/cli.html)"]


def test_all_pages_but_the_evidence_are_one_text(monkeypatch: pytest.MonkeyPatch) -> None:
    text = contents.llms_full(PARTS)
    assert text.count("\n<!-- ") >= 45
    assert "<!-- sign-off.md -->\n\n<!-- server: yes -->\n# Sign it off" in text
    assert "<!-- certificates.md -->" not in text
    monkeypatch.setattr(contents, "MOST_FULL_BYTES", len(text.encode()) - 1)
    with pytest.raises(ValueError, match="move a page to Evidence"):
        contents.llms_full(PARTS)
