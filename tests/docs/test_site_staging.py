"""Links of a page become those of the site: to pages as they are, to code at the version's tag."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.site import contents, reference
from docs.site.staging import code_address, front_page, stage, with_site_links

CODE = "https://code.example/blob/v1"


@pytest.mark.parametrize(
    ("page", "link", "moved"),
    [
        ("sdk.md", "errors.md#in-your-code", "errors.md#in-your-code"),
        ("sdk.md", "#caps", "#caps"),
        ("sdk.md", "https://example.org/x.md", "https://example.org/x.md"),
        ("sdk.md", "../benchmarks/README.md#devices", f"{CODE}/benchmarks/README.md#devices"),
        ("decisions/0001-two-parts-of-a-plan.md", "../glossary.md", "../glossary.md"),
        ("decisions/0001-two-parts-of-a-plan.md", "../../CHANGELOG.md", f"{CODE}/CHANGELOG.md"),
        ("glossary.md", "decisions", "decisions/index.md"),
    ],
)
def test_a_link_leads_to_a_page_or_to_the_code_of_the_version(page: str, link: str, moved: str) -> None:
    assert with_site_links(f"see [this]({link}).", page, CODE) == f"see [this]({moved})."


def test_what_stands_in_a_block_is_code() -> None:
    text = "```python\nf[0](../x)\n```\n[a](../x)\n"
    assert with_site_links(text, "sdk.md", CODE) == f"```python\nf[0](../x)\n```\n[a]({CODE}/x)\n"


def test_no_staged_page_leaves_the_site(tmp_path: Path) -> None:
    parts = contents.parts(contents.CONTENTS.read_text(encoding="utf-8"))
    stage(tmp_path / "source", parts, {}, reference.TOPS)
    pages = {path.relative_to(tmp_path / "source").as_posix(): path for path in (tmp_path / "source").rglob("*.md")}
    assert len(pages) > 70
    texts = {name: path.read_text(encoding="utf-8") for name, path in pages.items()}
    assert [name for name, text in texts.items() if "](../" in text and "/" not in name] == []
    assert f"]({code_address()}/benchmarks/README.md#devices)" in texts["sdk.md"]
    # The lines of a page are those of its source, so that a warning names the line to change.
    source = (contents.DOCS / "sdk.md").read_text(encoding="utf-8")
    assert texts["sdk.md"].count("\n") == source.count("\n")


def test_the_first_page_lists_what_is_generated() -> None:
    parts = contents.parts(contents.CONTENTS.read_text(encoding="utf-8"))
    text = front_page(contents.CONTENTS.read_text(encoding="utf-8"), parts, reference.TOPS)
    assert "- [Commands](reference/commands/index.md)\n" in text
    assert "\nHow many users <sample-sizes>\n" in text
    assert "\nCommands <reference/commands/index>\n" in text
