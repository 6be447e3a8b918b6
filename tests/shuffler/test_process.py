"""One real process: what it serves, what it refuses to share, and what it leaves when it is told to stop."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from sordino_client import HttpTransport, Request
from sordino_shared.http.address import Address
from sordino_shuffler import cli
from sordino_shuffler.checking import check_running
from sordino_shuffler.collector import CollectorLink
from tests.patience import PATIENCE_S
from tests.shuffler.processes import Setup, answers, wait_for
from tests.shuffler.small_collector import upload_body


@pytest.fixture
def setup(tmp_path: Path) -> Iterator[Setup]:
    made = Setup(tmp_path, end=int(time.time()) + 3600)
    for name in ("collector", "shuffler"):
        made.start(name)
    made.wait_until_served()
    yield made
    made.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_in_order_and_leaves_no_order_of_arrival(setup: Setup, number: signal.Signals):
    collector, transport = setup.collector(), HttpTransport(setup.url)
    path = f"/v1/campaigns/{setup.campaign}/rounds/0/sealed"
    for _ in range(3):
        body = upload_body(collector.sealed())
        assert transport.send(Request(method="POST", path=path, limit=1 << 16, body=body)).status == 200
    transport.close()
    wait_for(lambda: answers(f"{setup.url}/health"), "its health")
    with urllib.request.urlopen(f"http://127.0.0.1:{setup.metrics_port}/metrics", timeout=60) as page:
        assert 'sordino_shuffler_reports_total{outcome="accepted"} 3' in page.read().decode()
    # Nobody else serves the folder.
    second = subprocess.run(
        [sys.executable, "-m", "sordino_shuffler", "serve"],
        env=setup.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert (second.returncode, "in use by another program" in second.stderr) == (1, True)
    process = setup.running.pop("shuffler")
    process.send_signal(number)
    assert process.wait(PATIENCE_S) == 0, setup.log()
    journal = setup.folder / "sealed" / "shuffler.sqlite3-wal"
    assert not journal.exists() or journal.stat().st_size == 0
    # Its own address and the collector's may be there, and no device's.
    log = setup.log().replace(f"on 127.0.0.1:{setup.shuffler_port}", "")
    assert "127.0.0.1" not in re.sub(r"http://127\.0\.0\.1:\d+ gives no answer", "", log)


def test_check_looks_at_a_running_shuffler_as_a_device_does(setup: Setup, capsys: pytest.CaptureFixture[str]):
    campaign = str(setup.campaign)

    def said(*arguments: str, code: int = 1) -> str:
        assert cli.main(["check", *arguments, "--json"]) == code
        [found] = json.loads(capsys.readouterr().out)["campaigns"]
        assert (found["summary"] is None) == bool(code)
        text: str = found["summary"] or found["fault"]
        return text

    assert "2 claims proved, (ε 1, δ" in said(setup.url, "--campaign", campaign, code=0)
    with urllib.request.urlopen(f"http://127.0.0.1:{setup.metrics_port}/metrics", timeout=60) as page:
        counted = page.read().decode()
    assert 'refused_total{problem="invalid-request"} 1' in counted
    assert "accepted" not in counted
    # At the collector all documents are the same, and no device is sent there.
    assert "not here" in said(f"http://127.0.0.1:{setup.collector_port}", "--campaign", campaign)
    assert "no document at" in said(setup.url, "--campaign", "ab" * 32)
    setup.kill("shuffler")
    assert "gives no answer" in said(setup.url, "--campaign", campaign)
    assert cli.main(["check", setup.url, "--campaign", "zz"]) == 2
    assert cli.main(["check", "ftp://mix.example", "--campaign", campaign]) == 2


def test_check_finds_a_shuffler_that_takes_what_it_should_refuse(setup: Setup, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(CollectorLink, "refusal", lambda *_: "200")
    found = check_running(Address.parse(setup.url), [setup.campaign])
    assert found["campaigns"][0]["fault"] == "a report that is a byte too long is answered 200, not invalid-request"


def test_pages_of_listed_origins_may_send_sealed_reports(tmp_path: Path):
    page = "https://app.example"
    made = Setup(tmp_path, end=int(time.time()) + 3600)
    made.environment["SORDINO_SHUFFLER_DEVICE_ORIGINS"] = page
    made.start("shuffler")
    path = f"{made.url}/v1/campaigns/{made.campaign}/rounds/0/sealed"
    try:
        wait_for(lambda: allowed(path, page) == page, "the shuffler")
        assert allowed(path, "https://elsewhere.example") is None
        assert allowed(f"{made.url}/health", page) is None
    finally:
        made.close()


def allowed(url: str, origin: str) -> str | None:
    """The origin that a preflight allows; None too where nothing answers yet."""
    headers = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    request = urllib.request.Request(url, method="OPTIONS", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return str(answer.headers["Access-Control-Allow-Origin"])
    except urllib.error.URLError as error:
        return getattr(error, "headers", {}).get("Access-Control-Allow-Origin")
