"""The page about consent: its first block and its test run, its question is the real one, every call is on it."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from sordino_client.consent import ConsentState, Telemetry
from sordino_client.testing import Categorical, Domain, FakeServer

PAGE = (Path(__file__).parents[3] / "docs" / "consent.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_first_block_runs_and_asks_what_the_page_shows(tmp_path, monkeypatch, capsys) -> None:
    for name in ("DO_NOT_TRACK", "CI", "SUDO_USER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("LANGUAGE", "")
    monkeypatch.setenv("LC_ALL", "C")
    campaign = FakeServer(Domain((Categorical("os", ("linux",), other=True),))).campaign
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda prompt: "n")
    names: dict[str, object] = {"measured_ms": 1}
    exec(compile(re.sub(r"<the campaign.*?>", str(campaign), BLOCKS[0]), "docs/consent.md", "exec"), names)
    shown = re.search(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert shown is not None
    assert capsys.readouterr().out.startswith(shown[1])
    assert names["telemetry"].state().why == "owner"  # type: ignore[attr-defined]


def test_the_test_of_the_page_passes(tmp_path) -> None:
    names: dict[str, object] = {}
    exec(compile(BLOCKS[-1], "docs/consent.md", "exec"), names)
    names["test_nothing_is_sent_before_the_owner_agrees"](tmp_path)  # type: ignore[operator]


@pytest.mark.parametrize("name", [name for name in vars(Telemetry) if not name.startswith("_")])
def test_every_call_is_on_the_page(name) -> None:
    assert name in {"turn_off", "show", "preview"} or re.search(rf"telemetry\.{name}\b|`{name}`", PAGE), name


@pytest.mark.parametrize("field", inspect.signature(ConsentState).parameters if inspect.isclass(ConsentState) else ())
def test_every_field_of_a_state_is_on_the_page(field) -> None:
    assert re.search(rf"\b{field}\b", PAGE)
