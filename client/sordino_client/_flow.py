"""Steps of the SDK as generators, driven by the sync and the async client alike.

A flow yields a request or a pause, is resumed with the response, and returns its result. No transaction is ever open
across a yield, so a flow that is dropped half-way, by a crash or a cancelled task, leaves either nothing or a committed
step behind.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Generic, TypeVar

from sordino_client._transport import Request, Response
from sordino_shared._records import dataclass

T = TypeVar("T")


@dataclass(frozen=True)
class Pause:
    """Wait for some seconds."""

    seconds: float


Effect = Request | Pause
Flow = Generator[Effect, Response | None, T]


@dataclass(frozen=True)
class Finished(Generic[T]):
    """A flow's result."""

    value: T


def advance(flow: Flow[T], reply: Response | Exception | None) -> Effect | Finished[T]:
    """Resume a flow with what its last effect gave: its next effect, or its result."""
    try:
        return flow.throw(reply) if isinstance(reply, Exception) else flow.send(reply)
    except StopIteration as stop:
        return Finished(stop.value)
