"""The table of contents: docs/README.md lists each page once, and the site's navigation and llms.txt come from it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
CONTENTS = DOCS / "README.md"
_ENTRY = re.compile(r"^- \[([^\]]+)\]\(([\w./-]+)\): (.+)$")


@dataclass(frozen=True)
class Entry:
    """One line of a part: `target` is a page or a folder of docs/."""

    title: str
    target: str
    description: str


@dataclass(frozen=True)
class Part:
    """One of the parts, such as Reference, with its pages in their order."""

    title: str
    entries: tuple[Entry, ...]


def parts(text: str) -> list[Part]:
    """The parts of a table of contents; raises ValueError for a line of a list that is no entry."""
    found = []
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        found.append(Part(title.strip(), tuple(_entries(body))))
    return found


def _entries(body: str) -> Iterator[Entry]:
    for line in body.splitlines():
        if line.startswith("- "):
            if (entry := _ENTRY.match(line)) is None:
                raise ValueError(f"not a line of contents: {line!r}. Write: - [title](page.md): what it gives")
            yield Entry(*entry.groups())


def pages(folder: Path = DOCS) -> set[str]:
    """Every page that contents must list; the pages of a folder are listed by their folder."""
    found = {path.name for path in folder.glob("*.md")} - {"README.md"}
    return found | {path.parent.name for path in folder.glob("*/*.md")}


def misfits(listed: Sequence[Part], found: set[str]) -> list[str]:
    """What to change where contents and pages differ: a page that nobody lists, one that is gone, one listed twice."""
    targets = [entry.target for part in listed for entry in part.entries]
    wrong = [f"{page}: add a line to docs/README.md" for page in sorted(found - set(targets))]
    wrong += [f"{page}: docs/README.md lists it, and it is not there" for page in sorted(set(targets) - found)]
    return wrong + [f"{page}: listed twice" for page in sorted({each for each in targets if targets.count(each) > 1})]


def llms(listed: Sequence[Part], head: str, prefix: str = "docs/") -> str:
    """The text of llms.txt (llmstxt.org): the head, and one line for each page."""
    lines = [head.rstrip()]
    for part in listed:
        lines += ["", f"## {part.title}", ""]
        lines += [f"- [{entry.title}]({prefix}{entry.target}): {entry.description}" for entry in part.entries]
    return "\n".join(lines) + "\n"


# What a reader of all pages at once can take.
MOST_FULL_BYTES = 600_000
# Proofs, measurements and bytes of the wire, traces included, have addresses of their own in llms.txt.
_NOT_IN_FULL = ("Evidence", "protocol.md", "implementing.md")


def llms_full(listed: Sequence[Part], docs: Path = DOCS) -> str:
    """The pages of all parts but Evidence and what is bytes, in one text; raises ValueError above the limit."""
    pieces = ["# sordino: the documentation in one file"]
    for part in listed:
        if part.title in _NOT_IN_FULL:
            continue
        for entry in part.entries:
            if entry.target.endswith(".md") and entry.target not in _NOT_IN_FULL:
                pieces.append(f"<!-- {entry.target} -->\n\n{(docs / entry.target).read_text(encoding='utf-8').strip()}")
    text = "\n\n".join(pieces) + "\n"
    if (size := len(text.encode())) > MOST_FULL_BYTES:
        raise ValueError(f"llms-full.txt has {size:,} bytes, at most {MOST_FULL_BYTES:,}: move a page to Evidence")
    return text


def site_llms(sources: Path) -> str:
    """llms.txt of a built site: all its pages, generated ones included, by addresses below its folder."""
    lines = ["# sordino", "", "Each page: those by hand as Markdown, those made from the program as HTML.", ""]
    for path in sorted(sources.rglob("*.md")):
        text = path.read_text(encoding="utf-8").removeprefix("---\norphan: true\n---\n\n")
        title = text.partition("\n")[0].removeprefix("# ")
        page = path.relative_to(sources).as_posix()
        # Sources of generated pages are not kept.
        address = page.removesuffix(".md") + ".html" if page.startswith("reference/") else f"_sources/{page}.txt"
        lines.append(f"- [{title}]({address})")
    return "\n".join(lines) + "\n"
