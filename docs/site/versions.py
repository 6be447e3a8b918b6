"""A folder with a built site for each version: `python -m docs.site versions FOLDER` writes its versions.html.

FOLDER has one site a folder: `stable`, `dev`, and versions such as `0.2`. Each page gets a canonical link to the same
page of `stable`, and on all but `stable` a banner. All links are relative, so that FOLDER works from a disk and at any
address. No page needs a script for it. Running it again changes nothing.
"""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterable
from pathlib import Path

STABLE, DEV = "stable", "dev"
PAGE = "versions.html"
_VERSION = re.compile(r"\d+(?:\.\d+)*")
# What an earlier run wrote, which this one replaces.
_OURS = re.compile(r"<!-- version -->.*?<!-- /version -->\n?", re.DOTALL)
# The link by which a keyboard jumps to the text stays the first of a page.
_OPENING = re.compile(
    r"""<a class="skip-to-content[^>]*>.*?</a>\n?|<body[^>]*>\n?(?!.*<a class="skip-to-content)""", re.DOTALL
)
_SAID = {STABLE: "the newest release", DEV: "what is being written; no release"}


class NoVersions(ValueError):
    """The folder does not hold what `python -m docs.site versions` reads; the message says what to do."""


def versions(folder: Path) -> list[str]:
    """The names of the sites: stable, releases from the newest on, dev. Raises NoVersions for what is none."""
    if not folder.is_dir():
        raise NoVersions(f"{folder} is no folder: name the one that has a site a version, such as build/site")
    found = [path.parent.name for path in folder.glob("*/index.html")]
    if strange := sorted(name for name in found if name not in _SAID and not _VERSION.fullmatch(name)):
        raise NoVersions(f"{strange[0]}: name a folder stable, dev or as a version, such as 0.2")
    if not found:
        raise NoVersions(f"{folder} has no site: copy build/docs/html to {folder / DEV}, for instance")
    releases = sorted((name for name in found if name not in _SAID), key=_number, reverse=True)
    return [*([STABLE] if STABLE in found else []), *releases, *([DEV] if DEV in found else [])]


def _number(name: str) -> list[int]:
    return [int(part) for part in name.split(".")]


def write(folder: Path) -> list[str]:
    """Mark every page of every version and write versions.html; the versions that there are."""
    names = versions(folder)
    for name in names:
        for path in sorted((folder / name).rglob("*.html")):
            text = path.read_text(encoding="utf-8")
            marked = with_version(text, folder, name, path.relative_to(folder / name).as_posix())
            if marked != text:
                path.write_text(marked, encoding="utf-8")
    (folder / PAGE).write_text(versions_page(names), encoding="utf-8")
    return names


def with_version(text: str, folder: Path, name: str, page: str) -> str:
    """The page with its canonical link, where stable has the page, and its banner, where it is not stable."""
    text = _OURS.sub("", text)
    here = (folder / name / page).parent
    same = folder / STABLE / page
    if same.is_file():
        text = text.replace("</head>", _ours(f'<link rel="canonical" href="{_to(same, here)}">') + "</head>", 1)
    if name == STABLE:
        return text
    links = [f'<a href="{_to(folder / PAGE, here)}">All versions</a>']
    if (folder / STABLE / "index.html").is_file():
        newest = same if same.is_file() else folder / STABLE / "index.html"
        links.insert(0, f'<a href="{_to(newest, here)}">Read the stable one</a>')
    said = f"This is the documentation of {html.escape(name)}. {' · '.join(links)}"
    banner = _ours(f'<aside class="version-banner" aria-label="Version">{said}</aside>')
    return _OPENING.sub(lambda opening: opening[0] + banner, text, count=1)


def _ours(text: str) -> str:
    return f"<!-- version -->{text}<!-- /version -->\n"


def _to(target: Path, here: Path) -> str:
    """The relative address of a file from a folder."""
    return Path(os.path.relpath(target, here)).as_posix()


def versions_page(names: Iterable[str]) -> str:
    """versions.html: a line a version, without a script or a style from elsewhere."""
    lines = [
        f'<li><a href="{name}/index.html">{name}</a>{f": {_SAID[name]}" if name in _SAID else ""}</li>'
        for name in names
    ]
    return "\n".join([_HEAD, *lines, "</ul>", "</main>", "</body>", "</html>", ""])


_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Versions · sordino</title>
<style>
body { font-family: system-ui, sans-serif; line-height: 1.5; margin: 2rem auto; max-width: 40rem; padding: 0 1rem; }
body { background: #fff; color: #111; }
a { color: #0645ad; }
@media (prefers-color-scheme: dark) { body { background: #111; color: #eee; } a { color: #9cf; } }
</style>
</head>
<body>
<main>
<h1>Versions</h1>
<p>The documentation of each version of sordino.</p>
<ul>"""
