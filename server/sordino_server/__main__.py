"""The `sordino` command, also as `python -m sordino_server` for processes that start others of their installation."""

from __future__ import annotations

import sys

from sordino_server.kit import health_check


def main() -> None:
    """Entry point: `sordino health`, which is asked for every few seconds, without the libraries of the commands."""
    if sys.argv[1:2] == ["health"] and (code := health_check.run(sys.argv[2:])) is not None:
        sys.exit(code)
    from sordino_server.cli import main as run_command

    run_command()


if __name__ == "__main__":
    main()
