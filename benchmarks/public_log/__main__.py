"""Cost of a public log, in CPU-seconds of one core.

    python -m benchmarks.public_log

Prints what `sordino log verify` takes for 100,000 entries at its first look (a process of its own, files over
loopback), and, in a tree of 2^24 entries, the bytes of a proof and of a list of 32 days and the time in which a device
checks them.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sordino_server.public_log.files import CHECKPOINT, KnownTree, tile_name
from sordino_server.public_log.signing import NoteSigner
from sordino_server.public_log.tree import TILE, TileTree
from sordino_shared import ed25519
from sordino_shared.protocol import Digest, LogEntry
from sordino_shared.protocol.log_days import MAX_DAYS, LogDay, LogDays, days_text
from sordino_shared.protocol.log_entries import EndState, LoggedAttribute, LoggedCampaign, LoggedEnd
from sordino_shared.protocol.log_keys import LogPins
from sordino_shared.protocol.log_notes import checkpoint_text
from sordino_shared.protocol.log_proofs import LogProof, proof_text
from sordino_shared.protocol.log_tree import leaf_hash, node_hash, root_of_path

NOW = 1_800_000_000
ENTRIES = 100_000
LARGE = 1 << 24
REPEATS = 200
LOG = NoteSigner.of_log("telemetry.example/log", bytes([1]) * 32)
WITNESS = NoteSigner.of_witness("witness.example/log", bytes([2]) * 32)
SECOND = NoteSigner.of_witness("another.example/log", bytes([3]) * 32)


def main() -> None:
    """Measure and print, or be the monitor that is measured."""
    if len(sys.argv) > 1:
        _monitor(sys.argv[1])
    else:
        _verify()
        _device()


def _verify() -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        _write_log(folder / "log")
        handler = partial(_Quiet, directory=name)
        with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            command = [sys.executable, "-m", "benchmarks.public_log", f"http://127.0.0.1:{server.server_port}"]
            found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
            server.shutdown()
    print(f"verify of {ENTRIES:,} entries: {found['cpu']:.1f} CPU-s, {found['mib']:.0f} MiB at most")


def _monitor(address: str) -> None:
    from sordino_server.cli.log_monitor import Monitored, look

    found = look(address, LogPins(log=LOG.key), Monitored(), NOW)
    assert (len(found.entries), found.lies) == (ENTRIES, [])
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({"cpu": usage.ru_utime + usage.ru_stime, "mib": usage.ru_maxrss / 1024}))


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def _write_log(folder: Path) -> None:
    """Bundles of entries of kind `end`, and the checkpoint: a monitor reads nothing else."""
    tree = KnownTree([], [])
    for index in range(-(-ENTRIES // TILE)):
        numbers = range(index * TILE, min(ENTRIES, (index + 1) * TILE))
        bundle = [LogEntry(NOW, number.to_bytes(32, "big"), LoggedEnd(EndState.CLOSED)).content for number in numbers]
        tree.add([bytes(leaf_hash(each)) for each in bundle])
        file = folder / tile_name("entries", index, len(bundle))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"".join(len(each).to_bytes(2, "big") + each for each in bundle))
    (folder / CHECKPOINT).write_text(_note(tree.size, tree.root()), "utf-8")


def _device() -> None:
    """A tree whose entries are all the same: every subtree of one height has one hash, and its proofs hold."""
    entry = _entry()

    @cache
    def subtree(height: int) -> Digest:
        return leaf_hash(entry) if height == 0 else node_hash(subtree(height - 1), subtree(height - 1))

    def read(level: int, index: int, width: int) -> Sequence[bytes]:
        return [subtree(8 * level)] * width

    size, index = LARGE - 1, 9_876_543
    tree = TileTree(size, read)
    note = _note(size, tree.root())
    path = tree.inclusion(index)
    proof = proof_text(entry, index, path, note).encode()
    sizes = [size - 1000 * (MAX_DAYS - number) for number in range(MAX_DAYS)]
    days = [
        LogDay(20_000 + n, each, TileTree(each, read).root(), tree.consistency(each)) for n, each in enumerate(sizes)
    ]
    listed = days_text(days, note).encode()
    two = len(proof_text(entry, index, path, note + SECOND.cosigned(checkpoint_text(LOG.name, size, tree.root()), NOW)))
    print(f"with two witnesses {two:,} bytes")
    print(f"entry {len(entry)} bytes, proof {len(proof):,} bytes, list of {MAX_DAYS} days {len(listed):,} bytes")
    checkpoint, pins = LogProof.read(proof).checkpoint, LogPins(log=LOG.key, witnesses=(WITNESS.key,), quorum=1)
    leaf = leaf_hash(entry)
    for what, work in (
        ("path", lambda: root_of_path(index, size, leaf, path)),
        ("proof read, with its path", lambda: LogProof.read(proof)),
        ("list of days read, with its paths", lambda: LogDays.read(listed)),
        ("signatures of the log and of a witness", lambda: pins.accept(checkpoint, NOW)),
        ("the same in a process that saw neither key before", lambda: _first(lambda: pins.accept(checkpoint, NOW))),
        ("all of a join in a new process", lambda: _first(lambda: _join(proof, listed, pins))),
    ):
        print(f"{what}: {_milliseconds(work):.3f} ms")


def _join(proof: bytes, listed: bytes, pins: LogPins) -> None:
    """What a device computes when it joins."""
    pins.accept(LogProof.read(proof).checkpoint, NOW)
    LogDays.read(listed)


def _first(work: Callable[[], object]) -> None:
    """Without the multiples of keys and of the base point that a process keeps."""
    ed25519._negative_multiples.cache_clear()
    ed25519._base_multiples.cache_clear()
    work()


def _entry() -> bytes:
    named = tuple(LoggedAttribute(name, 9) for name in ("version", "platform", "crashes"))
    event = LoggedCampaign(
        name="versions", population="all", nano_epsilon=10**9, parts=(Digest(bytes(32)),), replaces=None,
        domain=Digest(bytes(32)), attributes=3, named=named,
    )  # fmt: skip
    return LogEntry(NOW, bytes(32), event).content


def _note(size: int, root: Digest) -> str:
    text = checkpoint_text(LOG.name, size, root)
    return f"{text}\n{LOG.signed(text)}{WITNESS.cosigned(text, NOW)}"


def _milliseconds(work: Callable[[], object]) -> float:
    """Of one core, the mean of many."""
    work()
    start = time.process_time()
    for _ in range(REPEATS):
        work()
    return (time.process_time() - start) / REPEATS * 1000


if __name__ == "__main__":
    main()
