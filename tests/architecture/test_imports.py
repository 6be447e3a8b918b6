"""Who may import what, where the import linter's contracts are too coarse."""

from __future__ import annotations

import ast
import sys
from typing import Any

import pytest

NOUNS = ("aggregates", "campaigns", "estimates", "keys", "plans", "reports", "rounds", "workloads")
ALLOWED = {
    "sordino_shared": {"sordino_shared"},
    "sordino_client": {"sordino_client", "sordino_shared"},
    # A second operator audits this list.
    "sordino_shuffler": {"sordino_shuffler", "sordino_shared", "cryptography", "uvicorn", "uvloop"},
}
# The extras `sordino-client[httpx]`, and `[shuffled]` for sealed reports; what an app has that asks for it: psycopg
# for a store, click or typer for its commands. tests/client/test_modules.py has what else is imported.
OPTIONAL = {
    "sordino_client._httpx_transport": {"httpx"},
    "sordino_client._deadline": {"httpx", "httpcore"},
    "sordino_client.backend._databases": {"psycopg"},
    "sordino_client.consent._commands": {"click", "typer"},
    "sordino_shared.sealing": {"cryptography"},
}
# What may say SQL: the repositories, the database itself, and the one table that belongs to no noun.
SPEAKS_SQL = ("sordino_server.kit.", "sordino_server.models", "sordino_server.keys.idempotency")
TYPES_ONLY = {("sqlalchemy.orm", "Session")}


@pytest.mark.parametrize("package", ALLOWED)
def test_what_runs_on_a_device_needs_next_to_nothing(sources: list[Any], package: str) -> None:
    for source in sources:
        if source.name.partition(".")[0] == package:
            roots = {module.partition(".")[0] for module, _ in source.imports}
            foreign = roots - ALLOWED[package] - OPTIONAL.get(source.name, set()) - set(sys.stdlib_module_names)
            assert not foreign, f"{source.name} imports {foreign}"


def test_sql_is_said_in_repositories_only(sources: list[Any]) -> None:
    for source in sources:
        if source.name.endswith(".repository") or source.name.startswith(SPEAKS_SQL):
            continue
        spoken = {(module, name) for module, name in source.imports if module.partition(".")[0] == "sqlalchemy"}
        assert spoken <= TYPES_ONLY, f"{source.name} imports {spoken - TYPES_ONLY}"


def test_a_repository_belongs_to_its_noun(sources: list[Any]) -> None:
    """Another noun goes through the service, or what the noun's package offers; commands may list."""
    for noun in NOUNS:
        repository = f"sordino_server.{noun}.repository"
        for source in sources:
            if source.name.startswith((f"sordino_server.{noun}", "sordino_server.cli")):
                continue
            modules = {module for module, _ in source.imports}
            from_package = (f"sordino_server.{noun}", "repository") in source.imports
            assert repository not in modules, f"{source.name} imports {repository}"
            assert not from_package, f"{source.name} imports {repository}"


def test_devices_draw_from_one_source(sources: list[Any]) -> None:
    """Nothing that runs on a device reaches for chance except through sordino_shared.randomness."""
    for source in sources:
        if not source.name.startswith(("sordino_shared", "sordino_client")):
            continue
        modules = {module.partition(".")[0] for module, _ in source.imports}
        assert not modules & {"random", "secrets", "uuid"}, source.name
        if source.name != "sordino_shared.randomness":
            assert "urandom" not in source.text, source.name
            assert ".random." not in source.text, source.name
            assert ("numpy", "random") not in source.imports, source.name


def test_nobody_uses_the_generator_that_all_share(sources: list[Any]) -> None:
    for source in sources:
        assert ("random", "") not in source.imports, source.name
        for call in ("np.random.seed(", "np.random.normal(", "np.random.rand(", "np.random.random("):
            assert call not in source.text, source.name


def test_the_wall_clock_is_read_in_one_place_a_side(sources: list[Any]) -> None:
    clocks = {"sordino_server.kit.clock", "sordino_client._clock", "sordino_shuffler.clock"}
    for source in sources:
        if source.name not in clocks:
            for reading in ("time.time(", "time_ns(", "datetime.now(", "utcnow(", "date.today("):
                assert reading not in source.text, f"{source.name} reads the clock: {reading}"


# httpx inflates what it is sent without a limit, and its time limits restart with every byte.
MAY_USE_HTTPX = {"sordino_client._deadline", "sordino_client._httpx_transport"}
DECODED = {"text", "json", "iter_bytes", "aiter_bytes", "iter_text", "aiter_text", "iter_lines", "aiter_lines", "aread"}


def test_httpx_decodes_nothing_that_another_server_sent(sources: list[Any]) -> None:
    """Answers of other servers are read by sordino_shared.http, in raw bytes; httpx carries those of the SDK."""
    users = {each.name: each for each in sources if "httpx" in {module.partition(".")[0] for module, _ in each.imports}}
    assert users.keys() == MAY_USE_HTTPX
    for name, source in users.items():
        attributes = {node.attr for node in ast.walk(source.tree) if isinstance(node, ast.Attribute)}
        assert not DECODED & attributes, name
        called = {ast.unparse(node.func) for node in ast.walk(source.tree) if isinstance(node, ast.Call)}
        assert not {f"httpx.{verb}" for verb in ("get", "post", "put", "request", "stream")} & called, name
    # What a handler of a test hands over is no stream: it was read and decoded before. Once for each twin.
    assert users["sordino_client._httpx_transport"].text.count("response.content") == 2


def test_one_place_asks_other_servers(sources: list[Any]) -> None:
    """Nothing else reads what another server sends: neither urllib nor a connection of one's own."""
    carriers = {"sordino_client._deadline": {"httpcore"}, "sordino_client._http_transport": {"http.client"}}
    for source in sources:
        opened = {"urllib.request", "http.client", "httpcore"} & {module for module, _ in source.imports}
        if not source.name.startswith("sordino_shared.http."):
            assert opened <= carriers.get(source.name, set()), f"{source.name} imports {opened}"
