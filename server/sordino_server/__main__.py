"""`python -m sordino_server`: the `sordino` command, for processes that start others of their own installation."""

from sordino_server.cli import main

main()
