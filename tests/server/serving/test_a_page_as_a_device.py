"""A real browser: a page of a listed origin is a device with `fetch` alone; a page of another one reads nothing."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.protocol import CBOR_MEDIA_TYPE, Manifest, ReportBatch, ReportOutcomes, Task
from tests.ports import free_ports
from tests.server.conftest import served
from tests.server.console.browser.conftest import chromium

__all__ = ["chromium"]

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
