"""The plan of a protocol as it travels and is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from sordino_analysis.pairwise.protocol_plan import ProtocolPlan
from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_shared.errors import MalformedDocument
from sordino_shared.protocol import Digest

_LENGTH_BYTES = 8


@dataclass(frozen=True, eq=False)
class FinishedProtocol:
    """The plan of a protocol and the finished plan of its first round, whose summary is that of the whole."""

    protocol: ProtocolPlan
    first: FinishedPlan

    @property
    def summary(self) -> dict[str, Any]:
        """Summary of the protocol, JSON-able."""
        return self.first.summary

    @property
    def complete(self) -> bool:
        """Whether this is the plan of its request, whatever the machine."""
        return self.first.complete

    @property
    def content(self) -> bytes:
        """The plan of the protocol behind its digest and length, then the first round's plan."""
        body = self.protocol.content
        return self.protocol.digest + len(body).to_bytes(_LENGTH_BYTES, "big") + body + self.first.content

    @classmethod
    def read(cls, content: bytes) -> Self:
        """The protocol whose `content` this is; raises SordinoError where one byte is another."""
        start = Digest.LENGTH + _LENGTH_BYTES
        if len(content) < start:
            raise MalformedDocument("a finished protocol begins with a digest and a length")
        end = start + int.from_bytes(content[Digest.LENGTH : start], "big")
        protocol = ProtocolPlan.read(content[start:end], Digest(content[: Digest.LENGTH]))
        return cls(protocol, FinishedPlan.read(content[end:]))
