"""Every workflow, ours and those of the examples, uses actions by a commit, whose version a comment names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted([*ROOT.glob(".github/workflows/*.yml"), *ROOT.glob("examples/*/*.yml")])
PINNED = re.compile(r"uses: [A-Za-z0-9_.-]+/[A-Za-z0-9_./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


def unpinned(text: str) -> list[str]:
    """The lines that use an action otherwise."""
    return [line.strip() for line in text.splitlines() if "uses:" in line and not PINNED.fullmatch(line.strip(" -"))]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_commit(path: Path) -> None:
    text = path.read_text("utf-8")
    assert unpinned(text) == []
    # The file is one that a runner reads, and says what its token may do.
    document = yaml.safe_load(text)
    if "jobs" in document:
        assert "permissions" in document


def test_one_action_has_one_commit() -> None:
    used = {
        line.split("uses: ")[1]
        for path in WORKFLOWS
        for line in path.read_text("utf-8").splitlines()
        if "uses: " in line
    }
    names = [each.partition("@")[0] for each in used]
    assert len(names) >= 6
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    "line",
    [
        "- uses: actions/checkout@v4",
        "- uses: actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683",
        "- uses: actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af68 # v4.2.2",
        "- uses: docker://alpine:3",
    ],
)
def test_what_a_tag_moves_is_found(line: str) -> None:
    assert unpinned(line) == [line]
