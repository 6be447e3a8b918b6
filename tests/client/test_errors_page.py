"""docs/errors.md has every error that a developer can meet, under its code, with what to do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import sordino_client
from sordino_client._delivery import _FINAL_SLUGS
from sordino_shared.protocol.reports import Refusal

PAGE = (Path(__file__).parents[2] / "docs" / "errors.md").read_text()
SECTIONS = dict(re.findall(r"^### `([a-z-]+)`\n\n(.*?)(?=\n#|\Z)", PAGE, re.MULTILINE | re.DOTALL))
THINGS = [getattr(sordino_client, name) for name in sordino_client.__all__]
ERRORS = [thing for thing in THINGS if isinstance(thing, type) and issubclass(thing, Exception)]


def test_the_sections_are_the_codes_of_all_public_errors() -> None:
    assert set(SECTIONS) == {kind.code for kind in ERRORS}


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_a_section_names_its_error_and_says_what_to_do(kind) -> None:
    text = SECTIONS[kind.code]
    assert text.startswith(f"`{kind.__name__}`")
    assert "**" in text or kind.__name__ in ("ClientError", "SordinoError")


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_parents_that_an_app_may_catch_are_named(kind) -> None:
    for parent in kind.__bases__:
        if parent in ERRORS and parent.__name__ in ("WrongArgument", "ServedElsewhere"):
            assert f"`{parent.__name__}`" in SECTIONS[kind.code]


def test_every_final_reason_is_on_the_page() -> None:
    listed = set(re.findall(r"`([a-z-]+)`", PAGE[PAGE.index("| reason |") : PAGE.index("## From a server")]))
    # An epoch is refused report by report; so is all that a server says of one alone.
    assert {*_FINAL_SLUGS, *(each.value for each in Refusal)} == listed
