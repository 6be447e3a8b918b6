"""The settings of the public log: its key, its witnesses, and the logs that this server witnesses."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings

from sordino_shared.errors import InvalidValue
from sordino_shared.http.address import Address
from sordino_shared.protocol.log_keys import LOG_KIND, MAX_LOG_KEYS, MAX_WITNESSES, WITNESS_KIND, NoteKey

_ORIGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:/_-]{0,199}")


@dataclass(frozen=True)
class AskedWitness:
    """A witness of the public log: where it is, and the key of its cosignatures."""

    address: str
    key: NoteKey


class PublicLogSettings(BaseSettings):
    """Those of the settings that are about the public log."""

    log: Literal["on", "off"] = Field(
        "on", description="Whether a new database begins a public log of what is asked, and workers sign it."
    )
    log_key: Path | None = Field(
        None,
        description="File of the public log's key, for its owner alone; default: beside an SQLite database, with "
        "`.log-key` behind its name. The server makes it there at its first start.",
    )
    log_origin: str | None = Field(
        None, description="Name of a new public log, such as telemetry.example/log; default: one made of its key."
    )
    log_folder: Path | None = Field(
        None,
        description="Folder that workers keep the public log in, as `sordino log export` writes it; where it "
        "has more entries than the database, nothing is signed.",
    )
    witnesses: str | None = Field(
        None,
        description="Servers that cosign the public log, separated by commas: the address, a blank, and the verifier "
        "key of each.",
    )
    log_quorum: int | None = Field(
        None, ge=0, le=8, description="Witnesses that a campaign waits for before it opens; default: all of them."
    )
    witnessed_logs: str | None = Field(
        None, description="Verifier keys of other servers' logs that this server cosigns, separated by commas."
    )

    @property
    def witnesses_asked(self) -> tuple[AskedWitness, ...]:
        """Those that cosign the public log."""
        return asked_witnesses(self.witnesses or "")

    @property
    def quorum_of_witnesses(self) -> int:
        """How many of the witnesses a checkpoint needs before devices are shown it."""
        asked = len(self.witnesses_asked)
        return asked if self.log_quorum is None else min(self.log_quorum, asked)

    @property
    def logs_witnessed(self) -> tuple[NoteKey, ...]:
        """The keys of the logs that this server cosigns."""
        return listed_log_keys(self.witnessed_logs or "")

    @field_validator("witnesses")
    @classmethod
    def _check_witnesses(cls, text: str | None) -> str | None:
        asked_witnesses(text or "")
        return text

    @field_validator("witnessed_logs")
    @classmethod
    def _check_witnessed_logs(cls, text: str | None) -> str | None:
        listed_log_keys(text or "")
        return text

    @field_validator("log_origin")
    @classmethod
    def _check_log_origin(cls, name: str | None) -> str | None:
        if name is not None:
            check_origin(name)
        return name


def asked_witnesses(text: str) -> tuple[AskedWitness, ...]:
    """The witnesses of a list; raises InvalidValue."""
    found = tuple(map(_asked, _items(text)))
    if len(found) > MAX_WITNESSES or len({each.key.key for each in found}) < len(found):
        raise InvalidValue(f"name up to {MAX_WITNESSES} different witnesses", text)
    return found


def listed_log_keys(text: str) -> tuple[NoteKey, ...]:
    """The verifier keys of logs; raises InvalidValue."""
    found = tuple(map(NoteKey.parse, _items(text)))
    wrong = [each.name for each in found if each.kind != LOG_KIND]
    if wrong or len({each.key for each in found}) < len(found):
        raise InvalidValue("write each verifier key of a log once, as `sordino log show` of its server says", text)
    if any(count > MAX_LOG_KEYS for count in Counter(each.name for each in found).values()):
        raise InvalidValue(f"a log has at most {MAX_LOG_KEYS} keys at a time: take those out that no longer sign", text)
    return found


def check_origin(name: str) -> None:
    """Raise InvalidValue unless this is the address of a log without its scheme."""
    if not _ORIGIN.fullmatch(name):
        raise InvalidValue(f"a log is named by its address without https://, such as telemetry.example/log: {name!r}")


def _asked(item: str) -> AskedWitness:
    words = item.split()
    if len(words) != 2:
        raise InvalidValue(f"write the address of a witness, a blank, and its verifier key, got {item!r}", item)
    Address.parse(words[0])
    key = NoteKey.parse(words[1])
    if key.kind != WITNESS_KIND:
        raise InvalidValue(f"the key of {key.name} is one of a log, not of a witness", item)
    return AskedWitness(words[0].rstrip("/"), key)


def _items(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]
