"""The command line: keys once, checks before serving, status at any time, rounds given up on request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sordino_shared.protocol import BatchStatement
from sordino_shuffler import cli
from sordino_shuffler.released import Released
from sordino_shuffler.statements import SigningKey
from sordino_shuffler.store import State, Store
from tests.shuffler.small_collector import PART, SmallCollector, true_claims


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, path in (("FOLDER", "sealed"), ("KEPT", "kept"), ("CAMPAIGNS", "campaigns.toml")):
        monkeypatch.setenv(f"SORDINO_SHUFFLER_{name}", str(tmp_path / path))
    (tmp_path / "campaigns.toml").write_text("")
    return tmp_path


def _run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main(arguments)
    said = capsys.readouterr()
    return code, said.out, said.err


def _list(folder: Path, collector: SmallCollector, address: str) -> None:
    (folder / "campaigns.toml").write_text(
        f'[[campaign]]\nid = "{collector.campaign}"\ncollector = "{address}"\nkey = "{collector.key}"\n'
    )


def _store(folder: Path) -> Store:
    (folder / "sealed").mkdir()
    return Store(folder / "sealed" / "shuffler.sqlite3")


def test_a_key_is_made_once(folder: Path, capsys: pytest.CaptureFixture[str]):
    code, _, said = _run(capsys, "keys")
    assert (code, "keys --create" in said) == (2, True)
    code, made, _ = _run(capsys, "keys", "--create", "--json")
    assert code == 0
    found = json.loads(made)
    assert SigningKey.read(folder / "kept" / "signing.key").public.hex() == found["public_key"]
    assert (folder / "kept" / "signing.key").stat().st_mode & 0o777 == 0o600
    assert json.loads(_run(capsys, "keys", "--json")[1]) == found
    code, _, said = _run(capsys, "keys", "--create")
    assert (code, "never replaced" in said) == (2, True)


def test_a_damaged_key_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "kept").mkdir()
    for content in ("zz", "ab" * 31, ""):
        (folder / "kept" / "signing.key").write_text(content)
        code, _, said = _run(capsys, "keys")
        assert (code, "holds no signing key" in said) == (2, True)


def test_check_proves_every_claim_without_serving(folder: Path, capsys: pytest.CaptureFixture[str]):
    _run(capsys, "keys", "--create")
    key = SigningKey.read(folder / "kept" / "signing.key")
    good = SmallCollector(key.public)
    with good.running() as address:
        _list(folder, good, address)
        code, said, _ = _run(capsys, "check")
        assert (code, "2 claims proved" in said) == (0, True)
        assert not (folder / "sealed").exists()
    code, said, _ = _run(capsys, "check", "--json")
    assert code == 1
    assert "gives no answer" in json.loads(said)["campaigns"][0]["fault"]
    lying = SmallCollector(key.public, blanket=5, claims=true_claims(30, 10**9))
    with lying.running() as address:
        _list(folder, lying, address)
        code, said, _ = _run(capsys, "check")
        assert (code, "proves less" in said) == (1, True)


def test_status_needs_no_running_shuffler_and_says_what_is_wrong(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert _run(capsys, "status")[:2] == (0, "the shuffler does not run\nno rounds yet\n")
    store = _store(folder)
    row = store.pin(bytes(32), 3, bytes(PART.digest), 2_000_000_000)
    store.add(row, [bytes(49), b"\x01" * 49])
    store.note_trouble(bytes(32), "round 3", "round 3 is not handed on: the collector is down")
    store.close()
    with Released(folder / "kept" / "released"):
        code, said, _ = _run(capsys, "status")
    assert code == 1
    assert "the shuffler runs" in said
    assert "round 3  collecting, ends 2033-05-18T03:33:20Z, 2 reports" in said
    assert "the collector is down" in said
    assert "is not in" in said
    found = json.loads(_run(capsys, "status", "--json")[1])
    assert (found["running"], found["rounds"][0]["received"]) == (False, 2)


def test_a_round_is_given_up_once_and_its_reports_are_gone(folder: Path, capsys: pytest.CaptureFixture[str]):
    _run(capsys, "keys", "--create")
    arguments = ("close", "00" * 32, "0", "--abandon")
    assert _run(capsys, *arguments)[0] == 2
    store = _store(folder)
    row = store.pin(bytes(32), 0, bytes(PART.digest), 1)
    store.add(row, [bytes([number]) * 49 for number in range(25)])
    code, said, _ = _run(capsys, *arguments)
    assert (code, said) == (0, "round 0 is given up: about 20 reports are deleted unopened\n")
    row = store.round(bytes(32), 0)
    assert (row.state, store.count(row)) == (State.MISSED, 0)
    assert row.statement is not None
    assert BatchStatement.read(row.statement).ended == "abandoned"
    code, _, said = _run(capsys, *arguments)
    assert (code, "is missed already" in said) == (1, True)
    assert _run(capsys, "close", "00" * 32, "9", "--abandon")[0] == 1
    assert _run(capsys, "close", "nothing", "0", "--abandon")[0] == 2
    assert json.loads(_run(capsys, "purge", "--json")[1]) == {"rounds": 0}
    store.close()


@pytest.mark.parametrize("arguments", [["close", "00" * 32, "0"], ["close"], ["nothing"], []])
def test_a_wrong_command_line_says_how_it_is_used(
    arguments: list[str], folder: Any, capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2
    assert "usage: sordino-shuffler" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["serve", "status", "check", "close", "purge", "keys"])
def test_every_command_has_a_help_that_says_what_it_does(command: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        cli.main([command, "--help"])
    said = capsys.readouterr().out
    assert ended.value.code == 0
    assert len(" ".join(said.split())) > 150
    assert ("--json" in said) is (command != "serve")


def test_serve_without_its_files_ends_with_one_sentence(folder: Path, capsys: pytest.CaptureFixture[str]):
    code, _, said = _run(capsys, "serve")
    assert (code, "keys --create" in said) == (2, True)
    _run(capsys, "keys", "--create")
    (folder / "campaigns.toml").unlink()
    code, _, said = _run(capsys, "serve")
    assert (code, "[[campaign]]" in said) == (2, True)
