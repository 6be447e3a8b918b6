"""What keeps the site small."""

from __future__ import annotations

import json
from pathlib import Path

from docs.site.lean import drop_unopened, one_part


def part(title: str, *pages: str, current: str = "") -> str:
    items = "".join(
        f'<li class="toctree-l1{" current" if page == current else ""}"><a class="reference internal" '
        f'href="{page}.html">{page}</a></li>\n'
        for page in pages
    )
    return f'<p class="caption" role="heading"><span class="caption-text">{title}</span></p>\n<ul>\n{items}</ul>\n'


def test_a_page_shows_its_own_part_and_a_link_to_each_other() -> None:
    how_to = part("How-to", "medians", "export", current="export")
    shown = one_part(part("Tutorials", "first", "second") + how_to + part("Reference", "cli/index", "cli/plan"))
    assert how_to in shown
    assert '<span class="caption-text"><a class="reference" href="first.html">Tutorials</a></span>' in shown
    assert 'href="cli/index.html">Reference</a>' in shown
    assert "second" not in shown
    assert "cli/plan" not in shown


def test_a_page_of_a_folder_has_links_alone() -> None:
    shown = one_part(part("Tutorials", "first", "second") + part("How-to", "medians"))
    assert shown.count("<a ") == 2
    assert "second" not in shown
    assert one_part("") == ""


def test_what_nobody_opens_is_not_there(tmp_path: Path) -> None:
    for name in ("_static/furo.css.map", "_sources/reference/cli.md.txt", "_sources/medians.md.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "_downloads/1").mkdir(parents=True)
    (tmp_path / "_downloads/1/openapi.json").write_text(json.dumps({"paths": {"/livez": "ε"}}, indent=2))
    drop_unopened(tmp_path)
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {"medians.md.txt", "openapi.json"}
    found = (tmp_path / "_downloads/1/openapi.json").read_text()
    assert json.loads(found) == {"paths": {"/livez": "ε"}}
    assert "\n" not in found
