"""A device from the first question to a counted report, without a server: what `systems.yml` runs on each system."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from sordino_client import Caps
from sordino_client.backend import LedgerStore
from sordino_client.consent import Telemetry, default_ledger
from sordino_client.testing import Categorical, Domain, FakeServer, Weekly

CAPS = Caps.of(1, days=28, lifetime=12)


def main() -> None:
    """Raises AssertionError where anything is not as the pages say."""
    domain = Domain((Categorical("os", ("linux", "macos", "windows"), other=True),))
    server = FakeServer(domain, series=Weekly(slots=1))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with server.client(ledger=folder / "ledger") as client:
            assert client.answer(client.join(server.campaign), "windows").status == "recorded"
            assert client.flush().delivered == 1
            print(client.account())
        given = {"server": "https://a.example", "transport": server, "clock": server, "caps": CAPS}
        with LedgerStore(folder / "store", key=bytes(32), **given) as store:
            store.owner("maria").answer(store.join(server.campaign), "windows")
            assert store.flush().delivered == 1
        about = {"campaigns": {"os": server.campaign}, "purpose": "Which system you run.", "environ": {}}
        telemetry = Telemetry("tool", ledger=folder / "consent" / "ledger", strict=True, **given, **about)
        assert telemetry.turn_on().on
        telemetry.send()
        assert telemetry.answer("os", "windows") is not None
        # A process of its own opens the ledger that this one has closed.
        done = subprocess.run([sys.executable, "-m", "sordino_client.send", str(folder / "ledger")], check=False)
        assert done.returncode == 0
    print(default_ledger("tool"))


if __name__ == "__main__":
    main()
