"""Settings of the server processes: environment variables with the prefix SORDINO_ (see docs/settings.md)."""

from __future__ import annotations

import os
from typing import Literal, Self

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from sordino_analysis.validation_messages import reason
from sordino_server.kit.addresses import NO_PROXY, TrustedProxies
from sordino_server.kit.default_passwords import has_default_password
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import ReportBatch

PREFIX = "SORDINO_"
PopulationMode = Literal["open", "declared"]
# Read by the commands of analysts and operators; they share the prefix and are no settings of a server.
CLIENT_VARIABLES = frozenset({"SORDINO_SERVER", "SORDINO_KEY", "SORDINO_CACHE_DIR"})


class Settings(BaseSettings):
    """What can be set; every field has a default that suits a first run on one machine."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True)

    database_url: SecretStr = Field(
        SecretStr("sqlite:///sordino.sqlite3"),
        description="Where everything is kept: sqlite:///FILE, or postgresql://USER:PASSWORD@HOST/NAME.",
    )
    host: str = Field("127.0.0.1", description="Address that `sordino serve` listens on.")
    port: int = Field(8000, ge=0, le=65535, description="Port that `sordino serve` listens on; 0 takes a free one.")
    max_body_bytes: int = Field(
        16 << 20,
        ge=ReportBatch.limit,
        le=1 << 30,
        description="Largest body of a workload, in bytes; other orders have 64 KiB.",
    )
    anonymous_uploads_per_s: float = Field(
        0.0, ge=0, le=10**6, description="Uploads a second that one address may send without a token; 0 for any number."
    )
    anonymous_uploads_burst: int = Field(
        20,
        ge=1,
        le=10**6,
        description="Uploads that one address may send at once without a token, if they are limited.",
    )
    trusted_proxies: str = Field(
        NO_PROXY, description="Addresses and networks, between commas, whose X-Forwarded-For is believed; or none."
    )
    retry_min_s: int = Field(
        60, ge=0, le=7 * 86400, description="Least seconds a device waits before it tries again, as told in `task`."
    )
    retry_max_s: int = Field(
        3600, ge=0, le=7 * 86400, description="Most seconds a device waits before it tries again, as told in `task`."
    )
    task_max_age_s: int = Field(
        5, ge=0, le=3600, description="Seconds that caches may keep `task`; a closed round looks open for as long."
    )
    worker_poll_s: float = Field(
        0.25, gt=0, le=60, description="Seconds between two looks of an idle worker for something to do."
    )
    planning_memory_mb: int = Field(
        4096, ge=256, le=1 << 20, description="Memory that the computation of one plan may take, in MiB."
    )
    planning_time_limit_s: int = Field(
        3600, ge=1, le=7 * 86400, description="Seconds after which the best plan so far is taken, whatever was asked."
    )
    raw_report_retention_days: int = Field(
        0, ge=0, le=36600, description="Days after the end of a campaign that its reports are kept; 0 keeps them."
    )
    lease_s: int = Field(
        30, ge=2, le=3600, description="Seconds after which the work of a worker that fell silent goes to another one."
    )
    drain_s: float = Field(
        2.0, ge=0, le=600, description="Seconds after SIGTERM that `sordino serve` goes on, while /readyz fails."
    )
    shutdown_s: int = Field(
        20, ge=1, le=600, description="Seconds that requests and the worker get to finish when the server is stopped."
    )
    metrics_port: int = Field(
        0, ge=0, le=65535, description="Port on which `sordino serve` shows Prometheus its figures; 0 shows none."
    )
    worker_metrics_port: int = Field(
        0, ge=0, le=65535, description="Port on which a worker shows Prometheus its figures; 0 shows none."
    )
    metrics_host: str = Field("127.0.0.1", description="Address of the metrics' ports.")
    populations: PopulationMode = Field(
        "open",
        description="`declared` opens campaigns only for populations that an admin made; `open` makes them as needed.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Least severity that is logged."
    )
    log_format: Literal["text", "json"] = Field("text", description="One readable line, or one JSON object, an event.")

    @field_validator("database_url")
    @classmethod
    def _check_password(cls, url: SecretStr) -> SecretStr:
        if has_default_password(url.get_secret_value()):
            raise ValueError("its password is one that everybody tries first; give the database one of its own")
        return url

    @field_validator("trusted_proxies")
    @classmethod
    def _check_proxies(cls, text: str) -> str:
        TrustedProxies.parse(text)
        return text

    @model_validator(mode="after")
    def _check_metrics_ports(self) -> Self:
        if self.metrics_port == self.worker_metrics_port != 0:
            raise ValueError(
                f"SORDINO_METRICS_PORT and SORDINO_WORKER_METRICS_PORT are both {self.metrics_port}, and "
                "`sordino serve` has a worker beside it; choose two ports"
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
    """The settings of this process; raises InvalidValue for a value that does not fit or a name that does not exist."""
    known = {PREFIX + name.upper() for name in Settings.model_fields}
    given = {name for name in os.environ if name.upper().startswith(PREFIX)} - CLIENT_VARIABLES
    if unknown := sorted(name for name in given if name.upper() not in known):
        raise InvalidValue(
            f"there is no setting {', '.join(unknown)}; the settings are {', '.join(sorted(known))}", unknown
        )
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = f"{PREFIX}{str(first['loc'][0]).upper()}: " if first["loc"] else ""
        raise InvalidValue(f"{name}{reason(first)}") from error
