"""The audit of pinned versions, by the real pip-audit and an advisory service of our own, fails for a finding only."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]
FINDING = {
    "id": "PYSEC-0000-1",
    "affected": [
        {
            "package": {"name": "faulty", "ecosystem": "PyPI"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "1.1"}]}],
        }
    ],
}


class Advisories(BaseHTTPRequestHandler):
    """Knows of one fault, in every version of `faulty`."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        answer = json.dumps({"vulns": [FINDING]} if asked["package"]["name"] == "faulty" else {}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing on the test's output."""


@pytest.fixture
def advisories() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Advisories) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def audit(*command: str | Path) -> subprocess.CompletedProcess[str]:
    script = ROOT / ".ci" / "audit.py"
    return subprocess.run(
        [sys.executable, script, *command], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


def audit_pins(folder: Path, pins: str, service: str) -> subprocess.CompletedProcess[str]:
    pinned = folder / "constraints.txt"
    pinned.write_text(pins)
    return audit(
        sys.executable, "-m", "pip_audit", "--requirement", pinned, "--no-deps", "--disable-pip",
        "--progress-spinner", "off", "--cache-dir", folder / "cache", "--vulnerability-service", "osv",
        "--osv-url", service,
    )  # fmt: skip


def test_a_known_vulnerability_fails(advisories: str, tmp_path: Path) -> None:
    done = audit_pins(tmp_path, "sound==2.0\nfaulty==1.0\n", advisories)
    assert done.returncode == 1, done
    assert "faulty 1.0: PYSEC-0000-1, fixed in 1.1\n2 of 2 pinned versions audited, 1 vulnerable." in done.stdout


def test_out_of_reach_is_no_failure_and_is_said(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        done = audit_pins(tmp_path, "faulty==1.0\n", f"http://127.0.0.1:{taken.getsockname()[1]}")
    assert done.returncode == 0, done
    assert done.stdout.startswith("NOTHING WAS AUDITED")
    assert "127.0.0.1" in done.stdout


@pytest.mark.parametrize(
    ("package", "said"),
    [
        ({"name": "sound", "version": "2.0", "vulns": []}, "1 of 1 pinned versions audited, 0 vulnerable."),
        # An index that has packages and no advisories.
        (
            {"name": "sound", "skip_reason": "not found"},
            "NOTHING WAS AUDITED, the advisories were out of reach. not found",
        ),
    ],
)
def test_a_report_without_a_finding_passes(package: dict[str, object], said: str) -> None:
    done = audit(sys.executable, "-c", f"print({json.dumps({'dependencies': [package]})!r})")
    assert (done.returncode, done.stdout.strip()) == (0, said)


def test_what_is_wrong_here_fails(tmp_path: Path) -> None:
    done = audit_pins(tmp_path, "no version ==\n", "http://127.0.0.1:1")
    assert done.returncode == 1
    assert "constraints.txt" in done.stderr
