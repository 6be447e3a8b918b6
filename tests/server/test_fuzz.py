"""Whatever fits the description of the API, or nearly fits it, is answered as described and never with a failure."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.generation.hypothesis.builder import HypothesisTestConfig, HypothesisTestMode, create_test
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi import checks

from sordino_shared.protocol import CBOR_MEDIA_TYPE, PROBLEM_MEDIA_TYPE
from tests.patience import PATIENCE_S
from tests.server.conftest import RunningServer, served

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
# Another test says that this is the document that the code has.
PUBLISHED = Path(__file__).parents[2] / "docs" / "openapi.json"
EXAMPLES = 5
MORE_EXAMPLES = 60
OPERATIONS = [
    f"{method.upper()} {path}"
    for path, operations in json.loads(PUBLISHED.read_text(encoding="utf-8"))["paths"].items()
    for method in operations
]
# Their bodies have so many fields that every boundary of each takes 30 s of a processor: the longer run has them, and
# malformed workloads have a suite of their own.
MANY_FIELDS = ("POST /v1/workloads", "POST /v1/datasets")
HEALTH = [HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much, HealthCheck.too_slow]


# Reports are bytes to the description of the API; what they hold has vectors and a suite of its own.
schemathesis.serializer.alias(CBOR_MEDIA_TYPE, "application/octet-stream")


@pytest.fixture(scope="module")
def api() -> BaseSchema:
    return schemathesis.openapi.from_dict(json.loads(PUBLISHED.read_text(encoding="utf-8")))


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
    with served(sqlite_url) as server:
        yield server


@pytest.mark.parametrize("label", OPERATIONS)
def test_every_operation(api: BaseSchema, label: str, running: RunningServer) -> None:
    asked = settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=HEALTH)
    skipped = {HypothesisTestMode.COVERAGE} if label in MANY_FIELDS else set()
    _ask_everything(api, label, asked, running, [mode for mode in HypothesisTestMode if mode not in skipped])


@pytest.mark.slow
@pytest.mark.parametrize("label", OPERATIONS)
def test_every_operation_for_longer(api: BaseSchema, label: str, running: RunningServer) -> None:
    asked = settings(max_examples=MORE_EXAMPLES, deadline=None, suppress_health_check=HEALTH)
    _ask_everything(api, label, asked, running, list(HypothesisTestMode))


def _ask_everything(
    api: BaseSchema, label: str, asked: settings, running: RunningServer, modes: list[HypothesisTestMode]
) -> None:
    """What `api.parametrize()` makes a test of, but when the test runs: every worker would make all of them."""
    operation = api.find_operation_by_label(label)
    assert operation is not None

    def answer(case: schemathesis.Case) -> None:
        _check(case, running)

    config = HypothesisTestConfig(project=api.config, modes=modes, explicit_settings=asked)
    create_test(operation=operation, test_func=answer, config=config)()


def _check(case: schemathesis.Case, running: RunningServer) -> None:
    headers = {"Authorization": f"Bearer {running.admin_key}"}
    with requests.Session() as session:
        # The variables about proxies are read 180 times a request otherwise.
        session.trust_env = False
        response = case.call_and_validate(
            base_url=running.address, headers=headers, checks=CHECKS, timeout=PATIENCE_S, session=session
        )
    if response.status_code >= 400:
        assert response.headers["content-type"] == [PROBLEM_MEDIA_TYPE]
        assert response.json()["status"] == response.status_code
