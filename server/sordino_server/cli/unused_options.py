"""Reject options without effect in the chosen mode."""

from __future__ import annotations

from collections.abc import Iterable

import typer

from sordino_shared.errors import InvalidValue


def refuse_given(context: typer.Context, names: Iterable[str], reason: str) -> None:
    """Raises InvalidValue if the command line gives any of the parameters `names`."""
    given = [f"--{name.replace('_', '-')}" for name in names if is_given(context, name)]
    if given:
        raise InvalidValue(f"leave out {', '.join(given)}: {reason}", given)


def is_given(context: typer.Context, name: str) -> bool:
    """Whether the command line gives the parameter `name`."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
