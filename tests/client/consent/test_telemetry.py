"""Consent: the environment above the owner above the app, nothing written while off, and commands that say so."""

from __future__ import annotations

import argparse
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import click
import pytest
import typer
from click.testing import CliRunner
from typer.testing import CliRunner as TyperRunner

from sordino_client import AnswerStatus, Caps, Client, WrongArgument
from sordino_client.consent import Telemetry, default_ledger, languages_of, switched_off
from sordino_client.testing import Categorical, Domain, FakeServer, Weekly

OS = Domain((Categorical("os", ("linux", "macos"), other=True),))
CAPS = Caps.of(1, days=28, lifetime=12)


@pytest.fixture
def server() -> FakeServer:
    return FakeServer(OS)


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "state" / "telemetry.sqlite3"


@pytest.fixture(autouse=True)
def nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests of root by sudo give their own environment."""
    for name in ("DO_NOT_TRACK", "CI", "SUDO_USER"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def make(server: FakeServer, ledger: Path) -> Callable[..., Telemetry]:
    def telemetry(**changes: Any) -> Telemetry:
        given: dict[str, Any] = {
            "server": "https://fake.sordino.example", "campaigns": {"os": server.campaign}, "caps": CAPS,
            "purpose": "Which system you run.", "ledger": ledger, "transport": server, "clock": server,
            "environ": {}, "terminal": True, "strict": True,
        }  # fmt: skip
        return Telemetry("my-tool", **(given | changes))

    return telemetry


def test_nothing_is_answered_or_sent_before_the_owner_agrees(make, server, ledger) -> None:
    telemetry = make()
    assert (telemetry.state().on, telemetry.state().why) == (False, "not asked")
    assert telemetry.answer("os", "linux") is None
    assert telemetry.send() is None
    assert server.requests == []
    assert not ledger.exists()


def test_who_agrees_is_asked_once_and_reports(make, server) -> None:
    said: list[str] = []
    state = make().ask(read=lambda _: "y", write=said.append)
    assert (state.on, state.why) == (True, "owner")
    assert "Which system you run." in said[0]
    assert "2.72-fold" in said[0]
    telemetry = make()
    assert telemetry.first_run() is None
    assert telemetry.ask(read=lambda _: pytest.fail("asked twice")).on
    assert telemetry.answer("os", "linux") is None
    telemetry.send()
    answer = telemetry.answer("os", lambda: "linux")
    assert answer is not None
    assert answer.status is AnswerStatus.RECORDED
    before = len(server.requests)
    assert telemetry.answer("os", lambda: pytest.fail("computed for nothing")) is None
    assert len(server.requests) == before
    server.travel(hours=2)
    assert telemetry.send().delivered == 1
    assert len(server.received) == 1


@pytest.mark.parametrize("said", ["", "n", "no", "Y es", "maybe"])
def test_no_is_the_default_and_is_never_reported(make, server, said: str) -> None:
    assert not make().ask(read=lambda _: said, write=lambda _: None).on
    assert make().first_run() is None
    assert make().state().why == "owner"
    assert server.requests == []


def test_an_end_of_input_is_a_no(make) -> None:
    def read(_: str) -> str:
        raise EOFError

    assert make().ask(read=read, write=lambda _: None).why == "owner"


@pytest.mark.parametrize(
    ("environ", "variable"),
    [
        ({"DO_NOT_TRACK": "1"}, "DO_NOT_TRACK"),
        ({"DO_NOT_TRACK": "please"}, "DO_NOT_TRACK"),
        ({"DO_NOT_TRACK": ""}, None),
        ({"DO_NOT_TRACK": " No "}, None),
        ({"DO_NOT_TRACK": "false"}, None),
        ({"DO_NOT_TRACK": "0"}, None),
        ({"DO_NOT_TRACK": "off"}, None),
        ({"MY_TOOL_TELEMETRY": "0"}, "MY_TOOL_TELEMETRY"),
        ({"MY_TOOL_TELEMETRY": "OFF"}, "MY_TOOL_TELEMETRY"),
        ({"MY_TOOL_TELEMETRY": "false"}, "MY_TOOL_TELEMETRY"),
        ({"MY_TOOL_TELEMETRY": "1"}, None),
        ({"MY_TOOL_TELEMETRY": ""}, None),
        ({"OTHER_TELEMETRY": "0"}, None),
        ({"CI": "true"}, "CI"),
        ({"CI": "false"}, None),
    ],
)
def test_the_environment_only_switches_off(make, server, ledger, environ, variable) -> None:
    assert switched_off("my-tool", environ) == variable
    make().turn_on()
    held = make(environ=environ)
    assert (held.state().on, held.state().variable) == (variable is None, variable)
    content = ledger.read_bytes()
    if variable is not None:
        assert held.answer("os", "linux") is None
        assert held.send() is None
        assert held.first_run() is None
        assert server.requests == []
        assert ledger.read_bytes() == content
    # It is forgotten with the variable.
    assert make().state().on


def test_nothing_in_the_environment_is_consent(make, ledger) -> None:
    telemetry = make(environ={"MY_TOOL_TELEMETRY": "1", "DO_NOT_TRACK": "0"})
    assert telemetry.state().why == "not asked"
    telemetry = make(environ={"DO_NOT_TRACK": "1"})
    assert telemetry.ask(read=lambda _: "y").why == "environment"
    assert not ledger.exists()


def test_on_under_do_not_track_is_kept_and_said_to_be_off(make) -> None:
    held = make(environ={"DO_NOT_TRACK": "1"})
    done = CliRunner().invoke(held.click_group(), ["on"])
    assert done.output == "Your choice is kept. my-tool telemetry is off: DO_NOT_TRACK is set.\n"
    assert make().state().on


def test_without_a_terminal_nothing_is_asked(make, ledger) -> None:
    telemetry = make(terminal=False)
    assert telemetry.state().why == "no terminal"
    assert telemetry.first_run() is None
    assert telemetry.ask(read=lambda _: "y").why == "no terminal"
    assert not ledger.exists()
    make().turn_on()
    assert make(terminal=False).state().on


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="root decides for somebody else")
def test_root_does_not_decide_for_another_user(make) -> None:
    make().turn_on()
    state = make(environ={"SUDO_USER": "maria"}).state()
    assert (state.on, state.why, state.variable) == (False, "another user", "SUDO_USER")


def test_a_notice_is_given_a_day_before_the_first_answer(make, server) -> None:
    telemetry = make(consent="notice")
    text = telemetry.first_run()
    assert text is not None
    assert text.startswith("my-tool will report from tomorrow on")
    assert telemetry.first_run() is None
    assert make(consent="notice").first_run() is None
    assert (telemetry.state().on, telemetry.state().why) == (False, "notice")
    server.travel(hours=23.9)
    assert not make(consent="notice").state().on
    server.travel(hours=0.2)
    assert not telemetry.state().on, "not in the run that showed it"
    later = make(consent="notice")
    assert (later.state().on, later.state().why) == (True, "notice")
    assert not later.turn_off().on
    assert not make(consent="notice").state().on


def test_a_notice_is_none_of_the_owners_decisions_in_any_language(make, server) -> None:
    """The text of a notice changes with the language and the app's version; who was told of it decided nothing."""
    assert make(consent="notice", languages=["en"]).first_run() is not None
    server.travel(hours=25)
    for changes in ({"languages": ["de"]}, {"purpose": "Which system you run, and no more."}, {"consent": "ask"}):
        telemetry = make(**({"consent": "notice"} | changes))
        assert (telemetry.state().on, telemetry.state().why) == (True, "notice")
        assert "you were told of it" in telemetry.show()
        assert telemetry.state().asked_at == int(server.now()) - 25 * 3600
    assert telemetry.turn_on().why == "owner"


@pytest.mark.parametrize("consent", ["ask", "notice"])
def test_a_tool_whose_ledger_cannot_be_written_runs_on_without_a_question(make, tmp_path, consent) -> None:
    (tmp_path / "file").write_text("no folder")
    telemetry = make(ledger=tmp_path / "file" / "ledger", strict=False, consent=consent)
    assert telemetry.first_run() is None
    state = telemetry.ask(read=lambda _: pytest.fail("asked"), write=lambda _: pytest.fail("said"))
    assert not state.on
    assert telemetry.answer("os", "linux") is None
    group = telemetry.click_group()
    done = CliRunner().invoke(group, ["on"])
    assert done.exit_code == 1
    assert "its folder cannot be made" in done.output
    assert "give the app a folder" in done.output


def test_an_answer_to_the_question_that_cannot_be_kept_is_a_no(make, ledger) -> None:
    def read(_: str) -> str:
        ledger.write_bytes(b"damaged" * 1000)
        return "y"

    state = make(strict=False).ask(read=read, write=lambda _: None)
    assert (state.on, state.why) == (False, "ledger")


def test_commands_on_a_damaged_ledger_end_with_a_sentence(make, ledger) -> None:
    ledger.parent.mkdir()
    ledger.write_bytes(b"damaged" * 1000)
    telemetry = make(strict=False)
    for command in (["show"], ["show", "--json"], ["on"], ["off"]):
        done = CliRunner().invoke(telemetry.click_group(), command)
        assert (done.exit_code, "it is not a ledger, or it is damaged" in done.output) == (1, True), command
    parser = argparse.ArgumentParser()
    telemetry.add_argparse(parser.add_subparsers())
    arguments = parser.parse_args(["telemetry", "off"])
    with pytest.raises(SystemExit, match="damaged"):
        arguments.run(arguments)
    assert ledger.read_bytes() == b"damaged" * 1000


def test_a_preview_makes_no_file(make, ledger) -> None:
    ledger.parent.mkdir()
    for environ in ({}, {"DO_NOT_TRACK": "1"}):
        done = CliRunner().invoke(make(environ=environ).click_group(), ["preview", "os", "linux"])
        assert "was never joined" in done.output
        assert list(ledger.parent.iterdir()) == []


def test_a_new_campaign_asks_again_and_the_old_one_goes_on(make, server) -> None:
    make().turn_on()
    other = FakeServer(OS, name="other").campaign
    both = make(campaigns={"os": server.campaign, "crash": other})
    both.send()
    assert both.answer("os", "linux") is not None
    assert both.answer("crash", "linux") is None
    assert both.first_run() is not None
    assert not any(str(other) in request.path for request in server.requests)


def test_off_deletes_what_waits_and_on_comes_back(make, server, ledger) -> None:
    telemetry = make()
    telemetry.turn_on()
    telemetry.send()
    telemetry.answer("os", "linux")
    made = len(server.requests)
    assert telemetry.turn_off().why == "owner"
    assert telemetry.account()["campaigns"][0]["reports"][0]["state"] == "deleted"
    assert telemetry.account()["opted_out"] == int(server.now())
    server.travel(days=1)
    assert telemetry.send() is None
    assert len(server.requests) == made
    assert telemetry.turn_on().on
    with closing(sqlite3.connect(ledger)) as rows:
        decisions = rows.execute("SELECT decision, length(text) FROM consent ORDER BY number").fetchall()
    assert decisions == [("on", 32), ("off", 32), ("on", 32)]


def test_a_tool_survives_its_telemetry(make, server, ledger, caplog) -> None:
    quiet = make(strict=False)
    quiet.turn_on()
    server.offline()
    assert quiet.send() is not None
    server.online()
    quiet.send()

    def measure() -> str:
        raise RuntimeError("of user maria")

    assert quiet.answer("os", measure) is None
    assert quiet.answer("unknown", "linux") is None
    assert "maria" not in caplog.text
    ledger.write_bytes(b"x" * 4096)
    assert quiet.answer("os", "linux") is None
    assert (quiet.state().on, quiet.state().why) == (False, "ledger")
    with pytest.raises(WrongArgument, match="no campaign is called 'unknown'; there are os"):
        make().answer("unknown", "linux")


def test_a_series_is_answered_when_it_is_due_without_a_connection(ledger) -> None:
    server = FakeServer(OS, series=Weekly(slots=4))
    telemetry = Telemetry(
        "tool", server="https://fake.sordino.example", campaigns={"os": server.campaign}, caps=CAPS, purpose="x",
        ledger=ledger, transport=server, clock=server, environ={}, terminal=True, strict=True,
    )  # fmt: skip
    telemetry.turn_on()
    telemetry.send()
    server.offline()
    answered = []
    for _ in range(8):
        answered.append(telemetry.answer("os", "linux") is not None)
        server.travel(days=7)
    assert answered.count(True) == 2
    assert "next: os on 20" in telemetry.show()


def test_show_says_all(make, server) -> None:
    telemetry = make()
    assert telemetry.show().splitlines()[-1] == "Nothing was answered, and no file was made."
    telemetry.turn_on()
    telemetry.send()
    telemetry.answer("os", "linux")
    text = telemetry.show()
    assert text.startswith(
        "my-tool telemetry is on since 2027-01-15: you turned it on.\nIt asks: Which system you run."
    )
    assert "At most ε 1 in 28 days and 12 for life." in text
    assert "waits to be sent" in text


def run_click(telemetry: Telemetry, *arguments: str) -> str:
    cli = click.Group("tool")
    cli.add_command(telemetry.click_group())
    done = CliRunner().invoke(cli, ["telemetry", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def run_typer(telemetry: Telemetry, *arguments: str) -> str:
    app = typer.Typer()
    app.add_typer(telemetry.typer_app(), name="telemetry")
    done = TyperRunner().invoke(app, ["telemetry", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def run_argparse(telemetry: Telemetry, *arguments: str) -> str:
    import contextlib
    import io

    parser = argparse.ArgumentParser("tool")
    telemetry.add_argparse(parser.add_subparsers())
    given, output = parser.parse_args(["telemetry", *arguments]), io.StringIO()
    with contextlib.redirect_stdout(output):
        assert given.run(given) == 0
    return output.getvalue()


@pytest.mark.parametrize("run", [run_click, run_typer, run_argparse])
def test_the_commands_are_the_same_for_each_library(make, server, run, caplog) -> None:
    telemetry = make()
    assert "off: you were not asked yet" in run(telemetry, "show")
    assert run(telemetry, "on") == "my-tool telemetry is on since 2027-01-15: you turned it on.\n"
    telemetry.send()
    previewed = run(telemetry, "preview", "os", "linux")
    assert "spends   ε = 1" in previewed
    caplog.clear()
    assert run(telemetry, "preview").startswith("os\nfor an example, the first answer that there is\ncampaign ")
    assert caplog.records == []
    assert '"per_period"' in run(telemetry, "show", "--json")
    assert run(telemetry, "off") == "my-tool telemetry is off since 2027-01-15: you turned it off.\n"
    assert server.received == []
    assert "no campaign is called 'other'" in run(telemetry, "preview", "other")


def test_the_commands_of_two_libraries_need_not_be_there(make, monkeypatch) -> None:
    import sys

    for name in ("click", "typer"):
        monkeypatch.setitem(sys.modules, name, None)
    run_argparse(make(), "show")
    with pytest.raises(ImportError):
        make().click_group()


@pytest.mark.parametrize(
    ("platform", "environ", "path"),
    [
        ("linux", {"HOME": "/home/a"}, "/home/a/.local/state/tool/telemetry.sqlite3"),
        ("linux", {"HOME": "/home/a", "XDG_STATE_HOME": "/s"}, "/s/tool/telemetry.sqlite3"),
        ("linux", {"HOME": "/home/a", "XDG_STATE_HOME": "s"}, "/home/a/.local/state/tool/telemetry.sqlite3"),
        ("darwin", {"HOME": "/Users/a"}, "/Users/a/Library/Application Support/tool/telemetry.sqlite3"),
        ("win32", {"HOME": "/u", "LOCALAPPDATA": "/u/local"}, "/u/local/tool/telemetry.sqlite3"),
    ],
)
def test_the_ledger_is_in_the_users_folder_for_state(platform, environ, path) -> None:
    assert default_ledger("tool", environ, platform) == Path(path)


def test_the_folder_of_the_ledger_is_the_owners_alone(make, ledger) -> None:
    make().turn_on()
    assert ledger.parent.stat().st_mode & 0o777 == 0o700
    assert ledger.stat().st_mode & 0o777 == 0o600


def test_the_owners_languages_are_those_of_the_system() -> None:
    assert languages_of({"LANGUAGE": "de_CH:de", "LANG": "en_US.UTF-8"}) == ("de-CH", "de", "en-US")
    assert languages_of({"LC_ALL": "C", "LANG": "sr_RS@latin"}) == ("sr-RS",)
    assert languages_of({}) == ()


def test_the_question_is_in_odds_of_the_owners_language(make) -> None:
    assert "2,72-Fache" in make(environ={"LANG": "de_DE.UTF-8"}).first_run()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"purpose": " "}, "a purpose: a sentence about what is asked"),
        ({"caps": 1}, r"give caps=Caps.of"),
        ({"consent": "yes"}, 'consent is "ask" or "notice"'),
        ({"campaigns": {}}, "a mapping of your names to ids"),
        ({"campaigns": {"a": "b"}}, "hexadecimal"),
        ({"server": "http://far.example", "transport": None}, "not encrypted"),
    ],
)
def test_a_wrong_argument_says_what_to_write(make, wrong, message) -> None:
    with pytest.raises(WrongArgument, match=message):
        make(**wrong)


@pytest.mark.parametrize("name", ["", "../up", "a b", "a/b", ".hidden", "x" * 65, None])
def test_a_tools_name_is_no_path(name) -> None:
    with pytest.raises(WrongArgument, match="that of a command"):
        default_ledger(name, {"HOME": "/h"})


def test_other_clients_of_the_ledger_obey_too(make, server, ledger) -> None:
    make().turn_on()
    make().turn_off()
    with Client("https://fake.sordino.example", ledger=ledger, caps=CAPS, transport=server, clock=server) as client:
        assert client.opted_out
