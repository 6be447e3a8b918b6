"""`sordino demo --browser` in a real browser: a person reads, previews, answers, comes back and leaves."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from release import page
from sordino_server.cli import app
from sordino_server.cli.remote import Remote
from sordino_server.cli.server_process import address_of, listening
from sordino_server.cli.simulation import page_server
from sordino_server.cli.simulation.browser_run import closed, question
from sordino_server.cli.simulation.page_server import NoPage, Site, page_folders, serving
from sordino_server.kit.clock import ManualClock
from tests.patience import PATIENCE_S
from tests.server.cli.test_demo import COMMAND, await_no_processes_in, environment
from tests.server.conftest import RunningServer, served
from tests.server.console.browser.conftest import DESKTOP, PHONE, Window, chromium

__all__ = ["chromium"]

SENT, LEFT = "Your report is at the server", "You opted out"
UNREACHED = "The server is not reached"


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page as the server's wheel has it."""
    return page.pack(folder=tmp_path_factory.mktemp("page") / "packed")


@dataclass
class Demo:
    """A page on an origin of its own, and the server that lists this origin."""

    address: str
    server: RunningServer
    campaign: str

    def reports(self) -> int:
        """How many reports the server has counted."""
        found: int = self.server.api.get(f"/v1/campaigns/{self.campaign}/status").json()["rounds"][0]["reports"]
        return found

    def awaited(self, reports: int) -> None:
        """Wait until the server has counted so many."""
        end = time.monotonic() + PATIENCE_S
        while self.reports() != reports:
            assert time.monotonic() < end, "the report does not come"
            time.sleep(0.05)


@pytest.fixture
def demo(packed: Path, migrated_sqlite_url: str) -> Iterator[Demo]:
    listener = listening("127.0.0.1", 0)
    # A device sends at a random time of this window.
    settings = {"device_origins": address_of(listener), "retry_min_s": 0, "retry_max_s": 1}
    with served(migrated_sqlite_url, clock=ManualClock(int(time.time())), **settings) as server:
        campaign = server.campaign("open", workload=server.workload(question()))["id"]

        def close() -> str:
            server.api.post(f"/v1/campaigns/{campaign}/rounds/0/close").raise_for_status()
            server.work()
            with Remote(server.address, server.admin_key) as remote:
                return closed(remote, server.address, campaign)

        site = Site(folders=(packed,), settings={"server": server.address, "campaign": campaign}, close=close)
        with serving(listener, site) as address:
            yield Demo(address, server, campaign)


class Visitor(Window):
    """A person on the page. A request that goes neither to the page's origin nor to the server is a fault."""

    server = ""

    def _fault(self, text: str, is_one: bool = True) -> None:
        if not (self.server and text.startswith(self.server)):
            super()._fault(text, is_one)

    def choose(self, label: str) -> None:
        self.page.get_by_label(label).check()
        self.page.locator("#chances tr").first.wait_for()

    def answer(self, label: str) -> None:
        self.choose(label)
        self.page.get_by_role("button", name="Answer", exact=True).click()

    def says(self, text: str) -> None:
        self.page.get_by_role("status").filter(has_text=text).wait_for()

    def shows(self, **texts: str) -> None:
        """Wait until the lines of the account read so."""
        for name, text in texts.items():
            self.page.wait_for_function(
                "([name, text]) => document.getElementById(name).textContent === text", arg=[name, text]
            )


def visit(context: Any, address: str, server: str) -> Visitor:
    visitor = Visitor(address, context.new_page())
    visitor.server = server
    visitor.open("/")
    visitor.page.get_by_text("Guarantee: ε").wait_for()
    return visitor


def test_a_person_answers_comes_back_and_leaves(chromium: Any, demo: Demo) -> None:
    context = chromium.new_context(viewport=DESKTOP)
    visitor = visit(context, demo.address, demo.server.address)
    visitor.page.get_by_text("We ask how late you were.").wait_for()
    visitor.page.get_by_text("change at most 2.72-fold. From fifty-fifty at most to 73.1 %.").wait_for()
    visitor.choose("up to an hour late")
    # e / (e + 3) and 1 / (e + 3) of four labels, from the integers of the plan.
    assert visitor.page.locator("#chances .number").all_inner_texts() == ["17.5 %", "17.5 %", "47.5 %", "17.5 %"]
    assert "spends ε 1." in visitor.page.locator("#draw").inner_text()
    visitor.shows(spent="ε 0 of ε 1", waiting="0")
    assert demo.reports() == 0
    visitor.answer("up to an hour late")
    visitor.says(SENT)
    visitor.shows(spent="ε 1 of ε 1", period="ε 1 of ε 1", lifetime="ε 1 of ε 12", waiting="0")
    assert demo.reports() == 1
    # The account outlives the page, and a second answer is none.
    visitor.open("/")
    visitor.says(SENT)
    visitor.answer("early or on time")
    visitor.says("has answered already")
    visitor.shows(lifetime="ε 1 of ε 12")
    visitor.page.get_by_role("button", name="Opt out").click()
    visitor.says(LEFT)
    assert visitor.page.locator("#question").is_hidden()
    visitor.shows(spent="ε 1 of ε 1")
    # What was sent counts; the operator ends the question, and anyone reads what the server learnt.
    visitor.page.get_by_role("button", name="Close the question").click()
    visitor.page.get_by_role("link", name="What the server learnt").click()
    visitor.page.get_by_text("up to an hour late").first.wait_for()
    assert "/shared/" in visitor.page.url
    assert demo.reports() == 1
    assert not visitor.faults
    context.close()


@pytest.mark.slow
def test_a_page_that_is_left_sends_its_report_at_the_next_visit(chromium: Any, demo: Demo) -> None:
    context = chromium.new_context(viewport=PHONE)
    visitor = visit(context, demo.address, demo.server.address)
    visitor.choose("early or on time")
    # No connection to the server: the answer is recorded here, and the page says where it is.
    context.route(f"{demo.server.address}/**", lambda route: route.abort())
    visitor.page.get_by_role("button", name="Answer", exact=True).click()
    visitor.says("is recorded in this browser")
    visitor.shows(spent="ε 1 of ε 1", waiting="1")
    visitor.page.get_by_role("button", name="Send it now").click()
    visitor.says(UNREACHED)
    visitor.page.goto("about:blank")
    assert demo.reports() == 0
    context.unroute(f"{demo.server.address}/**")
    visitor.open("/")
    demo.awaited(1)
    visitor.says(SENT)
    visitor.shows(spent="ε 1 of ε 1", waiting="0")
    context.close()


@pytest.mark.slow
def test_who_declines_spends_nothing(chromium: Any, demo: Demo) -> None:
    context = chromium.new_context(viewport=PHONE)
    visitor = visit(context, demo.address, demo.server.address)
    visitor.page.get_by_role("button", name="No, thank you").click()
    visitor.says(LEFT)
    visitor.shows(spent="ε 0 of ε 1", lifetime="ε 0 of ε 12")
    assert demo.reports() == 0
    visitor.open("/")
    visitor.says(LEFT)
    assert visitor.page.locator("#question").is_hidden()
    assert not visitor.faults
    # Without a server the page says so, and what to do.
    context.route(f"{demo.server.address}/**", lambda route: route.abort())
    other = chromium.new_context()
    other.route(f"{demo.server.address}/**", lambda route: route.abort())
    lost = Visitor(demo.address, other.new_page())
    lost.open("/")
    lost.page.get_by_role("alert").filter(has_text="could not be fetched").wait_for()
    assert lost.page.locator("#question").is_hidden()
    other.close()
    context.close()


@pytest.mark.slow
def test_everybody_can_use_the_page(chromium: Any, demo: Demo) -> None:
    context = chromium.new_context(viewport=DESKTOP)
    visitor = visit(context, demo.address, demo.server.address)
    visitor.choose("up to an hour late")
    for scheme in ("light", "dark"):
        for size in (PHONE, DESKTOP):
            visitor.page.set_viewport_size(size)
            visitor.page.emulate_media(color_scheme=scheme)
            assert visitor.violations() == []
            assert visitor.overflow() == []
            visitor.keep(f"example-page-{size['width']}-{scheme}")
    context.close()


def test_another_page_does_not_end_the_question(demo: Demo) -> None:
    wrong = httpx.post(f"{demo.address}/close", headers={"Origin": "https://elsewhere.example"})
    assert wrong.status_code == 403
    assert httpx.post(f"{demo.address}/other", headers={"Origin": demo.address}).status_code == 403
    assert httpx.get(f"{demo.address}/settings.json").json()["result"] is None


def test_the_policy_lets_the_page_reach_its_server_alone(demo: Demo) -> None:
    for path, media_type in (("/", "text/html"), ("/sordino-client/index.js", "text/javascript")):
        found = httpx.get(demo.address + path)
        assert found.headers["content-type"].startswith(media_type)
        policy = found.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; ")
        assert f"connect-src 'self' {demo.server.address};" in policy
    with socket.create_connection(demo.address.removeprefix("http://").split(":"), PATIENCE_S) as outside:
        outside.sendall(b"GET /../../../../etc/hostname HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert outside.recv(100).startswith(b"HTTP/1.1 404")


@pytest.mark.parametrize("path", ["a\0b", "a" * 300, "a/" * 3000, "..", "/etc/passwd"])
def test_what_can_be_no_file_is_none(tmp_path: Path, path: str) -> None:
    assert Site(folders=(tmp_path,), settings={}, close=str).file(path) is None


def test_a_failed_end_is_told_and_tried_again(packed: Path) -> None:
    failures = [NoPage("no estimate yet")]

    def close() -> str:
        if failures:
            raise failures.pop()
        return "http://127.0.0.1:1/shared/x"

    listener = listening("127.0.0.1", 0)
    with serving(
        listener, Site(folders=(packed,), settings={"server": "http://127.0.0.1:1", "campaign": ""}, close=close)
    ) as address:
        first, second = (httpx.post(f"{address}/close", headers={"Origin": address}) for _ in "ab")
        assert (first.status_code, first.json()) == (502, {"detail": "no estimate yet"})
        assert second.json() == {"result": "http://127.0.0.1:1/shared/x"}
        assert httpx.get(f"{address}/settings.json").json()["result"] == "http://127.0.0.1:1/shared/x"


def test_what_is_missing_is_said_before_anything_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NoPage, match=r"`python -m release page` first; a released wheel of sordino-server has it"):
        page_folders(None, tmp_path / "packed")
    monkeypatch.setattr(page_server, "PACKED", tmp_path)

    def refused(*options: str) -> str:
        done = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["demo", *options])
        assert done.exit_code in (1, 2), done.output
        return " ".join(done.output.split())

    assert "name the folder of your page" in refused("--browser", "--page", str(tmp_path))
    assert "leave out --port" in refused("--port", "80")
    assert "leave out --series" in refused("--browser", "--series", "3")
    assert "2 to 10,000,000 devices" in refused("--browser", "--users", "1")


def test_a_port_that_is_taken_is_said(packed: Path) -> None:
    with listening("127.0.0.1", 0) as taken:
        port = str(taken.getsockname()[1])
        done = CliRunner().invoke(app, ["demo", "--browser", "--page", str(packed), "--port", port])
    assert done.exit_code == 1
    assert "is in use" in done.output


@pytest.mark.slow
def test_the_command_from_its_start_to_the_result(chromium: Any, packed: Path, tmp_path: Path) -> None:
    """40 devices and a person; then the server is killed while the page is open, and Ctrl-C leaves nothing."""
    options = ["--browser", "--json", "--users", "40", "--page", str(packed)]
    process = subprocess.Popen(
        [*COMMAND, *options], cwd=tmp_path, env=environment(tmp_path), stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    printed = ""
    while not printed.endswith("}\n"):
        printed += (line := process.stdout.readline())
        assert line, "the command ended"
    told = json.loads(printed)
    assert (told["devices"], told["epsilon"]) == (40, 1.0)
    context = chromium.new_context(viewport=DESKTOP)
    visitor = visit(context, told["page"].rstrip("/"), told["server"])
    visitor.answer("early or on time")
    visitor.says(SENT)
    other = chromium.new_context()
    late = visit(other, told["page"].rstrip("/"), told["server"])
    late.choose("early or on time")
    visitor.page.get_by_role("button", name="Close the question").click()
    visitor.page.get_by_role("link", name="What the server learnt").click()
    visitor.page.get_by_text("early or on time").first.wait_for()
    assert "41" in visitor.page.inner_text("main")
    servers = [each for each in Path("/proc").glob("[0-9]*") if _serves(each, tmp_path)]
    assert servers
    for each in servers:
        os.kill(int(each.name), signal.SIGKILL)
    late.page.get_by_role("button", name="Answer", exact=True).click()
    # The task that was read before still holds: the answer waits here for a server that never comes back.
    late.page.get_by_role("button", name="Send it now").click()
    late.says(UNREACHED)
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE_S) == 0
    await_no_processes_in(tmp_path)
    # What a killed server leaves is not ours to find.
    assert not list((tmp_path / "tmp").glob("sordino-*"))


def _serves(process: Path, folder: Path) -> bool:
    try:
        return b"\0serve\0" in (process / "cmdline").read_bytes() and (process / "cwd").readlink().is_relative_to(
            folder
        )
    except OSError:
        return False
