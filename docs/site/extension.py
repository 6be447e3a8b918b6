"""What the site adds to Sphinx: plain docstrings, references to other libraries, diagrams without a script."""

from __future__ import annotations

import html
import re
import sys
from typing import Any

from docutils import nodes  # type: ignore[import-untyped, unused-ignore]

from docs.site import diagrams
from docs.site.docstrings import as_rest
from docs.site.lean import one_part

# Their documentation is elsewhere, and the site is built without a network.
ELSEWHERE = {*sys.stdlib_module_names, "httpx", "numpy"}
# Openings of code, tables and pictures.
_SCROLLS = re.compile(r'(<pre(?=>)|<div(?= class="table-wrapper)|<figure(?= class="diagram"))')
_CORNER = re.compile(r"<th([^>]*)><p></p></th>")


def plain_docstring(_app: Any, _what: str, _name: str, _thing: Any, _options: Any, lines: list[str]) -> None:
    """Our docstrings are plain text, which reStructuredText would misread."""
    lines[:] = as_rest("\n".join(lines))


def elsewhere(_app: Any, _environment: Any, node: Any, shown: nodes.Element) -> nodes.Element | None:
    """A type of the standard library, numpy or httpx stands as text."""
    return shown if node.get("reftarget", "").partition(".")[0] in ELSEWHERE else None


def drawn(_app: Any, document: nodes.document) -> None:
    """Each Mermaid block becomes a picture with its text as description."""
    for block in list(document.findall(nodes.literal_block)):
        if block.get("language") == "mermaid":
            text = block.astext()
            picture = diagrams.picture(text)
            described = f'<details><summary>As text</summary><pre tabindex="0">{html.escape(text)}</pre></details>'
            block.replace_self(nodes.raw("", f'<figure class="diagram">{picture}</figure>{described}', format="html"))


def accessible(_app: Any, _page: str, _template: str, context: dict[str, Any], _document: Any) -> None:
    """What scrolls by itself can be reached by a keyboard. An empty corner of a table is no heading."""
    if "body" in context:
        context["body"] = _SCROLLS.sub(r'\1 tabindex="0"', context["body"])
        context["body"] = _CORNER.sub(r"<td\1></td>", context["body"])


def narrow(app: Any, page: str, _template: str, context: dict[str, Any], _document: Any) -> None:
    """The navigation shows the part of the page, and on the front page all."""
    if page != app.config.root_doc and (tree := context.get("furo_navigation_tree")):
        context["furo_navigation_tree"] = one_part(tree)


def setup(app: Any) -> dict[str, bool]:
    """Sphinx's entry point."""
    app.connect("autodoc-process-docstring", plain_docstring)
    app.connect("missing-reference", elsewhere)
    app.connect("doctree-read", drawn)
    app.connect("html-page-context", accessible)
    # After Furo, which makes the navigation.
    app.connect("html-page-context", narrow, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
