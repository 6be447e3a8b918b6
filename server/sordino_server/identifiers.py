"""Identifiers in paths, checked before they reach a query: digests name immutable things, request ids are random."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path
from pydantic import StringConstraints

from sordino_shared.protocol.campaigns import MAX_ROUNDS

DIGEST_PATTERN = "^[0-9a-f]{64}$"
REQUEST_PATTERN = "^[0-9a-f]{32}$"
IN_WORDS = {DIGEST_PATTERN: "64 lower-case hexadecimal digits", REQUEST_PATTERN: "32 lower-case hexadecimal digits"}

DigestPath = Annotated[str, Path(pattern=DIGEST_PATTERN, description=f"{IN_WORDS[DIGEST_PATTERN]}.")]
DigestText = Annotated[str, StringConstraints(pattern=DIGEST_PATTERN)]
RoundPath = Annotated[int, Path(ge=0, lt=MAX_ROUNDS, description="Index of the round, from 0.")]
RequestPath = Annotated[str, Path(pattern=REQUEST_PATTERN, description=f"{IN_WORDS[REQUEST_PATTERN]}.")]
RequestText = Annotated[str, StringConstraints(pattern=REQUEST_PATTERN)]
