"""Send the reports that wait in a ledger, once: `python -m sordino_client.send LEDGER [--address URL] [--allow-http]`.

Without --address for every server that the ledger's campaigns were joined at. An upload token comes on standard input
with --token and --address: an argument or a variable would be readable by others. `Client.send_detached` starts this
program.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from sordino_client._client import Client
from sordino_client._config import Caps
from sordino_client._errors import ClientError
from sordino_client._storage import MEMORY

if TYPE_CHECKING:
    from sordino_client._device import Device

# It answers nothing, so that no cap matters.
_NO_ANSWERS = Caps.of(1, days=28, lifetime=12)


def start(ledger: str | os.PathLike[str], device: Device, allow_http: bool) -> bool:
    """Start this program for the reports of a device that wait; whether it was started."""
    frozen = getattr(sys, "frozen", False) or not sys.executable
    if frozen or os.fspath(ledger) == MEMORY or not device._spool.queue().waiting:
        return False
    import subprocess

    token = device.config.upload_token
    # -P: `-m` would look for the package in the current folder first.
    command = [sys.executable, "-P", "-m", "sordino_client.send", os.path.abspath(os.fspath(ledger))]
    command += ["--address", device.origin, *(["--allow-http"] if allow_http else []), *(["--token"] if token else [])]
    flags = getattr(subprocess, "DETACHED_PROCESS", 0) | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    quiet = subprocess.DEVNULL
    try:
        child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, start_new_session=True, creationflags=flags
        )
        # Nobody waits for it: the interpreter would warn of that.
        child.returncode = 0
        assert child.stdin is not None
        with child.stdin as pipe:
            pipe.write((token or "").encode())
    except OSError:
        # There is no such program, or it ended before it read the token.
        return False
    return True


def origins(ledger: Path) -> list[str]:
    """The servers that campaigns of a ledger were joined at; raises sqlite3.Error for a file that is none."""
    with closing(sqlite3.connect(f"{ledger.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        rows = connection.execute("SELECT DISTINCT origin FROM campaigns WHERE origin IS NOT NULL ORDER BY origin")
        return [str(origin) for (origin,) in rows]


def main(arguments: list[str] | None = None) -> int:
    """0 where nothing waits any more, 1 where something does, 2 for a ledger that cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m sordino_client.send", description=__doc__)
    parser.add_argument("ledger", type=Path)
    parser.add_argument("--address", metavar="URL", help="Send to this server alone.")
    parser.add_argument("--allow-http", action="store_true", help="For tests: also to http.")
    parser.add_argument("--token", action="store_true", help="Read an upload token from standard input.")
    given = parser.parse_args(arguments)
    if given.token and not given.address:
        parser.error("--token goes with --address: other servers must not see the token")
    token = sys.stdin.read().strip() or None if given.token else None
    waiting = 0
    try:
        if not given.ledger.is_file():
            raise FileNotFoundError(f"there is no ledger {given.ledger}")
        for origin in [given.address] if given.address else origins(given.ledger):
            with Client(
                origin, ledger=given.ledger, caps=_NO_ANSWERS, upload_token=token, allow_http=given.allow_http
            ) as client:
                flushed = client.flush(0)
            print(f"{origin}: {flushed}")
            waiting += flushed.waiting
    except (ClientError, OSError, sqlite3.Error) as error:
        print(error, file=sys.stderr)
        return 2
    return 1 if waiting else 0


if __name__ == "__main__":
    sys.exit(main())
