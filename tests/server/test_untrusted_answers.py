"""The four that ask servers which nobody has to trust: what an answer costs them in memory, measured by the kernel."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from sordino_analysis.documents.analyst_part import AnalystPart
from tests.hostile_http import Script, answers, endless, hostile_servers, nested

MOST_MIB = 20.0
ID = "ab" * 32
COMMON = """
import contextlib, io, json, sys, tempfile
from pathlib import Path

def peak_kib(name):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name))

def command(*words):
    from typer.testing import CliRunner
    from sordino_server.cli import app
    done = CliRunner().invoke(app, [*words, "--server", address])
    assert done.exit_code, done.output
    assert not done.exception or isinstance(done.exception, SystemExit), done.exception

def measured(ask):
    global address
    harmless, *others = sys.argv[2:]
    address = harmless
    ask()
    base, peaks = peak_kib("VmRSS"), []
    for address in others:
        Path("/proc/self/clear_refs").write_text("5")
        ask()
        peaks.append((peak_kib("VmHWM") - base) / 1024)
    print(json.dumps(peaks))

campaign = sys.argv[1]
"""
READERS = {
    "sdk": """
from sordino_client import Caps, Client, ClientError, PureEpsilon
def ask():
    ledger = Path(tempfile.mkdtemp()) / "ledger"
    with Client(address, ledger=ledger, caps=Caps(PureEpsilon.of(1), 30, PureEpsilon.of(1))) as client:
        with contextlib.suppress(ClientError):
            client.join(campaign)
            raise SystemExit("believed")
""",
    "audit": 'def ask(): command("audit", campaign)',
    "command": 'def ask(): command("campaigns", "list", "--key", "sdo_x")',
    "export": 'def ask(): command("export", "estimates", campaign, "--key", "sdo_x")',
    "collector": """
from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_server.collecting.home import Home, HomeUnreachable
from sordino_shared.errors import DigestMismatch
from sordino_shared.protocol import Digest
def document(home):
    home.document("/v1/plans/0", AnalystPart.limit, Digest.parse(campaign))
def ask():
    for asked in (lambda home: home.mirror("sdo_x"), document):
        with contextlib.suppress(HomeUnreachable, DigestMismatch):
            asked(Home(address))
            raise SystemExit("believed")
""",
    "notebook": """
from sordino_analysis.analyst.results import read_estimates
from sordino_shared.errors import SordinoError
def ask():
    with contextlib.suppress(SordinoError):
        read_estimates(f"{address}/v1/estimates?campaign=x", frame="columns")
        raise SystemExit("believed")
""",
}
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
BOMBS: dict[str, Callable[[], Script]] = {
    "three codings": lambda: answers(nested(3), "gzip, gzip, gzip"),
    "three headers": lambda: answers(nested(3), "gzip\r\nContent-Encoding: gzip\r\nContent-Encoding: gzip"),
    "one gzip": lambda: answers(nested(1, 96 << 20), "gzip"),
    "a problem": lambda: answers(nested(1, 96 << 20), "gzip", "500 X\r\nContent-Type: application/problem+json"),
    "a head": lambda: endless(HEAD, b"X: " + b"y" * 60_000 + b"\r\n"),
}


@pytest.fixture(scope="module")
def serve() -> Iterator[Callable[[Script], str]]:
    with hostile_servers() as start:
        yield start


@pytest.fixture(scope="module")
def bombs(serve: Callable[[Script], str]) -> dict[str, str]:
    """Addresses by name."""
    return {name: serve(make()) for name, make in BOMBS.items()}


def mebibytes(reader: str, harmless: str, *hostile: str) -> list[float]:
    """What a process takes above what it has after the first answer, which is none of a sordino server."""
    code = f"{COMMON}{READERS[reader]}\nmeasured(ask)"
    done = subprocess.run(
        [sys.executable, "-c", code, ID, harmless, *hostile], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    peaks: list[float] = json.loads(done.stdout.splitlines()[-1])
    return peaks


@pytest.mark.parametrize("reader", READERS)
def test_no_answer_takes_more_than_20_mib(serve: Callable[[Script], str], bombs: dict[str, str], reader: str) -> None:
    """Packed once, 96 MiB; three times, 64 MiB in 250 bytes."""
    assert len(nested(3)) < 300
    peaks = mebibytes(reader, serve(answers(b"no sordino")), *bombs.values())
    assert max(peaks) <= MOST_MIB, dict(zip(bombs, peaks, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
def test_no_flood_takes_more_than_20_mib(serve: Callable[[Script], str], reader: str) -> None:
    """An analyst part may have a gibibyte: that much goes to the disk before it is refused."""
    assert AnalystPart.limit == 1 << 30
    flood = endless(HEAD + b"\r\n", b"{" * (1 << 20))
    assert max(mebibytes(reader, serve(answers(b"no sordino")), serve(flood))) <= MOST_MIB
