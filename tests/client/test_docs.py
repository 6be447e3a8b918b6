"""The SDK's page names every public thing, and its first example runs."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import sordino_client
from sordino_client import AnswerStatus, Client

PAGE = (Path(__file__).parents[2] / "docs" / "sdk.md").read_text()


@pytest.mark.parametrize("name", sordino_client.__all__)
def test_every_public_name_is_on_the_page(name) -> None:
    assert re.search(rf"\b{name}\b", PAGE)


@pytest.mark.parametrize("argument", list(inspect.signature(Client).parameters))
def test_every_argument_is_on_the_page(argument) -> None:
    assert re.search(rf"^\|.*`{argument}`.*\|", PAGE, re.MULTILINE)


@pytest.mark.parametrize("status", list(AnswerStatus))
def test_every_status_is_on_the_page(status) -> None:
    assert f"| `{status.value}` |" in PAGE


def test_the_first_example_runs(world, make_client, tmp_path, monkeypatch, capsys) -> None:
    example = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert example is not None
    text = example[1].replace("<the campaign's id, 64 hexadecimal digits>", str(world.campaign))
    client = make_client()
    monkeypatch.setattr(sordino_client, "Client", lambda *_, **__: client)
    exec(compile(text, "docs/sdk.md", "exec"), {})
    assert "spent for life: ε 1 of 40" in capsys.readouterr().out
    assert len(world.counted) == 1
