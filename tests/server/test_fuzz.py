"""Whatever fits the description of the API, or nearly fits it, is answered as described and never with a failure."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance

from sordino_server.openapi import document
from sordino_shared.protocol import PROBLEM_MEDIA_TYPE

# Reports are binary documents with vectors and a suite of their own.
schema = schemathesis.openapi.from_dict(document()).exclude(path_regex="/reports$")
CHECKS = [schemathesis.checks.not_a_server_error, content_type_conformance, response_schema_conformance]
EXAMPLES = 5


@pytest.fixture(autouse=True)
def _ready_plan(running: Any) -> None:
    """Something to be found, so that not everything ends at not-found."""
    running.campaign("open")


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much, HealthCheck.too_slow],
)
def test_every_operation(case: schemathesis.Case, running: Any) -> None:
    headers = {"Authorization": f"Bearer {running.admin_key}"}
    response = case.call_and_validate(base_url=running.address, headers=headers, checks=CHECKS)
    if response.status_code >= 400:
        assert response.headers["content-type"] == [PROBLEM_MEDIA_TYPE]
        assert response.json()["status"] == response.status_code
