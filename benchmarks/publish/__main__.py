"""`python -m benchmarks.publish [--weeks 52] [--json]`: `sordino publish` of a weekly series with ten answers.

The server runs in this process; the command is a process of its own, whose processor time is measured from its start.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from sordino_server.kit import migrations
from sordino_server.kit.db import Database
from tests.server.cli.test_publish import weeks
from tests.server.conftest import served


def measured(count: int, folder: Path) -> dict[str, float]:
    """Processor seconds of the first run and of one that compares, bytes and files of the site."""
    url = f"sqlite:///{folder / 'server.sqlite3'}"
    migrations.upgrade(Database(url))
    with served(url) as running:
        weeks(running, count)
        environment = os.environ | {"SORDINO_SERVER": running.address, "SORDINO_KEY": running.admin_key}
        found = {}
        for name, more in (("cpu_s", []), ("cpu_s_of_check", ["--check"])):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            command = [sys.executable, "-m", "sordino_server", "publish", str(folder / "site"), "versions", *more]
            subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            found[name] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    files = [path for path in (folder / "site").rglob("*") if path.is_file()]
    return found | {"bytes": sum(path.stat().st_size for path in files), "files": len(files)}


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weeks", type=int, default=52)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measured(given.weeks, Path(folder))
    if given.json:
        print(json.dumps(found))
        return
    print("| figure | value |\n|---|---|")
    for name, value in found.items():
        print(f"| {name.replace('_', ' ')} | {value:,.3g} |" if value < 1000 else f"| {name} | {value:,.0f} |")


if __name__ == "__main__":
    main()
