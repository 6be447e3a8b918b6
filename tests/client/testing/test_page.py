"""The page about testing: its blocks run as tests, and every call and argument is on it."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from sordino_client import testing

PAGE = (Path(__file__).parents[3] / "docs" / "testing.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def functions_of(block: str) -> dict[str, object]:
    names: dict[str, object] = {}
    exec(compile(block, "docs/testing.md", "exec"), names)
    return {name: thing for name, thing in names.items() if name.startswith("test_")}


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_the_blocks_run(number: int, tmp_path: Path) -> None:
    found = functions_of(BLOCKS[number])
    assert found
    for name, test in found.items():
        (tmp_path / name).mkdir()
        test(tmp_path / name)  # type: ignore[operator]


@pytest.mark.parametrize("name", [name for name in vars(testing.FakeServer) if not name.startswith("_")])
def test_every_call_of_the_fake_server_is_on_the_page(name: str) -> None:
    of_the_protocol = {"send", "close", "now", "sleep", "campaign"}
    assert name in of_the_protocol or re.search(rf"`(server\.)?{name}\b", PAGE), name


@pytest.mark.parametrize("name", list(inspect.signature(testing.FakeServer).parameters))
def test_every_argument_is_on_the_page(name: str) -> None:
    assert re.search(rf"^\|.*`{name}`.*\|", PAGE, re.MULTILINE)


def test_the_public_names_are_sorted_and_there() -> None:
    assert testing.__all__ == sorted(testing.__all__)
    assert all(hasattr(testing, name) for name in testing.__all__)
