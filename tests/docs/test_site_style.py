"""Tutorials and the README keep the rules of plain writing, and each rule can fail."""

from __future__ import annotations

import re

import pytest

from docs.site.contents import DOCS, ROOT
from docs.site.style import README, TUTORIAL, Rules, faults
from tests.docs.test_site_blocks import TUTORIALS


@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_keeps_the_rules(name: str) -> None:
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    assert faults(text, TUTORIAL) == []
    assert len(re.findall(r"^!\[", text, re.MULTILINE)) <= 1


def test_the_readme_keeps_the_rules() -> None:
    assert faults((ROOT / "README.md").read_text(encoding="utf-8"), README) == []


LONG = " ".join(["This sentence has", *["word"] * 21, "too many."])


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("word " * 801, "801 words, at most 800"),
        (LONG, "26 words in a sentence, at most 24"),
        ("One two.\n\n" + "Five words stand in this. " * 3, "words in a sentence on average, at most 4"),
        ("It takes 3 of 4 users.", "figures in 100 words, at most 2"),
        ("The error is .05 here.", "write 0.05 for '.05'"),
        ("Each cell counts.", "'cell': value"),
        ("The σ of it.", "no symbol but ε"),
        ("Held by `tests/docs`.", "no test is named here"),
        ("```sh\nls\n```\n\nNext.\n", "line 1: say what it prints"),
    ],
)
def test_each_rule_can_be_broken(page: str, said: str) -> None:
    rules = Rules(words=800, sentence=24, mean_sentence=4, figures=2, plain=True)
    assert any(said in fault for fault in faults(page, rules)), faults(page, rules)


def test_what_is_code_a_table_or_an_address_is_no_prose() -> None:
    page = "Read `x.bin` in [this](cells/12345.md).\n\n| 1 | 2 | 3 |\n\n```sh\nls .05\n```\n\n```text\n7\n```\n"
    assert faults(page, TUTORIAL) == []


def test_a_command_whose_output_is_said_is_right() -> None:
    assert faults("```sh\nls\n```\n\nIt prints nothing.\n", TUTORIAL) == []
