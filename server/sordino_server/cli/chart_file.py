"""`--chart`: the picture of what a command prints, as an SVG file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from sordino_server.cli.output import progress_console
from sordino_server.cli.remote import Remote
from sordino_server.cli.simulation.working_folder import check_writable

ChartOption = Annotated[Path | None, typer.Option(metavar="PATH", help="Write a picture (SVG) to this file.")]


@dataclass(frozen=True)
class ChartFile:
    """The file that was asked for, if any."""

    path: Path | None

    def draw(self, document: Mapping[str, Any], remote: Remote, campaign: str) -> None:
        """Write the picture of a document of answers; its title is the campaign's name."""
        if self.path is None:
            return
        name = remote.get(f"/v1/campaigns/{campaign}/status")["name"]
        # Here, since the other commands need no numbers and should not wait for their libraries.
        from sordino_server.answers import picture

        self.write(picture.draw(json.dumps(document).encode(), name))

    def write(self, text: str) -> None:
        """Write an SVG file and say where it is."""
        if self.path is not None:
            self.path.write_text(text, encoding="utf-8")
            progress_console.print(f"chart written to {self.path}", highlight=False, markup=False, soft_wrap=True)


@contextmanager
def drawn(path: Path | None) -> Iterator[ChartFile]:
    """The file, which must be writable before any work is done; one that was not there and stays empty is removed."""
    was_there = path is not None and path.exists()
    if path is not None:
        check_writable(path)
    try:
        yield ChartFile(path)
    finally:
        if path is not None and not was_there and not path.stat().st_size:
            path.unlink()
