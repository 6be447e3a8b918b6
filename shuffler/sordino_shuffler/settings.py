"""Settings from the environment, and the file of campaigns: every wrong one is refused with what to write instead."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from sordino_shared.errors import InvalidValue
from sordino_shared.http.address import Address
from sordino_shared.http.device_origins import NO_ORIGIN, DeviceOrigins
from sordino_shared.http.senders import NO_PROXY, TrustedProxies
from sordino_shared.protocol import CampaignId
from sordino_shuffler.errors import WrongSetting

PREFIX = "SORDINO_SHUFFLER_"
_ENTRY = {"id", "collector", "key"}


@dataclass(frozen=True, kw_only=True)
class ShufflerSettings:
    """One field a setting: `SORDINO_SHUFFLER_` and its name in capitals.

    `folder` holds the sealed reports and is never backed up nor copied. `kept` holds what must outlive it: the signing
    key and the file of released batches. `campaigns` is a TOML file that is read again when it changes.
    """

    folder: Path = Path("sordino-shuffler")
    kept: Path = Path("sordino-shuffler-kept")
    campaigns: Path = Path("campaigns.toml")
    host: str = "127.0.0.1"
    port: int = 8100
    metrics_host: str = "127.0.0.1"
    # 0: no metrics.
    metrics_port: int = 9100
    trusted_proxies: str = NO_PROXY
    device_origins: str = NO_ORIGIN
    # Of one address, in requests; 0: any number.
    uploads_per_s: int = 50
    uploads_burst: int = 500
    least_free_mb: int = 500
    refresh_s: int = 15
    shutdown_s: int = 10

    def __post_init__(self) -> None:
        self._check_folders()
        for name, least, most in _RANGES:
            if not least <= getattr(self, name) <= most:
                raise WrongSetting(f"{variable(name)} is a number from {least} to {most}, got {getattr(self, name)}")
        # Refused at the start, not at the first upload.
        _ = self.proxies, self.origins

    @property
    def store(self) -> Path:
        """The file of sealed reports."""
        return self.folder / "shuffler.sqlite3"

    @property
    def released(self) -> Path:
        """The file of released batches."""
        return self.kept / "released"

    @property
    def signing_key(self) -> Path:
        """The file of the key that signs statements."""
        return self.kept / "signing.key"

    @property
    def proxies(self) -> TrustedProxies:
        """The proxies whose X-Forwarded-For is believed."""
        try:
            return TrustedProxies.parse(self.trusted_proxies)
        except InvalidValue as error:
            raise WrongSetting(f"{variable('trusted_proxies')}: {error}") from error

    @property
    def origins(self) -> DeviceOrigins:
        """The origins whose pages may be devices."""
        try:
            return DeviceOrigins.parse(self.device_origins)
        except InvalidValue as error:
            raise WrongSetting(f"{variable('device_origins')}: {error}") from error

    def _check_folders(self) -> None:
        folder, kept = self.folder.resolve(), self.kept.resolve()
        if kept == folder or folder in kept.parents or kept in folder.parents:
            raise WrongSetting(
                f"{variable('kept')} ({self.kept}) and {variable('folder')} ({self.folder}) are two folders, none in "
                "the other: a folder that is restored must not bring back an older file of released batches"
            )


_RANGES = (
    ("port", 1, 65_535),
    ("metrics_port", 0, 65_535),
    ("uploads_per_s", 0, 1_000_000),
    ("uploads_burst", 1, 1_000_000),
    ("least_free_mb", 0, 1 << 40),
    ("refresh_s", 1, 3600),
    ("shutdown_s", 1, 600),
)


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return PREFIX + name.upper()


def settings_from(environment: Mapping[str, str]) -> ShufflerSettings:
    """The settings of an environment; raises WrongSetting, also for a name that begins as one and is none."""
    known = {variable(field.name): field for field in fields(ShufflerSettings)}
    values: dict[str, Any] = {}
    for name, text in environment.items():
        if not name.startswith(PREFIX):
            continue
        if name not in known:
            raise WrongSetting(f"{name} is no setting; there are {', '.join(sorted(known))}")
        values[known[name].name] = _parsed(name, str(known[name].type), text)
    return ShufflerSettings(**values)


def _parsed(name: str, kind: str, text: str) -> Any:
    if kind == "int":
        try:
            return int(text)
        except ValueError:
            raise WrongSetting(f"{name} is a whole number, got {text!r}") from None
    if not text:
        raise WrongSetting(f"{name} is empty: leave it out for its default")
    return Path(text) if kind == "Path" else text


@dataclass(frozen=True)
class ShuffledEntry:
    """A campaign to shuffle: its id, the collector's address, and the collector's key of role `shuffler` for it."""

    campaign: CampaignId
    collector: Address
    key: str

    def __repr__(self) -> str:
        return f"ShuffledEntry({self.campaign}, {self.collector.url('')})"


def read_campaigns(path: Path) -> tuple[ShuffledEntry, ...]:
    """The entries of the file; raises WrongSetting."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise WrongSetting(
            f"{path} is not there: it has one [[campaign]] for each campaign, with id, collector and key"
        ) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise WrongSetting(f"{path} cannot be read: {error}") from error
    listed = content.pop("campaign", [])
    if content or not isinstance(listed, list):
        raise WrongSetting(f"{path} has [[campaign]] tables alone, got {', '.join(content) or 'campaign as a value'}")
    entries = tuple(_entry(path, number, each) for number, each in enumerate(listed, start=1))
    if len({entry.campaign for entry in entries}) < len(entries):
        raise WrongSetting(f"{path} names a campaign twice")
    return entries


def _entry(path: Path, number: int, table: Any) -> ShuffledEntry:
    where = f"[[campaign]] number {number} of {path}"
    if not isinstance(table, dict) or set(table) != _ENTRY or not all(isinstance(v, str) for v in table.values()):
        raise WrongSetting(f'{where} has exactly id = "…", collector = "https://…" and key = "…"')
    try:
        entry = ShuffledEntry(CampaignId.parse(table["id"]), Address.parse(table["collector"]), table["key"])
    except InvalidValue as error:
        raise WrongSetting(f"{where}: {error}") from error
    if not entry.key.isascii() or not entry.key.isprintable() or not entry.key or " " in entry.key:
        raise WrongSetting(f"{where}: key is what `sordino keys create --role shuffler` printed at the collector")
    return entry
