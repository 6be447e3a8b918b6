"""What keeps the site small: navigation through one part at a time, and no file that nobody opens."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

_CAPTION = '<p class="caption"'
_TEXT = re.compile(r'(<span class="caption-text">)([^<]*)(</span>)')
_FIRST = re.compile(r'href="([^"]+)"')


def one_part(tree: str) -> str:
    """The navigation of a page: its own part whole, and of the others a link to their first page.

    All parts stand in each page else, which is most of a short one. A page of a folder, such as a command or a
    decision, is in no part: it has the links alone.
    """
    head, *parts = re.split(f"(?={_CAPTION})", tree)
    return head + "".join(part if _is_current(part) else _closed(part) for part in parts)


def _is_current(part: str) -> bool:
    return 'class="toctree-l1 current' in part


def _closed(part: str) -> str:
    first = _FIRST.search(part)
    if first is None:
        return part
    caption = part[: part.index("</p>") + len("</p>")]
    return _TEXT.sub(rf'\1<a class="reference" href="{first[1]}">\2</a>\3', caption) + "\n"


def drop_unopened(site: Path) -> None:
    """Remove maps of scripts and the sources of generated pages, and write JSON without blanks."""
    for path in site.rglob("*.map"):
        path.unlink()
    # llms.txt names the sources of written pages; those of the others are made from the program.
    shutil.rmtree(site / "_sources" / "reference", ignore_errors=True)
    for path in site.glob("_downloads/*/*.json"):
        path.write_text(
            json.dumps(json.loads(path.read_text(encoding="utf-8")), separators=(",", ":")), encoding="utf-8"
        )
