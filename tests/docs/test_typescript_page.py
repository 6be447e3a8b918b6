"""The page of the TypeScript SDK has every call, option and error of its sources."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "client" / "typescript" / "src"
PAGE = (ROOT / "docs" / "typescript-sdk.md").read_text(encoding="utf-8")


def named(pattern: str, *files: str) -> set[str]:
    return {name for file in files for name in re.findall(pattern, (SOURCES / file).read_text(), re.MULTILINE)}


def test_every_call_is_on_the_page() -> None:
    calls = named(r"^  async (\w+)\(", "client.ts")
    assert {"join", "answer", "flush"} <= calls
    assert not [call for call in calls if f"`{call}(" not in PAGE]


def test_every_option_is_on_the_page() -> None:
    (options,) = re.findall(r"interface ClientOptions \{(.*?)^\}", (SOURCES / "options.ts").read_text(), re.S | re.M)
    names = re.findall(r"^  readonly (\w+)", options, re.M)
    assert "caps" in names
    assert not [name for name in names if f"`{name}`" not in PAGE]


def test_every_error_is_on_the_page() -> None:
    errors = named(r"^export class (\w+) extends", "errors.ts", "transport.ts")
    assert "PlanRefused" in errors
    assert not [error for error in errors if f"`{error}`" not in PAGE]


def test_every_status_of_an_answer_is_one_of_python() -> None:
    (written,) = re.findall(r"type AnswerStatus =\n(.*?);", (SOURCES / "rules" / "answering.ts").read_text(), re.S)
    sdk = (ROOT / "docs" / "sdk.md").read_text(encoding="utf-8")
    assert not [status for status in re.findall(r'"(\w+)"', written) if f"| `{status}` |" not in sdk]
