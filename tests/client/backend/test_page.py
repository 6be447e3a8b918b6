"""The page about backends: its block runs, and every call of an owner is on it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sordino_client import backend
from sordino_client.testing import Domain, FakeServer, Ordinal

PAGE = (Path(__file__).parents[3] / "docs" / "backends.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_block_runs(tmp_path, monkeypatch, capsys) -> None:
    server = FakeServer(Domain((Ordinal("minutes", edges=(0, 15, 60)),)))

    def store(target, **given) -> backend.LedgerStore:
        return real(tmp_path / target, transport=server, clock=server, **given)

    real = backend.LedgerStore
    monkeypatch.setattr(backend, "LedgerStore", store)
    monkeypatch.setenv("STORE_KEY", "ab" * 32)
    (block,) = BLOCKS
    exec(compile(re.sub(r"<the campaign.*?>", str(server.campaign), block), "docs/backends.md", "exec"), {})
    assert "spent in 28 days: ε 1 of 1" in capsys.readouterr().out
    assert len(server.received) == 1


@pytest.mark.parametrize("name", [name for name in vars(backend.StoredOwner) if not name.startswith("_")])
def test_every_call_of_an_owner_is_on_the_page(name) -> None:
    assert name == "statement" or re.search(rf"`{name}\b", PAGE)
