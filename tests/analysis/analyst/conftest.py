"""A small plan and values for it, planned once."""

from __future__ import annotations

import numpy as np
import pytest

import sordino_analysis as sa

EDGES = [0.0, 15.0, 60.0]


@pytest.fixture(scope="session")
def delays() -> sa.Workload:
    return sa.prefix(EDGES, name="delay", unit="min")


@pytest.fixture(scope="session")
def plan(delays: sa.Workload) -> sa.Plan:
    return sa.plan(delays, epsilon=1)


@pytest.fixture(scope="session")
def minutes() -> np.ndarray:
    return np.random.default_rng(5).normal(20.0, 30.0, 20_000)
