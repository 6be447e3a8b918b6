"""The browser is killed at each step of a page's ledger: what was acknowledged is there, whole, and once."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.client.test_typescript import run
from tests.patience import PATIENCE_S
from tests.server.console.browser.conftest import ARGUMENTS, chromium_path
from tests.server.serving.test_pages_as_devices import _Scripts

# The change that the browser is killed in; those before it were acknowledged.
AT = 5
# Step of a change, and whether it is in the ledger afterwards; None: either is right, since nobody was told.
STEPS: dict[str, bool | None] = {
    "transaction": False,
    "get": False,
    "work": False,
    "put": False,
    "put asked": False,
    "commit": False,
    "commit asked": None,
    "complete": True,
}
WRITING = """<!doctype html><script type="module">
const ask = (path) => {
  const request = new XMLHttpRequest();
  request.open("GET", path, false);
  request.send();
};
const wanted = new URLSearchParams(location.search).get("step");
let number = 0;
// Nobody answers: the page stands still until it is killed.
const here = (step) => { if (number === AT && step === wanted) ask("/here"); };
const wrap = (type, method, before, after) => {
  const own = type.prototype[method];
  type.prototype[method] = function (...given) {
    here(before);
    const found = own.apply(this, given);
    here(after);
    return found;
  };
};
wrap(IDBDatabase, "transaction", "", "transaction");
wrap(IDBObjectStore, "get", "", "get");
wrap(IDBObjectStore, "put", "put", "put asked");
wrap(IDBTransaction, "commit", "commit", "commit asked");
try {
  const { IndexedDbLedger } = await import("/index.ts");
  const ledger = await IndexedDbLedger.open("killed");
  for (; number < 100; number++) {
    await ledger.transaction((state) => {
      state.debits.push({ campaign: "c", round: number, nano: "1", at: 1, periodStart: null });
      here("work");
      state.reports.push({ campaign: "c", round: number });
    });
    here("complete");
    ask(`/acknowledged/${number}`);
  }
} catch (error) { ask(`/failed/${encodeURIComponent(error)}`); }
</script>""".replace("AT", str(AT))
READING = """<!doctype html><script type="module">
const tell = (found) => fetch("/state", { method: "POST", body: JSON.stringify(found) });
try {
  const { IndexedDbLedger } = await import("/index.ts");
  const ledger = await IndexedDbLedger.open("killed");
  const rounds = (rows) => rows.map(({ round }) => round);
  await tell(await ledger.transaction((state) => [rounds(state.debits), rounds(state.reports)]));
} catch (error) { await tell(String(error)); }
</script>"""


class _Pages(_Scripts):
    """Serves the SDK, and is told what the pages do."""

    server: _Server

    def do_GET(self) -> None:
        match self.path.split("/")[1]:
            case "here":
                self.server.told.is_here()
                self.server.told.over.wait(PATIENCE_S)
            case "acknowledged":
                self.server.told.acknowledged.append(int(self.path.rpartition("/")[2]))
                self.send_error(204)
            case "failed":
                self.server.told.failed(self.path)
                self.send_error(204)
            case _:
                super().do_GET()

    def do_POST(self) -> None:
        self.server.told.tell(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_error(204)


class Told:
    """What pages said so far."""

    def __init__(self) -> None:
        self.acknowledged: list[int] = []
        self.state: Any = None
        self.failure: str | None = None
        self.over = threading.Event()
        self._said = threading.Event()

    def is_here(self) -> None:
        self._said.set()

    def failed(self, why: str) -> None:
        self.failure = why
        self._said.set()

    def tell(self, state: Any) -> None:
        self.state = state
        self._said.set()

    def wait(self) -> None:
        assert self._said.wait(PATIENCE_S), "the page said nothing"
        assert self.failure is None, self.failure
        self._said.clear()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    told: Told


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The SDK without types, and two pages."""
    found: Path = tmp_path_factory.mktemp("pages")
    run("test/stripped.ts", str(found))
    (found / "writing.html").write_text(WRITING)
    (found / "reading.html").write_text(READING)
    return found


@pytest.fixture
def server(folder: Path) -> Iterator[_Server]:
    found = _Server(("127.0.0.1", 0), partial(_Pages, directory=str(folder)))
    found.told = Told()
    threading.Thread(target=found.serve_forever, daemon=True).start()
    yield found
    found.told.over.set()
    found.shutdown()
    found.server_close()


def browse(profile: Path, address: str) -> subprocess.Popen[bytes]:
    """A browser of its own, whose profile outlives it."""
    path = chromium_path()
    if path is None:
        pytest.skip("no browser found: `apt-get install chromium`")
    command = [path, "--headless=new", f"--user-data-dir={profile}", "--disable-gpu", *ARGUMENTS, address]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


def kill(browser: subprocess.Popen[bytes], profile: Path) -> None:
    """All of its processes, at once."""
    os.killpg(browser.pid, signal.SIGKILL)
    browser.wait()
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if f"--user-data-dir={profile}".encode() in each.read_bytes():
                os.kill(int(each.parent.name), signal.SIGKILL)
        except OSError:
            # It ended by itself.
            continue
    # Of the killed browser, which the next one would ask to open the page.
    for lock in profile.glob("Singleton*"):
        lock.unlink()


@pytest.mark.parametrize(
    "step",
    [each if each in ("put asked", "complete") else pytest.param(each, marks=pytest.mark.slow) for each in STEPS],
)
def test_a_killed_page_loses_nothing_and_has_no_half(step: str, server: _Server, tmp_path: Path) -> None:
    profile, told = tmp_path / "profile", server.told
    address = f"http://127.0.0.1:{server.server_address[1]}"
    browser = browse(profile, f"{address}/writing.html?step={step.replace(' ', '%20')}")
    try:
        told.wait()
    finally:
        kill(browser, profile)
    told.over.set()
    assert told.acknowledged == list(range(AT))
    browser = browse(profile, f"{address}/reading.html")
    try:
        told.wait()
    finally:
        kill(browser, profile)
        shutil.rmtree(profile, ignore_errors=True)
    debits, reports = told.state
    assert debits == reports
    without, whole = list(range(AT)), list(range(AT + 1))
    expected = {False: [without], True: [whole], None: [without, whole]}[STEPS[step]]
    assert debits in expected
