"""What a fake server was asked and given, for the assertions of a test."""

from __future__ import annotations

from collections.abc import Mapping

from sordino_shared._records import dataclass


@dataclass(frozen=True, kw_only=True)
class MadeRequest:
    """One request as a server sees it: nothing here, the length of its body included, may depend on a value.

    `body_bytes` is None where the request has no body.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body_bytes: int | None


@dataclass(frozen=True, kw_only=True)
class ReceivedReport:
    """One report that the fake server counted, at `at` in Unix seconds of its clock.

    `round` is the number of the round, in a series of the period. `arm` is the place of the version in an experiment,
    0 without one. `payload` is randomised: one report says next to nothing about the value.
    """

    round: int
    arm: int
    payload: bytes
    at: int

    @property
    def period(self) -> int:
        """The period of a series that the report is about."""
        return self.round
