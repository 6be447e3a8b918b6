"""Vectors, a register of document types, and the randomizers that every law test runs on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sordino_analysis.archive.aggregate_document import AggregateDocument
from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.vectorized.arrays import array_of
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import (
    BatchStatement,
    DevicePart,
    Document,
    LogEntry,
    Manifest,
    ManifestSignatures,
    OpenCampaigns,
    ReportBatch,
    ReportOutcomes,
    SealedOutcomes,
    SealedReports,
    ShuffledPage,
    Task,
    TokenEvaluations,
    TokenRequest,
)
from sordino_shared.randomizers import SeededDirection

REPOSITORY = Path(__file__).parents[2]
VECTORS = REPOSITORY / "tests" / "vectors"
DOCUMENTS = (
    Manifest,
    Task,
    OpenCampaigns,
    ManifestSignatures,
    DevicePart,
    AnalystPart,
    ReportBatch,
    ReportOutcomes,
    AggregateDocument,
    SealedReports,
    SealedOutcomes,
    ShuffledPage,
    BatchStatement,
    LogEntry,
    TokenRequest,
    TokenEvaluations,
)


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY


@pytest.fixture(scope="session")
def document_types() -> dict[str, type[Document]]:
    return {kind.document: kind for kind in DOCUMENTS}


@pytest.fixture(scope="session")
def vectors() -> dict[str, Any]:
    """Every vector file by its path, such as good/task."""
    root = VECTORS / "v1"
    return {
        f"{path.parent.name}/{path.stem}": json.loads(path.read_text("ascii")) for path in sorted(root.glob("*/*.json"))
    }


@pytest.fixture(scope="session")
def good_contents(vectors: dict[str, Any], document_types: dict[str, type[Document]]) -> list[tuple[str, bytes]]:
    """(document type, bytes) of every good document."""
    return [(name, bytes.fromhex(v["hex"])) for name in document_types for v in vectors[f"good/{name}"]["vectors"]]


@pytest.fixture(scope="session")
def plane_directions() -> SeededDirection:
    """Three vectors of dimension 3, one of them zero, at ε = 1."""
    keep = SeededDirection.largest_keep_weight(PureEpsilon.of(1))
    vectors = array_of(np.array([[900, -300, 100], [-5, 7, 11], [0, 0, 0]]), "<i4")
    return SeededDirection(60, vectors, array_of(np.array([keep, 2**59 + 2**57, 2**59], dtype=np.uint64), "<u8"))
