"""Tutorials and the README keep the rules of plain writing, and each rule can fail."""

from __future__ import annotations

import re

import pytest

from docs.site import style
from docs.site.contents import DOCS, ROOT
from docs.site.style import DEBTS, README, TUTORIAL, Rules, faults, faults_of, rules_of_pages


def test_every_page_keeps_the_rules_of_its_part() -> None:
    """What breaks one is told by `python -m docs.site.style`."""
    broken = {name: {fault.rule for fault in faults_of(name)} for name in rules_of_pages()}
    owed = {name: set(DEBTS.get(name, ())) for name in broken}
    assert {name: rules - owed[name] for name, rules in broken.items() if rules - owed[name]} == {}
    # A page that is mended is taken off the list.
    assert {name: rules - broken[name] for name, rules in owed.items() if rules - broken[name]} == {}
    assert set(DEBTS) <= set(broken)
    # Its words no page may owe.
    assert [name for name, rules in owed.items() if "words" in rules] == []


def test_tutorials_owe_nothing_and_have_one_picture() -> None:
    for name in (name for name, rules in rules_of_pages().items() if rules is TUTORIAL):
        assert name not in DEBTS
        assert len(re.findall(r"^!\[", (DOCS / name).read_text(encoding="utf-8"), re.MULTILINE)) <= 1


def test_what_a_newcomer_reads_has_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 4_000 < style.words_of_tasks() <= style.MOST_WORDS_OF_TASKS
    monkeypatch.setattr(style, "MOST_WORDS_OF_TASKS", 4_000)
    monkeypatch.setattr("sys.argv", ["docs.site.style"])
    assert style.main() == 1


@pytest.mark.parametrize(
    ("part", "page", "rule"),
    [
        ("How-to", "word " * 401, "words"),
        ("Explanation", "word " * 1801, "words"),
        ("Explanation", " ".join(["long"] * 36) + ".", "sentence"),
        ("Reference", "Of 1 2 3 4 5 6 7 it takes some.", "figures"),
        ("Evidence", "An error of .05 stands.", "zero"),
    ],
)
def test_the_rules_of_a_part_can_be_broken(part: str, page: str, rule: str) -> None:
    assert rule in {fault.rule for fault in faults(page, style.BY_PART[part])}
    assert faults("It is short.", style.BY_PART[part]) == []


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
    assert any(said in fault.said for fault in faults(page, rules)), faults(page, rules)


def test_what_is_code_a_table_or_an_address_is_no_prose() -> None:
    page = "Read `x.bin` in [this](cells/12345.md).\n\n| 1 | 2 | 3 |\n\n```sh\nls .05\n```\n\n```text\n7\n```\n"
    assert faults(page, TUTORIAL) == []


def test_a_command_whose_output_is_said_is_right() -> None:
    assert faults("```sh\nls\n```\n\nIt prints nothing.\n", TUTORIAL) == []
