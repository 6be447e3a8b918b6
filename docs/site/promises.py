"""Each promise with the tests that hold it: docs/promises.md is written from promises.toml and from the pages.

A page that promises something ends its section with `[Held by tests](promises.md#name)`. promises.toml has the tests of
that name. `misfits` says what does not fit: a promise without a test, a test that is not there, and a numbered section
of the guarantees that nothing holds.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from docs.site.contents import DOCS, ROOT

SOURCE = Path(__file__).with_name("promises.toml")
PAGE = DOCS / "promises.md"
_LINK = re.compile(r"\]\(promises\.md#([^)]+)\)")
_HEADING = re.compile(r"^#{1,4} (.+)$")
_FENCE = re.compile(r"^```")
_HEAD = """# Promises and their tests

Each promise of the other pages, and the tests that hold it. A test fails where a promise has no test, or where a test
that is named is not there. `python -m pytest PATH` runs one of them; files of `tests/e2e` and `tests/faults` kill real
processes. `python -m docs.site promises` writes this page.
Terms: [glossary](glossary.md).
"""


def anchor(title: str) -> str:
    """The name of a heading in an address, as a code host makes it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


@dataclass(frozen=True)
class Promise:
    """A promise, and its tests: each a path below the repository, with what the test does where it is said."""

    title: str
    tests: tuple[str, ...]

    @property
    def name(self) -> str:
        """By which pages link it."""
        return anchor(self.title)

    @property
    def files(self) -> list[str]:
        """The paths of its tests."""
        return [test.partition(": ")[0] for test in self.tests]


@dataclass(frozen=True)
class Place:
    """Where a page promises something: the page, and the heading above."""

    page: str
    heading: str


def promises(text: str) -> list[Promise]:
    """The promises of promises.toml."""
    return [Promise(each["title"], tuple(each["tests"])) for each in tomllib.loads(text)["promise"]]


def places(pages: Mapping[str, str]) -> dict[str, list[Place]]:
    """Where each name is promised. `pages` are texts by the name of the page."""
    found: dict[str, list[Place]] = {}
    for page, text in pages.items():
        for heading, line in _below_headings(text):
            for name in _LINK.findall(line):
                found.setdefault(name, []).append(Place(page, heading))
    return found


def _below_headings(text: str) -> Iterator[tuple[str, str]]:
    """Each line outside code, with the heading above it."""
    heading, code = "", False
    for line in text.splitlines():
        code ^= bool(_FENCE.match(line))
        if not code:
            heading = found[1] if (found := _HEADING.match(line)) else heading
            yield heading, line


def misfits(kept: Sequence[Promise], pages: Mapping[str, str], root: Path = ROOT) -> list[str]:
    """What to change, each with its place; empty where every promise has tests and every test is there."""
    held, linked = {each.name for each in kept}, places(pages)
    wrong = [
        f"{place.page}, {place.heading}: no test of {name!r} in promises.toml"
        for name, where in linked.items()
        for place in where
        if name not in held
    ]
    wrong += [f"{each.title}: no page promises it" for each in kept if each.name not in linked]
    wrong += [f"{each.title}: no test" for each in kept if not each.tests]
    for each in kept:
        wrong += [f"{each.title}: {file} is not there" for file in each.files if not _has_tests(root / file)]
    promised = {place.heading for where in linked.values() for place in where if place.page == "guarantees.md"}
    numbered = re.findall(r"^## (\d+\. .+)$", pages["guarantees.md"], re.MULTILINE)
    return wrong + [
        f"guarantees.md, {heading}: say which tests hold it" for heading in numbered if heading not in promised
    ]


def _has_tests(path: Path) -> bool:
    """Whether a file has a test, or one of a folder has."""
    files = path.rglob("test_*.py") if path.is_dir() else [path] if path.is_file() else []
    return any(
        re.search(r"^\s*(async )?def test_|TestCase\b", file.read_text(encoding="utf-8"), re.MULTILINE)
        for file in files
    )


def page(kept: Sequence[Promise], pages: Mapping[str, str]) -> str:
    """The text of docs/promises.md: a heading for each promise, where it is made, and its tests."""
    linked, pieces = places(pages), [_HEAD]
    for each in kept:
        where = [
            f"[{_title(pages, at.page)}: {at.heading}]({at.page}#{anchor(at.heading)})" for at in linked[each.name]
        ]
        tests = ["- " + re.sub(r"^([^:]+)", r"`\1`", test) for test in each.tests]
        pieces.append("\n".join([f"## {each.title}", "", f"{', '.join(where)}", "", *tests, ""]))
    return "\n".join(pieces)


def _title(pages: Mapping[str, str], name: str) -> str:
    """The heading of a page."""
    heading = re.search(r"^# (.+)$", pages[name], re.MULTILINE)
    return heading[1] if heading else name


def read() -> tuple[list[Promise], dict[str, str]]:
    """The promises and the pages of the repository."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md")) if path != PAGE}
    return promises(SOURCE.read_text(encoding="utf-8")), texts
