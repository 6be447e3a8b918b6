"""Settings of the server processes: environment variables with the prefix SORDINO_ (see docs/settings.md)."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import SettingsConfigDict

from sordino_analysis.evaluation.randomizers import IngestSums
from sordino_analysis.validation_messages import reason
from sordino_server.kit.addresses import ANY_HOST, PublicHosts, is_this_machine
from sordino_server.kit.cluster_variables import injected_variables
from sordino_server.kit.cores import usable_cores
from sordino_server.kit.log_settings import PublicLogSettings
from sordino_server.kit.people_settings import PeopleSettings
from sordino_server.kit.sealing import check_key
from sordino_server.kit.secret_settings import (
    has_default_password,
    listed_secrets,
    plain,
    secret_of,
    secrets_in,
    with_password,
)
from sordino_shared.errors import InvalidValue
from sordino_shared.http.device_origins import NO_ORIGIN, DeviceOrigins
from sordino_shared.http.senders import NO_PROXY, TrustedProxies
from sordino_shared.protocol import ReportBatch, check_source

PREFIX = "SORDINO_"
PopulationMode = Literal["open", "declared"]
# Days that raw reports are kept after their campaign, `forever`, or None: what the database keeps, or the default.
Retention = Annotated[int, Field(ge=1, le=36600)] | Literal["forever"] | None
# Read by commands of analysts and operators; not settings of a server, but with the same prefix.
CLIENT_VARIABLES = frozenset({"SORDINO_SERVER", "SORDINO_KEY", "SORDINO_KEY_FILE", "SORDINO_CACHE_DIR"})
# Secrets that a file may hold; that of the aggregators' keys is read again and again.
_IN_FILES = ("database_url", "database_password", "dataset_key", "people_secret", "oidc_client_secret")


@dataclass(frozen=True)
class Collecting:
    """The home's address, the name of this collector, and its keys at the home: given once, or in a file."""

    home: str
    source: str
    given: tuple[str, ...] = field(default=(), repr=False)
    file: Path | None = None

    def keys(self) -> tuple[str, ...]:
        """The keys as they are now; raises InvalidValue for a file that cannot be read or has something else in it."""
        return self.given if self.file is None else secrets_in(self.file)


class Settings(PublicLogSettings, PeopleSettings):
    """Settings of the server. The defaults suit a first run on one machine."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True)

    database_url: SecretStr = Field(
        SecretStr("sqlite:///sordino.sqlite3"),
        description="The database: sqlite:///FILE, or postgresql://USER:PASSWORD@HOST/NAME.",
    )
    database_url_file: Path | None = Field(None, description="A file with the database URL, read at the start.")
    database_password: SecretStr | None = Field(
        None, description="The password of the database, as it is, beside a URL without one."
    )
    database_password_file: Path | None = Field(None, description="A file with this password, read at the start.")
    host: str = Field("127.0.0.1", description="Address that `sordino serve` listens on.")
    port: int = Field(8000, ge=0, le=65535, description="Port that `sordino serve` listens on; 0 takes a free one.")
    processes: int = Field(
        1, ge=1, le=1024, description="Processes of `sordino serve`; more than one needs PostgreSQL."
    )
    max_body_bytes: int = Field(
        16 << 20,
        ge=ReportBatch.limit,
        le=1 << 30,
        description="Largest body of a workload or of sums from elsewhere, in bytes; other requests of operators have "
        "64 KiB.",
    )
    anonymous_uploads_per_s: float = Field(
        0.0, ge=0, le=10**6, description="Uploads per second that one address may send without a token; 0: no limit."
    )
    anonymous_uploads_burst: int = Field(
        20,
        ge=1,
        le=10**6,
        description="Burst of uploads from one address without a token, if they are limited.",
    )
    idle_connections: int = Field(
        256, ge=0, le=1 << 20, description="Connections of one address, beyond which its idle ones end; 0: no limit."
    )
    trusted_proxies: str = Field(
        NO_PROXY, description="Addresses and networks, separated by commas, whose X-Forwarded-For is trusted; or none."
    )
    device_origins: str = Field(
        NO_ORIGIN,
        description="Origins whose pages may be devices in a browser, separated by commas; `*` for all, or none.",
    )
    retry_min_s: int = Field(
        60, ge=0, le=7 * 86400, description="Shortest wait of a device before it retries, in seconds, sent in `task`."
    )
    retry_max_s: int = Field(
        3600, ge=0, le=7 * 86400, description="Longest wait of a device before it retries, in seconds, sent in `task`."
    )
    task_max_age_s: int = Field(
        5, ge=0, le=3600, description="Seconds that caches may store `task`; a closed round may look open this long."
    )
    offline_days: int = Field(
        7,
        ge=0,
        le=30,
        description="Days, today's included, that a device may answer a round after it read `task`; 0: not offline.",
    )
    public_lists: bool = Field(True, description="Whether anybody may read what is open for a population.")
    worker_poll_s: float = Field(0.25, gt=0, le=60, description="Seconds between two polls of an idle worker.")
    planning_memory_mb: int = Field(
        4096, ge=256, le=1 << 20, description="Memory limit of one plan's computation, in MiB."
    )
    planning_time_limit_s: int = Field(
        3600,
        ge=1,
        le=7 * 86400,
        description="Longest planning time in seconds, after which the best plan so far is used.",
    )
    search_memory_mb: int = Field(
        4096, ge=256, le=1 << 20, description="Memory limit of one search for common strings, in MiB."
    )
    search_time_limit_s: int = Field(
        3600, ge=1, le=7 * 86400, description="Longest time of one search for common strings, in seconds."
    )
    aggregation_processes: int = Field(
        0,
        ge=0,
        le=1024,
        description="Processes that add up the reports of a closed round; 0: as many as there are cores.",
    )
    sum_on_ingest: IngestSums = Field(
        "cheap",
        description="Sums that are kept while reports arrive: `cheap`, or `all` with those of random directions too.",
    )
    raw_report_retention_days: Retention = Field(
        None,
        description="Days after the end of a campaign, or of a period of a series, until its reports are deleted; "
        "`forever` keeps them. Default: 30 days, and `forever` in a database that had campaigns before there was a "
        "default.",
    )
    card_contact: str | None = Field(
        None, max_length=200, description="Whom to ask, on the cards of campaigns whose manifest names nobody."
    )
    card_review: str | None = Field(
        None, max_length=200, description="Who outside reviewed this service, on cards; otherwise they say nobody did."
    )
    lease_s: int = Field(
        30, ge=2, le=3600, description="Seconds after which another worker takes over the work of a silent one."
    )
    heartbeat_file: Path | None = Field(
        None, description="A file that a worker touches while it works, for `sordino health --worker`."
    )
    drain_s: float = Field(
        2.0, ge=0, le=600, description="Seconds that `sordino serve` continues after SIGTERM, while /readyz fails."
    )
    shutdown_s: int = Field(
        20, ge=1, le=600, description="Seconds for requests, then for the worker, to finish when the server stops."
    )
    metrics_port: int = Field(
        0, ge=0, le=65535, description="Port of `sordino serve` for Prometheus metrics; 0 disables it."
    )
    worker_metrics_port: int = Field(
        0, ge=0, le=65535, description="Port of a worker for Prometheus metrics; 0 disables it."
    )
    metrics_host: str = Field("127.0.0.1", description="Address of the metrics ports.")
    console: bool = Field(True, description="Whether `sordino serve` has the console, the pages under /console.")
    console_networks: str = Field(
        NO_PROXY,
        description="Addresses and networks from which the console takes keys over plain HTTP, or none.",
    )
    public_hosts: str = Field(
        ANY_HOST, description="Names by which browsers reach the console over TLS, separated by commas; or any."
    )
    populations: PopulationMode | None = Field(
        None,
        description="`declared` opens campaigns only for populations that an admin created; `open` creates them. "
        "Default: `open` on a server that this machine alone reaches, else `declared`.",
    )
    dataset_key: SecretStr | None = Field(
        None, description="64 hexadecimal digits that seal the rows of datasets; without it there are none."
    )
    dataset_key_file: Path | None = Field(None, description="A file with these digits, read at the start.")
    round_keys: Path | None = Field(
        None,
        description="Folder of the keys that open reports of shuffled campaigns; without it there are none. Workers "
        "need it too. Keep it out of backups of the database: a key is deleted once its round is estimated.",
    )
    token_hook: Path | None = Field(
        None,
        description="Program that decides who gets a token where the gate is `hook`; without it there is no such gate.",
    )
    token_hook_timeout_s: float = Field(
        5.0, gt=0, le=60, description="Seconds after which the program is ended and the device asked to try again."
    )
    collect_for: str | None = Field(
        None, description="Address of the home, on a server that only collects reports for the home's campaigns."
    )
    source: str | None = Field(None, description="Name of a collector in the manifests of its campaigns.")
    aggregator_keys: SecretStr | None = Field(
        None, description="A collector's keys of role aggregator at its home, one a campaign, separated by commas."
    )
    aggregator_keys_file: Path | None = Field(
        None, description="A file with these keys, one a line, which a collector reads again at each look at its home."
    )
    collect_every_s: float = Field(
        5.0, gt=0, le=3600, description="Seconds between two looks of a collector at its home."
    )
    collect_offline_s: int = Field(
        86400,
        ge=60,
        le=366 * 86400,
        description="Seconds without its home after which a collector closes rounds that have no end by time.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Lowest logged severity.")
    log_format: Literal["text", "json"] = Field("text", description="One readable line, or one JSON object, per event.")

    @property
    def collecting(self) -> Collecting | None:
        """Where a collector collects for, and as whom; None on any other server."""
        if self.collect_for is None or self.source is None:
            return None
        given = () if self.aggregator_keys is None else listed_secrets(self.aggregator_keys.get_secret_value())
        return Collecting(self.collect_for, self.source, given, self.aggregator_keys_file)

    @property
    def population_mode(self) -> PopulationMode:
        """`populations`; where it is not set, what suits a first run on one machine, or a server for others."""
        if self.populations is not None:
            return self.populations
        alone = is_this_machine(self.host) and self.trusted_proxies.strip() == NO_PROXY
        return "open" if alone else "declared"

    @property
    def has_console(self) -> bool:
        """Whether `sordino serve` has the console: a collector decides nothing that its pages could change."""
        return self.console and self.collect_for is None

    @property
    def processes_that_add_up(self) -> int:
        """`aggregation_processes`, or the cores that this process may use."""
        return self.aggregation_processes or usable_cores()

    @model_validator(mode="before")
    @classmethod
    def _read_secrets(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Secrets that are in files, and the database URL with the password that is beside it."""
        read = given | {name: secret for name in _IN_FILES if (secret := secret_of(given, name, PREFIX)) is not None}
        if (password := read.get("database_password")) is not None:
            url = read.get("database_url") or cls.model_fields["database_url"].default
            read["database_url"] = with_password(plain(url), plain(password))
        return read

    @field_validator("raw_report_retention_days", mode="before")
    @classmethod
    def _check_retention(cls, given: Any) -> Any:
        if given is None or given == "forever" or isinstance(given, int):
            return given
        if not (isinstance(given, str) and given.strip().isdecimal() and 1 <= int(given) <= 36600):
            raise ValueError(f"write the days that reports are kept, 1 to 36600, or `forever`; got {given!r}")
        return int(given)

    @field_validator("database_url")
    @classmethod
    def _check_password(cls, url: SecretStr) -> SecretStr:
        if has_default_password(url.get_secret_value()):
            raise ValueError("its password is well known; choose another one for the database")
        return url

    @field_validator("dataset_key")
    @classmethod
    def _check_dataset_key(cls, key: SecretStr | None) -> SecretStr | None:
        if key is not None:
            check_key(key.get_secret_value())
        return key

    @field_validator("collect_for")
    @classmethod
    def _check_home(cls, url: str | None) -> str | None:
        if url is None:
            return None
        parts = urlsplit(url)
        if "@" in parts.netloc:
            raise ValueError("leave user and password out of the home's address, which answers and logs show")
        # `port` raises ValueError for what is none.
        has_host = bool(parts.hostname) and parts.port != 0
        if parts.scheme not in ("http", "https") or not has_host or parts.query or parts.fragment:
            raise ValueError("write the home's address as in https://telemetry.example")
        return url.rstrip("/")

    @field_validator("source")
    @classmethod
    def _check_source(cls, name: str | None) -> str | None:
        if name is not None:
            check_source(name)
        return name

    @field_validator("aggregator_keys")
    @classmethod
    def _check_aggregator_keys(cls, keys: SecretStr | None) -> SecretStr | None:
        if keys is not None and keys.get_secret_value():
            listed_secrets(keys.get_secret_value())
        return keys

    @field_validator("aggregator_keys_file")
    @classmethod
    def _check_aggregator_keys_file(cls, file: Path | None) -> Path | None:
        if file is not None:
            secrets_in(file)
        return file

    @model_validator(mode="after")
    def _check_collecting(self) -> Self:
        if self.aggregator_keys and self.aggregator_keys_file:
            raise ValueError(
                "the keys are in SORDINO_AGGREGATOR_KEYS or in SORDINO_AGGREGATOR_KEYS_FILE, not in both: unset one"
            )
        given = [self.collect_for, self.source, self.aggregator_keys or self.aggregator_keys_file]
        if any(given) and not all(given):
            raise ValueError(
                "SORDINO_COLLECT_FOR, SORDINO_SOURCE and SORDINO_AGGREGATOR_KEYS (or SORDINO_AGGREGATOR_KEYS_FILE) "
                "belong together: set all three on a collector, and none on any other server"
            )
        return self

    @field_validator("trusted_proxies", "console_networks")
    @classmethod
    def _check_proxies(cls, text: str) -> str:
        TrustedProxies.parse(text)
        return text

    @field_validator("device_origins")
    @classmethod
    def _check_device_origins(cls, text: str) -> str:
        DeviceOrigins.parse(text)
        return text

    @field_validator("public_hosts")
    @classmethod
    def _check_public_hosts(cls, text: str) -> str:
        PublicHosts.parse(text)
        return text

    @model_validator(mode="after")
    def _check_metrics_ports(self) -> Self:
        if self.metrics_port == self.worker_metrics_port != 0:
            raise ValueError(
                f"SORDINO_METRICS_PORT and SORDINO_WORKER_METRICS_PORT are both {self.metrics_port}, and "
                "`sordino serve` also runs a worker; choose two ports"
            )
        return self

    @model_validator(mode="after")
    def _check_retry_window(self) -> Self:
        if self.retry_max_s < self.retry_min_s:
            raise ValueError(
                f"SORDINO_RETRY_MAX_S ({self.retry_max_s}) is below SORDINO_RETRY_MIN_S ({self.retry_min_s})"
            )
        return self


def load_settings() -> Settings:
    """The settings of this process; raises InvalidValue for a wrong value or an unknown name."""
    known = {PREFIX + name.upper() for name in Settings.model_fields}
    injected = injected_variables(os.environ)
    given = {name for name in os.environ if name.upper().startswith(PREFIX)} - CLIENT_VARIABLES - injected
    if unknown := sorted(name for name in given if name.upper() not in known):
        raise InvalidValue(
            f"there is no setting {', '.join(unknown)}; the settings are {', '.join(sorted(known))}", unknown
        )
    # What is passed here takes the place of the variable.
    defaults = {name: field.default for name, field in Settings.model_fields.items() if _variable(name) in injected}
    try:
        return Settings(**defaults)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = f"{_variable(str(first['loc'][0]))}: " if first["loc"] else ""
        raise InvalidValue(f"{name}{reason(first)}") from error


def _variable(name: str) -> str:
    return PREFIX + name.upper()
