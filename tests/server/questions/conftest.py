"""Browsers of the console and commands, beside the API."""

from tests.server.cli.conftest import json_of, run_command
from tests.server.console.conftest import browsers

__all__ = ["browsers", "json_of", "run_command"]
