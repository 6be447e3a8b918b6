"""What the written form of every kind of question offers once it is read."""

from __future__ import annotations

import json
from typing import Any, Protocol

from sordino_shared.protocol import Digest


class WrittenQuestion(Protocol):
    """A question with a name over a domain."""

    @property
    def name(self) -> str: ...

    def canonical(self) -> dict[str, Any]:
        """The JSON-able form that is stored, and read back to an equal question."""

    def sizes(self) -> tuple[int | None, int]:
        """Cells, if they are known, and answers; raises WorkloadError where the question cannot be built."""


def canonical_text(question: WrittenQuestion) -> str:
    """The JSON under whose digest a workload is stored: sorted keys, no spaces."""
    return json.dumps(question.canonical(), sort_keys=True, separators=(",", ":"), allow_nan=False)


def question_digest(question: WrittenQuestion) -> Digest:
    """The digest of the canonical text, by which a stored workload is named."""
    return Digest.of(canonical_text(question).encode())
