"""One real process: what it serves, what it refuses to share, and what it leaves when it is told to stop."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from sordino_client import HttpTransport, Request
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
