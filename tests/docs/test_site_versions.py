"""Sites of several versions in one folder link each other by relative addresses that open."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from docs.site import __main__, versions
from docs.site.versions import NoVersions

PAGE = "<!doctype html><html><head><title>x</title>\n</head>\n<body class='x'>\n<main>text</main></body></html>"
HREF = re.compile(r'href="([^"]+)"')


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four versions; `reference/new.html` is in dev alone."""
    for name in ("0.9", "0.10", "stable", "dev"):
        for page in ("index.html", "reference/cli.html", *(["reference/new.html"] if name == "dev" else [])):
            (tmp_path / name / page).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / page).write_text(PAGE)
    return tmp_path


def texts(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*.html")}


def test_every_link_is_relative_and_opens(folder: Path) -> None:
    assert versions.write(folder) == ["stable", "0.10", "0.9", "dev"]
    seen = 0
    for name, text in texts(folder).items():
        for link in HREF.findall(text):
            assert ":" not in link
            assert not link.startswith("/")
            assert ((folder / name).parent / link).is_file(), (name, link)
            seen += 1
    # One on two pages of stable, three on six others, two on the page of dev alone, and a line a version.
    assert seen == 2 + 6 * 3 + 2 + 4


def test_all_but_stable_have_a_banner(folder: Path) -> None:
    versions.write(folder)
    found = texts(folder)
    assert {name.partition("/")[0] for name, text in found.items() if "version-banner" in text} == {
        "0.9",
        "0.10",
        "dev",
    }
    assert '<link rel="canonical" href="../../stable/reference/cli.html">' in found["0.9/reference/cli.html"]
    assert "canonical" not in found["dev/reference/new.html"]
    assert 'href="../../stable/index.html">Read the stable one' in found["dev/reference/new.html"]
    assert "<script" not in found["versions.html"]


def test_the_link_that_skips_to_the_text_stays_first(folder: Path) -> None:
    skips = '<a class="skip-to-content" href="#x">Skip</a>'
    (folder / "dev" / "index.html").write_text(PAGE.replace("<main>", f"{skips}\n<main>"))
    versions.write(folder)
    text = (folder / "dev" / "index.html").read_text()
    assert text.index(skips) < text.index("version-banner") < text.index("<main>")
    assert text.count("version-banner") == 1


def test_again_it_changes_nothing_and_a_new_version_is_listed(folder: Path) -> None:
    versions.write(folder)
    before = texts(folder)
    versions.write(folder)
    assert texts(folder) == before
    (folder / "0.11").mkdir()
    (folder / "0.11" / "index.html").write_text(PAGE)
    assert versions.write(folder)[1] == "0.11"


def test_before_the_first_release_nothing_points_at_stable(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "index.html").write_text(PAGE)
    assert versions.write(tmp_path) == ["dev"]
    text = (tmp_path / "dev" / "index.html").read_text()
    assert HREF.findall(text) == ["../versions.html"]


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (None, "is no folder"),
        ((), "has no site: copy build/docs/html to"),
        (("latest",), "latest: name a folder stable"),
    ],
)
def test_what_is_no_folder_of_versions_is_told(
    made: tuple[str, ...] | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "sites"
    if made is not None:
        target.mkdir()
    for name in made or ():
        (target / name).mkdir()
        (target / name / "index.html").write_text(PAGE)
    with pytest.raises(NoVersions, match=said):
        versions.write(target)
    monkeypatch.setattr(sys, "argv", ["docs.site", "versions", str(target)])
    with pytest.raises(SystemExit, match=said):
        __main__.main()
