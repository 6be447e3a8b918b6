"""The sources of the site in build/docs/source: pages as they are, links out of docs/ made to the code of the version.

On a code host the links of a page are relative to the page, and `tests/docs/test_pages.py` holds that they exist. A
site has no code beside it, so that there they lead to the repository at the version's tag.
"""

from __future__ import annotations

import os
import re
import shutil
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from docs.site.contents import DOCS, ROOT, Part
from docs.site.reference.markdown import ORPHAN

# Fenced blocks are code, whatever stands in them.
_FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(\]\()(?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)")
_COPIED = ("*.json", "images/*")
# Generated pages stand behind those written by hand, in the part Reference.
GENERATED_PART = "Reference"


def code_address() -> str:
    """Where the code of this version can be read: the Source of the server's pyproject.toml at the version's tag."""
    project = tomllib.loads((ROOT / "server" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return f"{project['urls']['Source']}/blob/v{project['version']}"


def with_site_links(text: str, page: str, code: str, docs: Path = DOCS) -> str:
    """The page with links for the site. `page` is its path below docs/; lines stay where they are.

    A link that leaves docs/ leads to `code`; one to a folder of docs/ to that folder's list of pages.
    """

    def moved(link: re.Match[str]) -> str:
        opening, target, fragment = link[1], link[2], link[3] or ""
        inside = os.path.normpath(PurePosixPath(page).parent / target)
        if inside.startswith(".."):
            return f"{opening}{code}/{os.path.normpath(PurePosixPath('docs') / inside)}{fragment})"
        folder = f"{target.rstrip('/')}/index.md" if (docs / inside).is_dir() else target
        return f"{opening}{folder}{fragment})"

    begin, pieces = 0, []
    for fence in _FENCE.finditer(text):
        pieces += [_LINK.sub(moved, text[begin : fence.start()]), fence.group()]
        begin = fence.end()
    return "".join([*pieces, _LINK.sub(moved, text[begin:])])


def toctree(entries: Iterable[str], caption: str = "") -> str:
    """A hidden toctree, by which the site's navigation has these pages."""
    options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
    return "\n".join(["```{toctree}", *options, "", *entries, "```", ""])


def front_page(text: str, parts: Iterable[Part], generated: Mapping[str, str]) -> str:
    """The first page: docs/README.md, the generated pages listed in their part, and the navigation."""
    trees = []
    for part in parts:
        names = [f"{each.title} <{_page(each.target)}>" for each in part.entries]
        if part.title == GENERATED_PART:
            names += [f"{title} <{name}>" for name, title in generated.items()]
            last = f"({part.entries[-1].target}): {part.entries[-1].description}\n"
            lines = [f"- [{title}]({name}.md)" for name, title in generated.items()]
            text = text.replace(last, "\n".join([last.rstrip(), *lines, ""]))
        trees.append(toctree(names, part.title))
    return "\n".join([text, *trees])


def _page(target: str) -> str:
    """The name by which Sphinx has a page or the list of pages of a folder."""
    return target.removesuffix(".md") if target.endswith(".md") else f"{target}/index"


def stage(target: Path, parts: list[Part], generated: Mapping[str, str], tops: Mapping[str, str]) -> None:
    """Write all sources to `target`, which is emptied before.

    `generated` are pages by path, and `tops` the titles of those of them that the first page lists.
    """
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    code = code_address()
    for path in sorted(DOCS.rglob("*.md")):
        page = path.relative_to(DOCS).as_posix()
        text = path.read_text(encoding="utf-8")
        if page == "README.md":
            page, text = "index.md", front_page(text, parts, tops)
        orphan = ORPHAN if "/" in page else ""
        _write(target / page, orphan + with_site_links(text, page, code))
    for pattern in _COPIED:
        for path in DOCS.glob(pattern):
            (target / path.relative_to(DOCS)).parent.mkdir(exist_ok=True)
            shutil.copy(path, target / path.relative_to(DOCS))
    for page, text in {**folder_pages(), **generated}.items():
        _write(target / page, text)


def folder_pages() -> dict[str, str]:
    """A list of pages for each folder of docs/ that has some, such as decisions/."""
    found = {}
    for folder in sorted({path.parent for path in DOCS.glob("*/*.md")}):
        pages = sorted(folder.glob("*.md"))
        titles = [path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ") for path in pages]
        lines = [f"- [{title}]({path.name})" for path, title in zip(pages, titles, strict=True)]
        found[f"{folder.name}/index.md"] = "\n".join([f"# {folder.name.capitalize()}", "", *lines, ""])
    return found


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
