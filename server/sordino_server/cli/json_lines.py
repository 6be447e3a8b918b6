"""What commands say themselves, as JSON lines like those of the log, where SORDINO_LOG_FORMAT asks for it."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime
from typing import Annotated, TextIO

import typer

from sordino_server.kit.clock import WallClock

LogAsJsonOption = Annotated[
    bool, typer.Option("--json", help="Print and log one JSON object a line, as SORDINO_LOG_FORMAT=json does.")
]


def log_as_json() -> None:
    """Make the option a setting of this process and of those that it starts."""
    os.environ["SORDINO_LOG_FORMAT"] = "json"


def wanted(stream: TextIO) -> bool:
    """Whether lines on this stream are JSON; a terminal has people before it."""
    return os.environ.get("SORDINO_LOG_FORMAT") == "json" and not stream.isatty()


def write(stream: TextIO, level: str, event: str, **values: object) -> None:
    """One object on one line, with the keys of the log."""
    stamp = datetime.fromtimestamp(WallClock().now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    line = json.dumps({**values, "level": level, "timestamp": stamp, "event": event}, ensure_ascii=False, default=str)
    stream.write(f"{line}\n")
    stream.flush()


def announce(text: str, **values: object) -> None:
    """A line on standard output of a command that goes on or that a log keeps: `values` are its parts."""
    if wanted(sys.stdout):
        write(sys.stdout, "info", text, **values)
    else:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
