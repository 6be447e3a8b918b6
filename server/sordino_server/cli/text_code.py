"""`sordino text-code`: make the public code that strings are collected by, from a list of public strings."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from sordino_analysis.text_codes.making import USUAL_TOKENS, text_code_of_file
from sordino_server.cli.output import JsonOption, fail, reports_errors, say


@reports_errors
def text_code(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Public strings, one on each line.", show_default=False)],
    tokens: Annotated[
        int, typer.Option(metavar="N", help="Pieces of several bytes that the code has at most, 0 to 4096.")
    ] = USUAL_TOKENS,
    source: Annotated[str, typer.Option(metavar="TEXT", help="Where the strings come from, kept in the code.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Make a code for collecting strings from a list of public ones.

    Example:

        sordino text-code public-urls.txt --tokens 800 > my-code.json

    The shorter the code of a string, the fewer devices have to hold it to be found. Write `code: {file: my-code.json}`
    in a workload. A plan contains the code, and everybody can read it: never make one from answers of devices.
    Lines count as often as they occur, up to 4 KiB of each. The code is JSON, with and without --json.
    """
    try:
        made = text_code_of_file(file, tokens=tokens, source=source)
    except FileNotFoundError:
        fail(f"there is no file {file}", code=2)
    sys.stdout.write(made.json + "\n")
    half, most, nearly_all = made.bits
    fewer = f" of the {tokens:,} asked for: the texts have no more in common" if len(made.code.tokens) < tokens else ""
    say(
        f"{len(made.code.tokens):,} tokens{fewer}; half of the strings have at most {half} bits, 80 % {most}, 90 % "
        f"{nearly_all}; {made.depth} bits are collected unless a workload says otherwise"
    )
