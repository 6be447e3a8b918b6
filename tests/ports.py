"""Ports for servers that start a while after their port was chosen."""

from __future__ import annotations

import secrets
import socket
from contextlib import ExitStack, suppress

# Not those that Linux gives to connections, from 32768 on: one of them would take the port before the server starts,
# or while it is restarted, perhaps by connecting to itself.
_PORTS = range(20_000, 32_000)


def free_ports(count: int) -> list[int]:
    """Different ports that nobody uses at the moment."""
    with ExitStack() as stack:
        return [_bound(stack.enter_context(socket.socket())) for _ in range(count)]


def free_port() -> int:
    """A port that nobody uses at the moment."""
    (port,) = free_ports(1)
    return port


def _bound(probe: socket.socket) -> int:
    for _ in range(1000):
        with suppress(OSError):
            probe.bind(("127.0.0.1", secrets.choice(_PORTS)))
            port: int = probe.getsockname()[1]
            return port
    raise AssertionError(f"every port of {_PORTS} is in use")
