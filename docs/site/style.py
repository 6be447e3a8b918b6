"""Rules of plain writing: `python -m docs.site.style` checks every page, by the part that docs/README.md lists it in.

A tutorial has at most 800 words and a how-to 400, with sentences of at most 25, at most two figures in 100 words, no
symbol but ε, and after each command what it prints. An explanation has at most 1,800 words, and like the reference
sentences of at most 35 and six figures in 100 words. The README has at most 600 words. Everywhere a decimal begins with
its zero. `DEBTS` lists the rules that pages of before do not keep yet: it may only become shorter.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from docs.site.blocks import blocks
from docs.site.contents import CONTENTS, DOCS, ROOT, parts


@dataclass(frozen=True)
class Fault:
    """What to change: the name of the rule, and the place in words."""

    rule: str
    said: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.said}"


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Limits of one kind of page; None sets no limit."""

    words: int | None = None
    sentence: int | None = None
    mean_sentence: float | None = None
    figures: float | None = None
    plain: bool = False


TUTORIAL = Rules(words=800, sentence=25, mean_sentence=15, figures=2, plain=True)
HOW_TO = Rules(words=400, sentence=25, mean_sentence=15, figures=2, plain=True)
EXPLANATION = Rules(words=1800, sentence=35, figures=6)
REFERENCE = Rules(sentence=35, figures=6)
EVIDENCE = Rules()
README = Rules(words=600, sentence=35, figures=6)
BY_PART = {
    "Tutorials": TUTORIAL,
    "How-to": HOW_TO,
    "Explanation": EXPLANATION,
    "Reference": REFERENCE,
    "Evidence": EVIDENCE,
}
# What a newcomer reads altogether.
MOST_WORDS_OF_TASKS = 15_200
# Rules that pages written before the rules do not keep; a page that keeps one is taken off, and none is added.
DEBTS = {
    "protocol.md": ("sentence",),
}
# What a newcomer's page calls otherwise, and what a test or a benchmark needs alone.
_WORDS = {
    r"\bcells?\b": "value",
    r"\btypes?\b": "value",
    r"\bbins?\b": "step",
}
_NAMES = {
    r"`tests/": "no test is named here",
    r"\bbenchmarks\.": "no benchmark is named here",
    r"[γρστκδ√×∑≥]": "no symbol but ε",
}
_FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_NAKED = re.compile(r"(?<![\w.)\]])\.\d+\b")
_FIGURE = re.compile(r"(?<![\w.])\d[\d,.]*")
_PRINTS_NOTHING = re.compile(r"\A\s*(It prints|You may)")


def prose(page: str) -> str:
    """What is read: without blocks, comments, tables, pictures and the addresses of links; code as one word."""
    text = re.sub(r"<!--.*?-->", "", _FENCE.sub("\n\n", page), flags=re.DOTALL)
    text = re.sub(r"^\|.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)


def sentences(text: str) -> Iterator[list[str]]:
    """The words of each sentence. A heading, a paragraph and an item of a list end one, as do full stops and colons."""
    for paragraph in re.split(r"\n\s*\n|^#+ .*$|\n(?=\s*[-*\d]+\.? )", text, flags=re.MULTILINE):
        plain = re.sub(r"`[^`]*`", "code", paragraph)
        for sentence in re.split(r"(?<=[.:?!])\s+", " ".join(plain.split())):
            if words := re.findall(r"[\w’'-]+", sentence):
                yield words


def faults(page: str, rules: Rules) -> list[Fault]:
    """What to change in a page, each with the place."""
    text = prose(page)
    without_code = re.sub(r"`[^`]*`", "", text)
    words = len(text.split())
    found = [Fault("zero", f"write 0{hit[0]} for {hit[0]!r}") for hit in _NAKED.finditer(without_code)]
    if rules.words is not None and words > rules.words:
        found.append(Fault("words", f"{words} words, at most {rules.words}"))
    figures = 100 * len(_FIGURE.findall(without_code)) / max(1, words)
    if rules.figures is not None and figures > rules.figures:
        found.append(Fault("figures", f"{figures:.1f} figures in 100 words, at most {rules.figures}"))
    found += _long_sentences(text, rules)
    return [*found, *(_not_plain(page, text) if rules.plain else [])]


def _long_sentences(text: str, rules: Rules) -> Iterator[Fault]:
    """Sentences above the limit, and a mean above the other one."""
    every = list(sentences(text))
    for sentence in every:
        if rules.sentence is not None and len(sentence) > rules.sentence:
            begun = " ".join(sentence[:8])
            yield Fault("sentence", f"{len(sentence)} words in a sentence, at most {rules.sentence}: {begun} …")
    mean = sum(map(len, every)) / max(1, len(every))
    if rules.mean_sentence is not None and mean > rules.mean_sentence:
        yield Fault("sentence", f"{mean:.1f} words in a sentence on average, at most {rules.mean_sentence}")


def _not_plain(page: str, text: str) -> Iterator[Fault]:
    """Words that a newcomer does not need, and commands whose output nobody says."""
    without_code = re.sub(r"`[^`]*`", "", text)
    for banned, instead in (_WORDS | _NAMES).items():
        for hit in re.finditer(banned, without_code if banned in _WORDS else text, re.IGNORECASE):
            yield Fault("plain", f"{hit[0]!r}: {instead}")
    for block in blocks(page):
        end = page.index(block.text) + len(block.text) + len("```")
        if block.file is None and block.shown is None and not _PRINTS_NOTHING.match(page[end:]):
            yield Fault("output", f"line {block.line}: say what it prints: a block of text, or “It prints …”")


def rules_of_pages() -> dict[str, Rules]:
    """The rules of each page that docs/README.md lists, by its name."""
    listed = parts(CONTENTS.read_text(encoding="utf-8"))
    return {
        entry.target: BY_PART[part.title] for part in listed for entry in part.entries if entry.target.endswith(".md")
    }


def faults_of(name: str) -> list[Fault]:
    """What to change in one page of docs/, debts included."""
    return faults((DOCS / name).read_text(encoding="utf-8"), rules_of_pages()[name])


def words_of_tasks() -> int:
    """Words of all tutorials and how-tos together."""
    tasks = [name for name, rules in rules_of_pages().items() if rules in (TUTORIAL, HOW_TO)]
    return sum(len(prose((DOCS / name).read_text(encoding="utf-8")).split()) for name in tasks)


def main() -> int:
    """Check the pages that are named, or all; 1 where one breaks a rule that it does not owe."""
    parser = argparse.ArgumentParser(prog="python -m docs.site.style", description="Check pages and the README.")
    parser.add_argument("pages", nargs="*", type=Path, help="pages of docs/; all without one")
    named = [path.resolve().relative_to(DOCS.resolve()).as_posix() for path in parser.parse_args().pages]
    wrong = 0
    for name in named or rules_of_pages():
        for fault in faults_of(name):
            if fault.rule not in DEBTS.get(name, ()):
                wrong = 1
                print(f"docs/{name}: {fault}")
    if not named:
        found = faults((ROOT / "README.md").read_text(encoding="utf-8"), README)
        print(*(f"README.md: {fault}" for fault in found), sep="\n", end="\n" if found else "")
        print(f"{words_of_tasks():,} words in tutorials and how-tos, at most {MOST_WORDS_OF_TASKS:,}")
        wrong = max(wrong, bool(found), words_of_tasks() > MOST_WORDS_OF_TASKS)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
