"""Whatever fits the description of the API, or nearly fits it, is answered as described and never with a failure."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi import checks

from sordino_server.serving.openapi import document
from sordino_shared.protocol import CBOR_MEDIA_TYPE, PROBLEM_MEDIA_TYPE

# Every check of a response by itself but one: that whatever fits the schema be accepted. A schema cannot say that a
# page token is one of ours, or that a domain's edges increase.
CHECKS = [
    schemathesis.checks.not_a_server_error,
    checks.content_type_conformance,
    checks.ignored_auth,
    checks.missing_required_header,
    checks.negative_data_rejection,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.status_code_conformance,
    checks.unsupported_method,
]
EXAMPLES = 5
MORE_EXAMPLES = 60
HEALTH = [HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much, HealthCheck.too_slow]


# Reports are bytes to the description of the API; what they hold has vectors and a suite of its own.
schemathesis.serializer.alias(CBOR_MEDIA_TYPE, "application/octet-stream")
schema = schemathesis.openapi.from_dict(document())


@pytest.fixture(autouse=True)
def _ready_plan(running: Any) -> None:
    """Something to be found, so that not everything ends at not-found."""
    running.campaign("open")


@schema.parametrize()
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=HEALTH)
def test_every_operation(case: schemathesis.Case, running: Any) -> None:
    _check(case, running)


@pytest.mark.slow
@schema.parametrize()
@settings(max_examples=MORE_EXAMPLES, deadline=None, suppress_health_check=HEALTH)
def test_every_operation_for_longer(case: schemathesis.Case, running: Any) -> None:
    _check(case, running)


def _check(case: schemathesis.Case, running: Any) -> None:
    headers = {"Authorization": f"Bearer {running.admin_key}"}
    response = case.call_and_validate(base_url=running.address, headers=headers, checks=CHECKS)
    if response.status_code >= 400:
        assert response.headers["content-type"] == [PROBLEM_MEDIA_TYPE]
        assert response.json()["status"] == response.status_code
