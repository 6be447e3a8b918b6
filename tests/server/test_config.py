"""Settings are typed, documented, and refuse names that do not exist; secrets do not show."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from sordino_server.config import CLIENT_VARIABLES, PREFIX, Collecting, Settings, load_settings
from sordino_server.kit.db import database_url
from sordino_shared.errors import InvalidValue

DOCUMENTED = Path(__file__).parents[2] / "docs" / "settings.md"


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(PREFIX):
            monkeypatch.delenv(name)


def test_every_setting_is_documented_with_its_default() -> None:
    rows = re.findall(r"^\| `(SORDINO_\w+)` \| `([^`]+)` \| (.+) \|$", DOCUMENTED.read_text(), flags=re.MULTILINE)
    shown = {name: default for name, default, _ in rows if name not in CLIENT_VARIABLES}
    settings = Settings()
    defaults = {PREFIX + name.upper(): getattr(settings, name) for name in Settings.model_fields}
    defaults[f"{PREFIX}DATABASE_URL"] = settings.database_url.get_secret_value()
    assert shown == {name: str(default) for name, default in defaults.items()}
    assert all(field.description for field in Settings.model_fields.values())


def test_variables_of_the_commands_are_documented_too() -> None:
    assert all(f"`{name}`" in DOCUMENTED.read_text() for name in CLIENT_VARIABLES)


def test_the_environment_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SORDINO_PORT", "9000")
    monkeypatch.setenv("SORDINO_SERVER", "http://elsewhere")
    assert load_settings().port == 9000


def test_a_misspelt_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SORDINO_DATABSE_URL", "sqlite://")
    with pytest.raises(InvalidValue, match=r"SORDINO_DATABSE_URL.*SORDINO_DATABASE_URL"):
        load_settings()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SORDINO_PORT", "70000"),
        ("SORDINO_PORT", "http"),
        ("SORDINO_LEASE_S", "0"),
        ("SORDINO_RAW_REPORT_RETENTION_DAYS", "0"),
        ("SORDINO_RAW_REPORT_RETENTION_DAYS", "never"),
        ("SORDINO_MAX_BODY_BYTES", "10"),
        ("SORDINO_LOG_LEVEL", "loud"),
        ("SORDINO_RETRY_MAX_S", "1"),
        ("SORDINO_WORKER_METRICS_PORT", "-1"),
    ],
)
def test_values_that_do_not_fit_are_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(InvalidValue, match=name):
        load_settings()


def test_a_server_and_the_worker_beside_it_show_their_figures_on_two_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SORDINO_METRICS_PORT", "9000")
    assert load_settings().worker_metrics_port == 0
    monkeypatch.setenv("SORDINO_WORKER_METRICS_PORT", "9000")
    with pytest.raises(InvalidValue, match=r"SORDINO_WORKER_METRICS_PORT are both 9000.*choose two"):
        load_settings()


def test_a_collector_is_set_up_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SORDINO_COLLECT_FOR", "https://home.example/")
    with pytest.raises(InvalidValue, match="belong together: set all three on a collector"):
        load_settings()
    monkeypatch.setenv("SORDINO_SOURCE", "eu")
    monkeypatch.setenv("SORDINO_AGGREGATOR_KEYS", "sdo_aggregator_a_b, sdo_aggregator_c_d")
    settings = load_settings()
    assert settings.collecting == Collecting("https://home.example", "eu", ("sdo_aggregator_a_b", "sdo_aggregator_c_d"))
    assert settings.collecting.keys() == ("sdo_aggregator_a_b", "sdo_aggregator_c_d")
    assert not settings.has_console
    assert "sdo_" not in repr(settings) + repr(settings.collecting)
    wrong_homes = (
        "home.example",
        "https://home.example:70000",
        "https://home.example:x",
        "https://me:open@home.example",
    )
    for name, wrong in (("SORDINO_SOURCE", "EU"), *(("SORDINO_COLLECT_FOR", home) for home in wrong_homes)):
        with monkeypatch.context() as changed:
            changed.setenv(name, wrong)
            with pytest.raises(InvalidValue, match=name) as refused:
                load_settings()
            assert "me:open" not in str(refused.value)


@pytest.mark.parametrize("wrong", ["sdo_a,", "sdo_ä", "sdo_a sdo_b"])
def test_keys_that_no_header_can_carry_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wrong: str) -> None:
    monkeypatch.setenv("SORDINO_COLLECT_FOR", "https://home.example/")
    monkeypatch.setenv("SORDINO_SOURCE", "eu")
    monkeypatch.setenv("SORDINO_AGGREGATOR_KEYS", wrong)
    with pytest.raises(InvalidValue, match=r"SORDINO_AGGREGATOR_KEYS: key \d of \d") as refused:
        load_settings()
    assert "sdo_" not in str(refused.value)
    (tmp_path / "keys").write_text(wrong)
    monkeypatch.delenv("SORDINO_AGGREGATOR_KEYS")
    for file, why in ((tmp_path / "keys", r"key \d of \d"), (tmp_path / "none", "cannot be read"), (tmp_path, "read")):
        monkeypatch.setenv("SORDINO_AGGREGATOR_KEYS_FILE", str(file))
        with pytest.raises(InvalidValue, match=f"SORDINO_AGGREGATOR_KEYS_FILE: .*{why}"):
            load_settings()
    monkeypatch.setenv("SORDINO_AGGREGATOR_KEYS", "sdo_a")
    (tmp_path / "keys").write_text("\n# of delays\nsdo_a\n\nsdo_b\n")
    monkeypatch.setenv("SORDINO_AGGREGATOR_KEYS_FILE", str(tmp_path / "keys"))
    with pytest.raises(InvalidValue, match="not in both"):
        load_settings()
    monkeypatch.delenv("SORDINO_AGGREGATOR_KEYS")
    collecting = load_settings().collecting
    assert collecting is not None
    assert collecting.keys() == ("sdo_a", "sdo_b")


def test_the_password_does_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SORDINO_DATABASE_URL", "postgresql://me:s3cret@host/name")
    assert "s3cret" not in repr(load_settings())
    assert "s3cret" not in str(load_settings().model_dump())


def test_a_url_of_no_database_is_told_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SORDINO_DATABASE_URL", "reports.sqlite3")
    with pytest.raises(InvalidValue, match=r"^SORDINO_DATABASE_URL: not a database URL"):
        load_settings()


@pytest.mark.parametrize("password", ["sordino", "Postgres", "changeme", ""])
def test_passwords_that_everybody_knows_are_refused(monkeypatch: pytest.MonkeyPatch, password: str) -> None:
    monkeypatch.setenv("SORDINO_DATABASE_URL", f"postgresql://sordino:{password}@db.example/sordino")
    with pytest.raises(InvalidValue, match=r"SORDINO_DATABASE_URL.*password"):
        load_settings()


@pytest.mark.parametrize(
    "rest",
    [
        "sordino:sordino@/x?host=db",
        "sordino:sordino@localhost/x?hostaddr=10.0.0.7",
        "sordino:sordino@/x?host=localhost&host=db:5432",
        "sordino:sordino@/x?host=/run/postgresql,db",
        "sordino:%73ordino@db/x",
        "sordino@db/x?password=postgres",
        "sordino:vai7Iequ@db/x?password=Postgres",
        "/x?user=sordino&password=postgres&host=db",
    ],
)
def test_they_are_refused_wherever_the_url_has_them(monkeypatch: pytest.MonkeyPatch, rest: str) -> None:
    monkeypatch.setenv("SORDINO_DATABASE_URL", f"postgresql://{rest}")
    with pytest.raises(InvalidValue, match=r"SORDINO_DATABASE_URL.*password"):
        load_settings()


@pytest.mark.parametrize(
    "rest",
    [
        "me:postgres@localhost/x",
        "me:postgres@[::1]/x",
        "me:postgres@/x?host=/run/postgresql",
        "me@/x?host=localhost&hostaddr=127.0.0.1&password=postgres",
        "me@db.example/x",
        "me:vai7Iequ@db.example/x",
        "me@/x?host=db.example&password=vai7Iequ",
    ],
)
def test_other_passwords_and_this_machine_are_not(monkeypatch: pytest.MonkeyPatch, rest: str) -> None:
    monkeypatch.setenv("SORDINO_DATABASE_URL", f"postgresql://{rest}")
    assert load_settings().database_url.get_secret_value().endswith(rest)


@pytest.fixture
def secret(tmp_path: Path) -> Callable[[str], str]:
    """Writes a secret into a file, as an orchestrator mounts one, and returns its path."""

    def write(text: str) -> str:
        file = tmp_path / "secret"
        file.write_text(text)
        return str(file)

    return write


AWKWARD = "p@ss/%41?#:ö"


@pytest.mark.parametrize(
    "url", ["postgresql://me@db.example/x?sslmode=require", "postgresql:///x?host=db.example&user=me"]
)
@pytest.mark.parametrize("in_file", [False, True])
def test_a_password_beside_the_url_is_taken_as_it_is(
    monkeypatch: pytest.MonkeyPatch, secret: Callable[[str], str], url: str, in_file: bool
) -> None:
    monkeypatch.setenv("SORDINO_DATABASE_URL", url)
    name, value = (
        ("SORDINO_DATABASE_PASSWORD_FILE", secret(f"{AWKWARD}\n"))
        if in_file
        else (
            "SORDINO_DATABASE_PASSWORD",
            AWKWARD,
        )
    )
    monkeypatch.setenv(name, value)
    settings = load_settings()
    parsed = database_url(settings.database_url.get_secret_value())
    assert AWKWARD in (parsed.password, parsed.query.get("password"))
    assert (parsed.database, parsed.host or parsed.query["host"]) == ("x", "db.example")
    assert "p@ss" not in repr(settings)
    monkeypatch.setenv("SORDINO_DATABASE_PASSWORD", "postgres")
    monkeypatch.delenv("SORDINO_DATABASE_PASSWORD_FILE", raising=False)
    with pytest.raises(InvalidValue, match="password is well known"):
        load_settings()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"DATABASE_URL": "postgresql://me:a@h/x", "DATABASE_PASSWORD": "b"}, "write it once"),
        ({"DATABASE_PASSWORD": "b"}, "an SQLite file has no password"),
        ({"DATABASE_URL": "postgresql://me@h/x", "DATABASE_PASSWORD": ""}, "SORDINO_DATABASE_PASSWORD is empty"),
        ({"DATABASE_PASSWORD": "b", "DATABASE_PASSWORD_FILE": "b"}, "are both set: unset one"),
        ({"DATABASE_PASSWORD_FILE": "/no/such/file"}, "SORDINO_DATABASE_PASSWORD_FILE: /no/such/file cannot be read"),
        ({"DATASET_KEY_FILE": "/no/such/file"}, "SORDINO_DATASET_KEY_FILE: /no/such/file cannot be read"),
        ({"DATABASE_URL_FILE": "/no/such/file"}, "SORDINO_DATABASE_URL_FILE: /no/such/file cannot be read"),
    ],
)
def test_secrets_that_contradict_or_cannot_be_read_are_named(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], words: str
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(PREFIX + name, value)
    with pytest.raises(InvalidValue, match=words):
        load_settings()


def test_every_secret_can_be_in_a_file(monkeypatch: pytest.MonkeyPatch, secret: Callable[[str], str]) -> None:
    secrets = {name for name, field in Settings.model_fields.items() if "SecretStr" in str(field.annotation)}
    assert len(secrets) == 6
    assert {f"{name}_file" for name in secrets} <= Settings.model_fields.keys()
    key = bytes(range(1, 33)).hex()
    monkeypatch.setenv("SORDINO_DATASET_KEY_FILE", secret(key + "\n"))
    sealing = load_settings().dataset_key
    assert sealing is not None
    assert sealing.get_secret_value() == key
    monkeypatch.delenv("SORDINO_DATASET_KEY_FILE")
    monkeypatch.setenv("SORDINO_DATABASE_URL_FILE", secret("postgresql://me:vai7Iequ@h/x"))
    assert load_settings().database_url.get_secret_value() == "postgresql://me:vai7Iequ@h/x"
    for wrong in ("", "two\nlines"):
        secret(wrong)
        with pytest.raises(InvalidValue, match="write the secret alone"):
            load_settings()


def test_what_kubernetes_sets_for_a_service_is_no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "SORDINO_SERVICE_HOST": "10.0.0.1",
        "SORDINO_SERVICE_PORT": "8000",
        "SORDINO_SERVICE_PORT_HTTP": "8000",
        "SORDINO_PORT": "tcp://10.0.0.1:8000",
        "SORDINO_PORT_8000_TCP": "tcp://10.0.0.1:8000",
        "SORDINO_PORT_8000_TCP_PROTO": "tcp",
        "SORDINO_METRICS_PORT": "tcp://10.0.0.2:9000",
        "SORDINO_POSTGRES_SERVICE_HOST": "10.0.0.3",
        "SORDINO_POSTGRES_PORT": "tcp://10.0.0.3:5432",
    }.items():
        monkeypatch.setenv(name, value)
    settings = load_settings()
    assert (settings.port, settings.metrics_port) == (8000, 0)
    monkeypatch.setenv("SORDINO_PORT", "9000")
    assert load_settings().port == 9000
    monkeypatch.setenv("SORDINO_POSTGRES_PORT", "5432")
    with pytest.raises(InvalidValue, match="there is no setting SORDINO_POSTGRES_PORT;"):
        load_settings()
