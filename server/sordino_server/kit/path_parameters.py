"""Identifiers in paths, apart from those in documents: a worker reads documents and has no paths."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path

from sordino_server.identifiers import DIGEST_PATTERN, IN_WORDS, MOST_PERIODS, REQUEST_PATTERN

DigestPath = Annotated[str, Path(pattern=DIGEST_PATTERN, description=f"{IN_WORDS[DIGEST_PATTERN]}.")]
RoundPath = Annotated[
    int, Path(ge=0, lt=MOST_PERIODS, description="Index of the round or number of the period, from 0.")
]
RequestPath = Annotated[str, Path(pattern=REQUEST_PATTERN, description=f"{IN_WORDS[REQUEST_PATTERN]}.")]
