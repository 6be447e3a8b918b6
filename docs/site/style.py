"""Rules of plain writing: `python -m docs.site.style docs/first-campaign.md`.

A tutorial has at most 800 words, sentences of at most 25, at most two figures in 100 words, no symbol but ε, and after
each command what it prints. The README has at most 600 words. Everywhere a decimal begins with its zero.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from docs.site.blocks import blocks


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Limits of one kind of page; None sets no limit."""

    words: int | None = None
    sentence: int | None = None
    mean_sentence: float | None = None
    figures: float | None = None
    plain: bool = False


TUTORIAL = Rules(words=800, sentence=25, mean_sentence=15, figures=2, plain=True)
README = Rules(words=600, sentence=35, figures=6)
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


def faults(page: str, rules: Rules) -> list[str]:
    """What to change in a page, each with the place."""
    text = prose(page)
    words = len(text.split())
    found = [f"write 0{hit[0]} for {hit[0]!r}" for hit in _NAKED.finditer(re.sub(r"`[^`]*`", "", text))]
    if rules.words is not None and words > rules.words:
        found.append(f"{words} words, at most {rules.words}")
    every = list(sentences(text))
    for sentence in every:
        if rules.sentence is not None and len(sentence) > rules.sentence:
            found.append(f"{len(sentence)} words in a sentence, at most {rules.sentence}: {' '.join(sentence[:8])} …")
    mean = sum(map(len, every)) / max(1, len(every))
    if rules.mean_sentence is not None and mean > rules.mean_sentence:
        found.append(f"{mean:.1f} words in a sentence on average, at most {rules.mean_sentence}")
    figures = 100 * len(_FIGURE.findall(re.sub(r"`[^`]*`", "", text))) / max(1, words)
    if rules.figures is not None and figures > rules.figures:
        found.append(f"{figures:.1f} figures in 100 words, at most {rules.figures}")
    return [*found, *(_not_plain(page, text) if rules.plain else [])]


def _not_plain(page: str, text: str) -> Iterator[str]:
    """Words that a newcomer does not need, and commands whose output nobody says."""
    without_code = re.sub(r"`[^`]*`", "", text)
    for banned, instead in (_WORDS | _NAMES).items():
        for hit in re.finditer(banned, without_code if banned in _WORDS else text, re.IGNORECASE):
            yield f"{hit[0]!r}: {instead}"
    for block in blocks(page):
        end = page.index(block.text) + len(block.text) + len("```")
        if block.file is None and block.shown is None and not _PRINTS_NOTHING.match(page[end:]):
            yield f"line {block.line}: say what it prints: a block of text, or a paragraph “It prints …”"


def main() -> int:
    """Check the pages that are named; 1 where one breaks a rule."""
    parser = argparse.ArgumentParser(prog="python -m docs.site.style", description="Check tutorials and the README.")
    parser.add_argument("pages", nargs="+", type=Path)
    wrong = 0
    for page in parser.parse_args().pages:
        for fault in faults(page.read_text(encoding="utf-8"), README if page.name == "README.md" else TUTORIAL):
            wrong = 1
            print(f"{page}: {fault}")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
