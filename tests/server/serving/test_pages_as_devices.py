"""A real browser: pages of listed origins are devices, with `fetch` alone and with the TypeScript SDK.

A page of another origin reads nothing. Two tabs of the SDK are one device.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_server.kit.clock import ManualClock
from sordino_shared.protocol import CBOR_MEDIA_TYPE, Manifest, ReportBatch, ReportOutcomes, Task
from tests.client.test_typescript import SDK, TYPES, run, vectors
from tests.patience import PATIENCE_S
from tests.ports import free_ports
from tests.server.conftest import served
from tests.server.console.browser.conftest import chromium

__all__ = ["chromium"]

PAGE = '<!doctype html><script type="module">window.sordino = await import("/index.ts");</script>'
OPEN = """async ([server, evictable]) => {
  const { Caps, Client } = sordino;
  const caps = Caps.of({ perPeriod: "1", periodDays: 28, lifetime: "12" });
  window.client = await Client.open({ server, caps, evictable });
  // What a headless browser promises depends on its version.
  window.persistence = client.device.ledger.persistence;
}"""
ANSWER = "campaign => client.answer(campaign, 5).then(answer => answer.status, error => error.code)"
FLUSH = "() => client.flush({ patienceS: 0 }).then(({ delivered, waiting }) => [delivered, waiting])"
DAMAGE = """() => new Promise((resolve) => {
  indexedDB.open("sordino").onsuccess = ({ target: { result: database } }) => {
    const transaction = database.transaction("ledger", "readwrite");
    transaction.objectStore("ledger").put("{", "state");
    transaction.oncomplete = () => resolve(database.close());
  };
})"""
JUDGE = """async (documents) => {
  const sordino = await import("/all.ts");
  return documents.map(([name, hex]) => {
  const type = Object.values(sordino).find(each => each.name === name && each.read);
  const bytes = Uint8Array.from({ length: hex.length / 2 }, (_, at) => parseInt(hex.slice(2 * at, 2 * at + 2), 16));
  try {
    const document = type.read(bytes);
    if (name === "device_part") {
      document.prove();
      document.randomize(document.domain.codes(null), new sordino.SystemRandomness());
    }
    return "ok";
  } catch (error) { return error.code ?? String(error); }
});}"""
CODES = {
    "malformed": "malformed-document",
    "unsupported_version": "unsupported-version",
    "guarantee_not_met": "guarantee-not-met",
}


# What a device does: documents, then a report with an upload token, all without credentials.
DEVICE = """async ({server, campaign, plan, body, media}) => {
  const send = async (path, more = {}) => {
    const init = {credentials: "omit", redirect: "error", referrerPolicy: "no-referrer", ...more};
    try {
      const answer = await fetch(server + path, init);
      const content = [...new Uint8Array(await answer.arrayBuffer())];
      const headers = ["date", "retry-after", "x-request-id"].map(name => answer.headers.get(name));
      return {status: answer.status, content, headers};
    } catch (error) { return String(error); }
  };
  const cbor = {headers: {Accept: media}}, base = `/v1/campaigns/${campaign}`;
  const upload = {method: "POST", body: new Uint8Array(body), headers: {"Content-Type": media}};
  const withToken = {...upload, body: "no report", headers: {...upload.headers, Authorization: "Bearer no"}};
  return {
    manifest: await send(base, cbor), task: await send(`${base}/task`, cbor), plan: await send(`/v1/plans/${plan}`),
    refused: await send(`${base}/rounds/0/reports`, withToken),
    report: await send(`${base}/rounds/0/reports`, upload),
    credentials: await send(base, {credentials: "include"}),
    operator: await send("/v1/campaigns"), status: await send(`${base}/status`),
  };
}"""
FAILED = "TypeError: Failed to fetch"


class _EmptyPage(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing on standard error."""


class _Scripts(SimpleHTTPRequestHandler):
    # Some sixty files a tab: few connections, and once for the tabs of one context.
    protocol_version = "HTTP/1.1"

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "max-age=3600")
        super().end_headers()

    def guess_type(self, path: Any) -> str:
        return "text/javascript" if str(path).endswith(".ts") else super().guess_type(path)

    def log_message(self, *_: object) -> None:
        """Nothing on standard error."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an empty page that has loaded the SDK."""
    folder: Path = tmp_path_factory.mktemp("page")
    run("test/stripped.ts", str(folder))
    (folder / "index.html").write_text(PAGE)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Scripts, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def pages() -> Iterator[tuple[str, str]]:
    """Two origins with an empty page each."""
    servers = [ThreadingHTTPServer(("127.0.0.1", port), _EmptyPage) for port in free_ports(2)]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    yield tuple(f"http://127.0.0.1:{server.server_address[1]}" for server in servers)  # type: ignore[misc]  # two
    for server in servers:
        server.shutdown()
        server.server_close()


def tab(context: Any, site: str) -> Any:
    """A tab in which the SDK is loaded."""
    page = context.new_page()
    page.goto(site)
    page.wait_for_function("window.sordino !== undefined")
    return page


def test_two_tabs_are_one_device(chromium: Any, site: str, migrated_sqlite_url: str, tmp_path: Path) -> None:
    """So are two processes of node, one after the other, with ledgers of files."""
    with served(migrated_sqlite_url, clock=ManualClock(int(time.time())), device_origins=site) as server:
        name = server.campaign("open")["id"]
        context = chromium.new_context()
        tabs = [tab(context, site), tab(context, site)]
        for page in tabs:
            page.evaluate(OPEN, [server.address, "allow"])
            page.evaluate("campaign => client.join(campaign).then(() => null)", name)
        # Both are under way before either has ended.
        for page in tabs:
            page.evaluate(
                f"campaign => {{ window.answers = Promise.all([0, 1, 2].map(() => ({ANSWER})(campaign))); }}", name
            )
        statuses = [status for page in tabs for status in page.evaluate("() => window.answers")]
        assert sorted(statuses) == ["already_answered"] * 5 + ["recorded"]
        assert sum(page.evaluate(FLUSH)[0] for page in tabs) == 1
        # The account outlives the page.
        again = tab(context, site)
        again.evaluate(OPEN, [server.address, "refuse"])
        refused = {"evictable": "ledger-unavailable", "durable": "already_answered"}
        assert again.evaluate(ANSWER, name) == refused[again.evaluate("() => window.persistence")]
        assert "for life: ε 1 of 12" in again.evaluate("() => client.account().then(String)")
        # Whose owner leaves in one tab has left in all: what the first tab would send when it is left is forgotten.
        tabs[0].evaluate("() => client.sender().then(sender => { window.sender = sender; })")
        tabs[0].evaluate("campaign => sender.remember({ campaign, round: 0 })", name)
        again.evaluate("campaign => client.optOut(campaign)", name)
        tabs[0].wait_for_function("() => sender.untried.size === 0")
        context.close()
        assert reports(server, name) == 1
        order = {"server": server.address, "campaign": name, "values": [5, None], "folder": str(tmp_path)}
        first, second = (json.loads(run("test/fleet.ts", json.dumps(order))) for _ in "ab")
        assert first == {"recorded": 2, "already_answered": 2, "delivered": 2, "refused": 0, "waiting": 0}
        assert second == {"already_answered": 4, "delivered": 0, "refused": 0, "waiting": 0}
        assert reports(server, name) == 3


def test_a_page_that_is_left_sends_what_it_recorded(chromium: Any, site: str, migrated_sqlite_url: str) -> None:
    """The answer of the server is never seen: the report goes out again as the same bytes, and counts once."""
    with served(migrated_sqlite_url, clock=ManualClock(int(time.time())), device_origins=site) as server:
        name = server.campaign("open")["id"]
        context = chromium.new_context()
        page = tab(context, site)
        # A browser asks its user, who does not answer.
        page.evaluate("() => { navigator.storage.persist = () => new Promise(() => {}); }")
        page.evaluate(OPEN, [server.address, "allow"])
        page.evaluate("campaign => client.join(campaign).then(() => null)", name)
        assert page.evaluate(ANSWER, name) == "recorded"
        assert reports(server, name) == 0
        page.goto("about:blank")
        end = time.monotonic() + PATIENCE_S
        while reports(server, name) == 0:
            assert time.monotonic() < end, "nothing came"
            time.sleep(0.05)
        again = tab(context, site)
        again.evaluate(OPEN, [server.address, "allow"])
        assert again.evaluate(FLUSH) in ([1, 0], [0, 0])
        assert reports(server, name) == 1
        # A damaged account is refused in words, and never taken for an empty one.
        again.evaluate(DAMAGE)
        assert again.evaluate("() => client.account().catch(error => error.message)").startswith(
            "the ledger cannot be used: its record is damaged"
        )
        context.close()


def reports(server: Any, campaign: str) -> int:
    """How many reports the server has counted."""
    found: int = server.api.get(f"/v1/campaigns/{campaign}/status").json()["rounds"][0]["reports"]
    return found


CONTRACT = """async () => {
  const { ledgerContract } = await import("/ledger_contract.ts");
  const found = [];
  for (const { name, run } of ledgerContract(name => sordino.IndexedDbLedger.open(name))) {
    found.push(await run().then(() => "kept", error => `${name}: ${error}`));
  }
  return found;
}"""


@pytest.mark.slow
def test_the_ledger_of_a_page_keeps_the_contract(chromium: Any, site: str) -> None:
    context = chromium.new_context()
    assert tab(context, site).evaluate(CONTRACT) == ["kept"] * 5
    context.close()


@pytest.mark.slow
def test_documents_are_judged_in_a_browser_as_everywhere(chromium: Any, site: str) -> None:
    documents = [(name, each["hex"], "ok") for name in TYPES for each in vectors(f"good/{name}")]
    for group in ("bytes", "canonical", "guarantee", "ranges", "schema", "values", "version"):
        for each in vectors(f"bad/{group}"):
            if each["read_as"] in TYPES:
                documents.append((each["read_as"], each["hex"], CODES[each["error"]]))
    page = tab(chromium, site)
    found = page.evaluate(JUDGE, [[name, content] for name, content, _ in documents])
    differ = [(each, verdict) for each, verdict in zip(documents, found, strict=True) if each[2] != verdict]
    assert not differ, json.dumps(differ[:3])
    assert len(found) > 600
    page.close()


def test_the_sources_of_a_page_ask_for_nothing_of_node() -> None:
    reached, left = set[Path](), [SDK / "src" / "all.ts", SDK / "src" / "index.ts"]
    while left:
        path = left.pop().resolve()
        if path in reached:
            continue
        reached.add(path)
        text = path.read_text(encoding="utf-8")
        assert '"node:' not in text, path
        names = [part.split('"')[1] for part in text.split(" from ")[1:] if part.startswith('"')]
        left += [path.parent / name for name in names]
    assert len(reached) > 40


def _asked(server: Any) -> dict[str, Any]:
    """A campaign and the bytes of one report."""
    campaign = server.campaign("open")
    part = server.device_part(campaign)
    randomness = SeededRandomness(38)
    payload = part.randomizer.randomize(1, randomness)
    task = Task.read(server.anonymous.get(f"/v1/campaigns/{campaign['id']}/task").raise_for_status().content)
    batch = ReportBatch(part.digest, task.epoch.to_bytes(2, "big") + randomness.bytes(14), payload)
    return {
        "server": server.address,
        "campaign": campaign["id"],
        "plan": str(part.digest),
        "body": list(batch.content),
        "media": CBOR_MEDIA_TYPE,
    }


def test_pages_of_two_origins(chromium: Any, pages: tuple[str, str], migrated_sqlite_url: str) -> None:
    listed, other = pages
    with served(migrated_sqlite_url, device_origins=listed) as server:
        asked = _asked(server)
        page = chromium.new_page()
        page.goto(listed)
        found = page.evaluate(DEVICE, asked)
        page.goto(other)
        elsewhere = page.evaluate(DEVICE, asked)
        page.close()
    assert str(Manifest.read(bytes(found["manifest"]["content"])).campaign) == asked["campaign"]
    assert [found[name]["status"] for name in ("manifest", "task", "plan", "report")] == [200] * 4
    outcomes = ReportOutcomes.read(bytes(found["report"]["content"]))
    assert (outcomes.accepted, outcomes.refused) == (1, ())
    # The server's clock is readable, other headers are not, and so is a problem with its status.
    date, _, request = found["task"]["headers"]
    assert date.endswith("GMT")
    assert request is None
    assert json.loads(bytes(found["refused"]["content"]))["status"] == found["refused"]["status"] == 400
    assert [found[name] for name in ("credentials", "operator", "status")] == [FAILED] * 3
    assert set(elsewhere.values()) == {FAILED}


FULL = """async () => {
  const ledger = await sordino.IndexedDbLedger.open("full");
  const large = state => { state.parts.large = "0".repeat(8 << 20); };
  const error = await ledger.transaction(large).then(() => null, error => error);
  const kept = await ledger.transaction(state => Object.keys(state.parts).length);
  return [error?.code, error?.message, kept];
}"""
SET_BACK = """async ([server, campaign]) => {
  const { Caps, Client } = sordino;
  const caps = Caps.of({ perPeriod: "1", periodDays: 1, lifetime: "12" });
  let clock = Date.now() / 1000;
  const now = () => clock;
  const client = await Client.open({ server, caps, evictable: "allow", autoFlush: false, now });
  await client.join(campaign);
  const found = [];
  for (const moved of [0, -40 * 86400, 80 * 86400]) {
    clock += moved;
    found.push(await client.answer(campaign, 5).then(answer => answer.status, error => error.code));
  }
  return found;
}"""


@pytest.mark.slow
def test_a_page_without_room_is_told_and_keeps_its_ledger(chromium: Any, site: str) -> None:
    context = chromium.new_context()
    page = tab(context, site)
    context.new_cdp_session(page).send("Storage.overrideQuotaForOrigin", {"origin": site, "quotaSize": 1 << 20})
    code, message, kept = page.evaluate(FULL)
    assert (code, kept) == ("ledger-unavailable", 0)
    assert "the browser has no room for it" in message
    context.close()


@pytest.mark.slow
def test_a_page_whose_clock_is_set_answers_once(chromium: Any, site: str, migrated_sqlite_url: str) -> None:
    with served(migrated_sqlite_url, clock=ManualClock(int(time.time())), device_origins=site) as server:
        context = chromium.new_context()
        name = server.campaign("open")["id"]
        found = tab(context, site).evaluate(SET_BACK, [server.address, name])
        assert found == ["recorded", "already_answered", "already_answered"]
        context.close()
