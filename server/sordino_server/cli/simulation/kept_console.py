"""The console of a campaign that was simulated: its address, and links that sign in, as long as somebody looks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from sordino_server.cli.remote import Remote
from sordino_server.cli.simulation.progress import Stages
from sordino_server.cli.simulation.server_process import create_key, local_server


def print_link(connection: Remote, address: str, console: Console) -> None:
    """Print a link that signs a browser in to the console at `address`, which is the server of the connection."""
    made = connection.post("/console/sign-in-links")
    _say(console, f"console: {address.rstrip('/')}{made['path']}")
    _say(console, "         (signs in once, within 60 seconds, on this machine)")


def serve_kept(folder: Path, console: Console, ask: Callable[[], object] = input) -> None:
    """Serve the database that a simulation kept, with a link at the start and after every Enter, until Ctrl-C.

    Where nobody can press a key, print the command that serves it instead.
    """
    if ask is input and not sys.stdin.isatty():
        _say(console, f"console: SORDINO_DATABASE_URL=sqlite:///{folder / 'sordino.sqlite3'} sordino serve")
        return
    with local_server(folder, Stages(console)) as address, Remote(address, create_key(folder)) as connection:
        try:
            while True:
                print_link(connection, address, console)
                _say(console, "         Enter prints another link, Ctrl-C ends")
                ask()
        except (KeyboardInterrupt, EOFError):
            return


def _say(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)
