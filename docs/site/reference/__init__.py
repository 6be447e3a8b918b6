"""Pages that are made from the program itself, so that none can be out of date."""

from __future__ import annotations

from docs.site.reference import commands, http, problems, python

# The pages that the table of contents lists, with their titles.
TOPS = {
    "reference/commands/index": "Commands",
    "reference/http/index": "HTTP API",
    "reference/python/index": "Python",
    "reference/problems": "Error codes",
}


def pages() -> dict[str, str]:
    """Markdown of every generated page, by its path."""
    made = {**commands.pages(), **http.pages(), **python.pages(), **problems.pages()}
    return {f"reference/{path}": text for path, text in made.items()}
