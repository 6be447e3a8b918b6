"""Where the documentation explains a page of the console or a kind of error: each link by its name, from one table."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata

from sordino_server import __version__
from sordino_shared.protocol import Problem

# The page of the console, which is its template's name, and the page of the documentation with its heading.
PAGES: Mapping[str, str] = {
    "activity": "people-and-keys#read-who-changed-what",
    "answers": "console#ask-a-closed-campaign",
    "audit_log": "operations#audit-log",
    "campaign": "console#while-it-collects",
    "campaigns": "console#while-it-collects",
    "compare": "two-months#what-can-be-compared",
    "confirm": "console",
    "estimate": "read-an-answer",
    "experiment": "experiments#look-at-it",
    "experiments": "experiments#size-it-create-it",
    "follow_up": "discovery#ask-for-these",
    "keys": "people-and-keys#change-a-key",
    "log": "log#run-a-server-with-a-log",
    "new_key": "people-and-keys#change-a-key",
    "new_question": "console#a-new-campaign",
    "new_terms": "limits",
    "new_token": "console#a-new-campaign",
    "open": "console#before-a-question-opens",
    "plan": "console#before-a-question-opens",
    "plans": "console#before-a-question-opens",
    "population": "console#the-budget",
    "populations": "limits",
    "questions": "console#what-we-know",
    "revoke_own": "people-and-keys#change-a-key",
    "series": "series#estimates",
    "share_link": "console#share-a-result",
    "sign_in": "console#sessions",
    "signed_out": "console#sessions",
    "strings": "discovery#what-the-estimate-says",
    "way": "console#sessions",
    "wizard": "console#a-new-question",
    "words": "glossary",
}


def help_for(name: str) -> str | None:
    """The address that explains a page of the console; None for a name without one."""
    target = PAGES.get(name)
    if target is None:
        return None
    page, _, heading = target.partition("#")
    return f"{_site()}/{page}.html{'#' if heading else ''}{heading}"


def help_for_error(problem: Problem) -> str:
    """The address of the row that explains a kind of error."""
    return f"{_site()}/reference/problems.html#problem-{problem.slug}"


@cache
def _site() -> str:
    """The documentation of this version: what the package says of itself, since a fork has its own."""
    try:
        urls = metadata("sordino-server").get_all("Project-URL") or []
    except PackageNotFoundError:
        urls = []
    named = dict(each.split(", ", 1) for each in urls)
    return f"{named.get('Documentation', 'https://sordino.example/docs')}/{__version__}"
