"""Whatever fits the description of the API, or nearly fits it, is answered as described and never with a failure."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import requests
from hypothesis import HealthCheck, settings

from sordino_shared.protocol import CBOR_MEDIA_TYPE, PROBLEM_MEDIA_TYPE
from tests.patience import PATIENCE_S
from tests.published_api import published_api, published_operations
from tests.server.conftest import RunningServer, served

if TYPE_CHECKING:
    # Takes half a second to import: only the workers that run these tests do.
    from schemathesis import Case
    from schemathesis.generation.hypothesis.builder import HypothesisTestMode
    from schemathesis.schemas import BaseSchema

EXAMPLES = 5
MORE_EXAMPLES = 60
OPERATIONS = [f"{method} {path}" for method, path, _ in published_operations()]
# They have so many fields that every boundary of each takes up to 30 s of a processor: the longer run has them, and
# malformed workloads have a suite of their own.
MANY_FIELDS = ("POST /v1/workloads", "POST /v1/datasets", "POST /v1/campaigns", "GET /v1/audit-log")
LONGEST_URL = 1 << 16
HEALTH = [HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much, HealthCheck.too_slow]


@pytest.fixture(scope="module")
def api() -> BaseSchema:
    import schemathesis

    # Reports are bytes to the description of the API; what they hold has vectors and a suite of its own.
    schemathesis.serializer.alias(CBOR_MEDIA_TYPE, "application/octet-stream")
    return schemathesis.openapi.from_dict(published_api())


@pytest.fixture(scope="module")
def database(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with something to be found, so that not everything ends at not-found."""
    path = tmp_path_factory.mktemp("fuzz") / "open.sqlite3"
    shutil.copy(sqlite_template, path)
    with served(f"sqlite:///{path}") as server:
        server.campaign("open")
    return path


@pytest.fixture
def running(database: Path, sqlite_url: str) -> Iterator[RunningServer]:
    """A server on a copy of that database."""
    shutil.copy(database, sqlite_url.removeprefix("sqlite:///"))
    with served(sqlite_url, forks=True) as server:
        yield server


@pytest.mark.parametrize("label", OPERATIONS)
def test_every_operation(api: BaseSchema, label: str, running: RunningServer) -> None:
    asked = settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=HEALTH)
    _ask_everything(api, label, asked, running, _modes(without_coverage=label in MANY_FIELDS))


@pytest.mark.slow
@pytest.mark.parametrize("label", OPERATIONS)
def test_every_operation_for_longer(api: BaseSchema, label: str, running: RunningServer) -> None:
    asked = settings(max_examples=MORE_EXAMPLES, deadline=None, suppress_health_check=HEALTH)
    _ask_everything(api, label, asked, running, _modes(without_coverage=False))


def _modes(*, without_coverage: bool) -> list[HypothesisTestMode]:
    """Every way of making requests; that of coverage tries every boundary of every field."""
    from schemathesis.generation.hypothesis.builder import HypothesisTestMode

    return [mode for mode in HypothesisTestMode if not (without_coverage and mode is HypothesisTestMode.COVERAGE)]


def _ask_everything(
    api: BaseSchema, label: str, asked: settings, running: RunningServer, modes: list[HypothesisTestMode]
) -> None:
    """What `api.parametrize()` makes a test of, but when the test runs: every worker would make all of them."""
    from schemathesis.generation.hypothesis.builder import HypothesisTestConfig, create_test

    operation = api.find_operation_by_label(label)
    assert operation is not None

    checks = _checks()
    with requests.Session() as session:
        # The variables about proxies are read 180 times a request otherwise.
        session.trust_env = False

        def answer(case: Case) -> None:
            _check(case, running, session, checks)

        config = HypothesisTestConfig(project=api.config, modes=modes, explicit_settings=asked)
        create_test(operation=operation, test_func=answer, config=config)()


def _checks() -> list[Any]:
    """Every check of a response by itself but one: that whatever fits the schema be accepted.

    A schema cannot say that a page token is one of ours, or that a domain's edges increase.
    """
    import schemathesis
    from schemathesis.specs.openapi import checks

    return [
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


def _check(case: Case, running: RunningServer, session: requests.Session, checks: list[Any]) -> None:
    response = case.call(
        base_url=running.address,
        headers={"Authorization": f"Bearer {running.admin_key}"},
        timeout=PATIENCE_S,
        session=session,
    )
    if len(str(response.request.url)) > LONGEST_URL:
        # Lists of long texts, all of them percent-encoded: the parser of HTTP refuses before the API is asked.
        assert response.status_code == 400
        return
    case.validate_response(response, checks=checks)
    if response.status_code >= 400:
        assert response.headers["content-type"] == [PROBLEM_MEDIA_TYPE]
        assert response.json()["status"] == response.status_code
