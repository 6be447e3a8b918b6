"""Identifiers in paths, checked before they reach a query: digests name immutable things, request ids are random."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path
from pydantic import StringConstraints

# Rounds of a campaign are few; periods of a series have numbers below this.
MOST_PERIODS = 2**32

DIGEST_PATTERN = "^[0-9a-f]{64}$"
REQUEST_PATTERN = "^[0-9a-f]{32}$"
IN_WORDS = {DIGEST_PATTERN: "64 lower-case hexadecimal digits", REQUEST_PATTERN: "32 lower-case hexadecimal digits"}

DigestPath = Annotated[str, Path(pattern=DIGEST_PATTERN, description=f"{IN_WORDS[DIGEST_PATTERN]}.")]
DigestText = Annotated[str, StringConstraints(pattern=DIGEST_PATTERN)]
RoundPath = Annotated[
    int, Path(ge=0, lt=MOST_PERIODS, description="Index of the round or number of the period, from 0.")
]
RequestPath = Annotated[str, Path(pattern=REQUEST_PATTERN, description=f"{IN_WORDS[REQUEST_PATTERN]}.")]
RequestText = Annotated[str, StringConstraints(pattern=REQUEST_PATTERN)]
