"""A newcomer's ten minutes, as a script: `make dist && python -m docs.site.ten_minutes`.

Makes an empty environment, installs the built wheels in it and runs the first two tutorials there, from their blocks
alone: no checkout is on its path, and the folder is empty. Fails where a block fails, where installing and a tutorial
take more processor time than a laptop has patience for, or where the clock of a page is beyond ten minutes: its words
read at 200 a minute, 20 seconds to type each command, and the time that the machine took.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from docs.site.blocks import Block, blocks
from docs.site.contents import DOCS, ROOT
from docs.site.style import prose

PAGES = ("first-estimate.md", "first-campaign.md")
# What a notebook and a server are installed from; each brings the others it needs.
WHEELS = ("analysis", "server")
WORDS_A_MINUTE = 200
SECONDS_A_COMMAND = 20
MOST_MINUTES = 10.0
# The second tutorial starts a server, makes a key and a population, plays one device and many, and audits: ten.
MOST_COMMANDS = 10
MOST_CPU_S = 60.0
# A process whose parent ended becomes a child of this one, so that its processor time is counted (prctl(2)).
_SUBREAPER = 36


@dataclass(frozen=True)
class Clock:
    """What a page takes: commands to type, minutes to read and type, seconds of the machine by clock and processor."""

    page: str
    commands: int
    words: int
    machine_s: float
    cpu_s: float

    @property
    def minutes(self) -> float:
        """Reading, typing and waiting together."""
        return self.words / WORDS_A_MINUTE + (self.commands * SECONDS_A_COMMAND + self.machine_s) / 60

    def faults(self) -> list[str]:
        """Which limits it breaks."""
        found = []
        if self.minutes > MOST_MINUTES:
            found.append(f"{self.page}: {self.minutes:.1f} minutes, at most {MOST_MINUTES:g}")
        if self.commands > MOST_COMMANDS:
            found.append(f"{self.page}: {self.commands} commands, at most {MOST_COMMANDS}")
        if self.cpu_s > MOST_CPU_S:
            found.append(f"{self.page}: {self.cpu_s:.0f} processor seconds with the install, at most {MOST_CPU_S:g}")
        return found

    def __str__(self) -> str:
        return (
            f"{self.page}: {self.minutes:.1f} min: {self.words} words, {self.commands} commands, "
            f"{self.machine_s:.0f} s of the machine; {self.cpu_s:.0f} processor seconds, install included"
        )


def commands(every: Sequence[Block]) -> int:
    """What a reader types: each command of a shell that begins a line, and each block of Python pasted at once."""
    typed = 0
    for block in every:
        if block.language == "sh":
            typed += len(re.findall(r"^(?:export \w+=\$\()?(?:sordino|pip|python)\b", block.text, re.MULTILINE))
        elif block.language == "python":
            typed += 1
    return typed


def install(folder: Path, dist: Path) -> Path:
    """An environment with our wheels and what they need; the python of it."""
    wheels = [str(_newest(dist, name)) for name in WHEELS]
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--find-links", str(dist)]
    subprocess.run([*pip, *wheels], check=True, cwd=folder, stderr=subprocess.DEVNULL)
    return python


def _newest(dist: Path, name: str) -> Path:
    found = sorted(dist.glob(f"sordino_{name}-*.whl"), key=lambda path: path.stat().st_mtime)
    if not found:
        sys.exit(f"no wheel of {name} in {dist}: run make dist")
    return found[-1]


def run(python: Path, page: Path, folder: Path) -> str:
    """Run the blocks of a page with that python alone; what went wrong, empty for nothing."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    command = [str(python), "-I", str(ROOT / "docs" / "site" / "blocks.py"), str(page)]
    done = subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def measured(page: Path, install_s: float, install_cpu_s: float, python: Path, folder: Path) -> tuple[Clock, str]:
    """The clock of a page that is run, and what went wrong in it."""
    begun, used = time.monotonic(), _children_s()
    wrong = run(python, page, folder)
    text = page.read_text(encoding="utf-8")
    clock = Clock(
        page=page.name,
        commands=commands(blocks(text)),
        words=len(prose(text).split()),
        machine_s=install_s + time.monotonic() - begun,
        cpu_s=install_cpu_s + _children_s() - used,
    )
    return clock, wrong


def _children_s() -> float:
    """Processor seconds of all children that ended, those that a page left running included."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, 0)[0]:
            pass
    took = os.times()
    return took.children_user + took.children_system


def main() -> int:
    """Install, run both pages, print their clocks; 1 where a limit is broken or a block fails."""
    parser = argparse.ArgumentParser(prog="python -m docs.site.ten_minutes", description=__doc__)
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="the folder with the wheels of make dist")
    dist = parser.parse_args().dist.resolve()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    faults = []
    with tempfile.TemporaryDirectory() as name:
        folder, begun, used = Path(name), time.monotonic(), _children_s()
        python = install(folder, dist)
        took = time.monotonic() - begun, _children_s() - used
        for page in PAGES:
            clock, wrong = measured(DOCS / page, *took, python, folder)
            print(clock)
            faults += [*clock.faults(), *([f"{page}: {wrong}"] if wrong else [])]
    print(*faults, sep="\n", end="\n" if faults else "")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
