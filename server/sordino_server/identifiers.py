"""Identifiers, checked before they reach a query: digests name immutable things, request ids are random."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

# Rounds of a campaign are few; periods of a series have numbers below this.
MOST_PERIODS = 2**32

DIGEST_PATTERN = "^[0-9a-f]{64}$"
REQUEST_PATTERN = "^[0-9a-f]{32}$"
IN_WORDS = {DIGEST_PATTERN: "64 lower-case hexadecimal digits", REQUEST_PATTERN: "32 lower-case hexadecimal digits"}

DigestText = Annotated[str, StringConstraints(pattern=DIGEST_PATTERN)]
RequestText = Annotated[str, StringConstraints(pattern=REQUEST_PATTERN)]
