"""Servers in processes of their own on one core: what they cost in processor time and memory."""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SERVER_CORE, LOAD_CORE = 0, 1


@dataclass(frozen=True)
class Served:
    """A server that listens on `port`."""

    process: subprocess.Popen[str]
    port: int

    def cpu_s(self) -> float:
        """Processor seconds so far, of the kernel's work too."""
        # The clock of another process, as clock_getcpuclockid makes its number; /proc counts in hundredths only.
        return time.clock_gettime((~self.process.pid << 3) | 2)

    def loop_cpu_s(self) -> float:
        """Of `cpu_s` what the first thread has had, which runs the event loop."""
        return int(Path(f"/proc/{self.process.pid}/task/{self.process.pid}/schedstat").read_text().split()[0]) / 1e9

    def memory_mb(self) -> float:
        """Resident memory in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) / 1024


@contextmanager
def served(*module: str, **environment: str) -> Iterator[Served]:
    """`python -m module…` on the server's core until the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-m", *module],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    )
    try:
        # While it imports, before it has a thread or a child.
        os.sched_setaffinity(process.pid, {SERVER_CORE})
        assert process.stdout is not None
        line = process.stdout.readline()
        yield Served(process, int(line.rpartition(":")[2]))
    finally:
        process.terminate()
        process.wait()


@contextmanager
def postgres() -> Iterator[str]:
    """URL of a database in a private cluster on the server's core, durable as PostgreSQL is by default."""
    folder = Path(tempfile.mkdtemp(prefix="ingest-postgres-"))
    pin = ["taskset", "-c", str(SERVER_CORE)]
    if os.geteuid() == 0:
        shutil.chown(folder, user="postgres")
        pin += ["runuser", "-u", "postgres", "--"]
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parts[-2]))[-1]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    control = [*pin, str(programs / "pg_ctl"), "-D", str(folder / "data"), "-w", "-l", str(folder / "log")]
    initdb = [*pin, str(programs / "initdb"), "-D", str(folder / "data"), "-U", "postgres", "-A", "trust"]
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c max_wal_size=4GB"
    quiet = subprocess.DEVNULL
    try:
        subprocess.run(initdb, check=True, stdout=quiet, cwd=folder)
        subprocess.run([*control, "-o", options, "start"], check=True, stdout=quiet, cwd=folder)
        yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
    finally:
        subprocess.run([*control, "-m", "fast", "stop"], check=False, stdout=quiet, cwd=folder)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def sqlite() -> Iterator[str]:
    """URL of a SQLite file in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="ingest-sqlite-") as folder:
        yield f"sqlite:///{folder}/sordino.sqlite3"
