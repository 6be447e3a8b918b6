"""`python -m benchmarks.devices`: what a device's start, its first report and a plan's proof cost, in processor time.

`--packages FOLDER` measures the sordino_shared and sordino_client of another checkout, before devices needed no numpy.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
_PROBE = """
import json, resource, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
trace = json.load(open(sys.argv[1]))["documents"]
bodies = {name: bytes.fromhex(each["hex"]) for name, each in trace.items()}
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_): pass
    def reply(self, body):
        self.send_response(200); self.send_header("Content-Type", "application/cbor")
        self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def do_GET(self):
        name = "task" if self.path.endswith("/task") else "device_part" if "/plans/" in self.path else "manifest"
        self.reply(bodies[name])
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"])); self.reply(bodies["report_outcomes"])
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()
"""
_DEVICE = """
import json, resource, sys, time
def kib():
    # The most ever held would count what this process was before it became Python.
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmRSS"))
memory, start = kib(), time.process_time()
import sordino_client
from sordino_client import Caps, Client, PureEpsilon
imported, held = time.process_time() - start, kib() - memory
address, campaign, value, folder = sys.argv[1:]
epsilon = PureEpsilon.of(100)
class Past:
    def now(self): return float(2**31 - 10**8)
def once(number):
    start = time.process_time()
    with Client(address, ledger=f"{folder}/{number}", caps=Caps(epsilon, 30, epsilon)) as client:
        client.answer(client.join(campaign), json.loads(value))
        sent = client.flush()
    assert sent.delivered == 1, sent
    return time.process_time() - start
times = [once(number) for number in range(8)]
print(json.dumps([1000 * imported, held / 1024, 1000 * times[0], 1000 * min(times[1:]), (kib() - memory) / 1024]))
"""
_BARE = "import time; s = time.process_time(); import sqlite3, logging, re, decimal, hashlib; " + (
    "print(1000 * (time.process_time() - s))"
)
_PARTS = """
import json, sys, time
from sordino_shared.protocol import DevicePart
from sordino_shared.audit import check_guarantee
from sordino_shared.randomness import SystemRandomness
content = open(sys.argv[1], "rb").read()
def least(work, times):
    found = []
    for _ in range(times):
        start = time.process_time(); work(); found.append(time.process_time() - start)
    return 1000 * min(found)
part = DevicePart.read(content)
kernel, source = part.randomizer, SystemRandomness()
draw = (lambda: kernel.randomize(1, source)) if kernel.size < 2**62 else None
many = lambda: [draw() for _ in range(50)]
print(json.dumps([least(lambda: check_guarantee(DevicePart.read(content)), 5), least(many, 5) / 50 if draw else 0]))
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.devices", description=__doc__)
    parser.add_argument("--packages", type=Path, default=ROOT, help="a checkout with shared/ and client/")
    parser.add_argument("--runs", type=int, default=9)
    given = parser.parse_args()
    paths = os.pathsep.join(str(given.packages.resolve() / name) for name in ("shared", "client"))
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPATH"] = paths
    bare = min(float(_python(environment, _BARE)) for _ in range(given.runs))
    print(f"sqlite3, logging, re, decimal, hashlib alone: {bare:.0f} ms")
    imported, held, first, further, whole = _devices(environment, given.runs, given.packages)
    print(f"import {imported:.0f} ms, {held:.1f} MB")
    print(f"join, answer and flush {first:.0f} ms, a further device {further:.0f}")
    print(f"a whole device holds {whole:.1f} MB above bare Python")
    print("\n| part | bytes | read and prove, ms | draw, µs |\n|---|---|---|---|")
    from benchmarks.devices.parts import parts

    with tempfile.TemporaryDirectory() as folder:
        for name, content in parts():
            path = Path(folder) / "part"
            path.write_bytes(content)
            read, draw = json.loads(_python(environment, _PARTS, str(path)))
            print(f"| {name} | {len(content):,} | {read:.1f} | {1000 * draw:.0f} |", flush=True)


def _devices(environment: dict[str, str], runs: int, packages: Path) -> list[float]:
    """The least of each number over some processes."""
    trace = packages / "tests" / "vectors" / "v1" / "good" / "trace.json"
    read = json.loads(trace.read_text())
    campaign, value = read["documents"]["manifest"]["sha256"], json.dumps(read["steps"]["value"])
    server = subprocess.Popen(
        [sys.executable, "-c", _PROBE, str(trace)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    try:
        address, found = f"http://127.0.0.1:{int(server.stdout.readline())}", []
        for _ in range(runs):
            with tempfile.TemporaryDirectory() as folder:
                found.append(json.loads(_python(environment, _DEVICE, address, campaign, value, folder)))
        return [min(column) for column in zip(*found, strict=True)]
    finally:
        server.terminate()
        server.wait()


def _python(environment: dict[str, str], code: str, *arguments: str) -> str:
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd="/")
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


if __name__ == "__main__":
    main()
