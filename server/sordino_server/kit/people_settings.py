"""The settings of people who sign in to the console without a key: who vouches for them, and what their groups may."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings

from sordino_server.kit.addresses import is_this_machine
from sordino_shared.errors import InvalidValue
from sordino_shared.http.address import Address
from sordino_shared.http.senders import NO_PROXY

# The highest first.
_ROLES = ("admin", "analyst")
_EXAMPLE = '{"admin": ["sordino-admins"], "analyst": ["data, science"]}'
_SHORTEST_SECRET = 16
_VISIBLE = re.compile(r"[!-~]+")
_SCOPES = re.compile(r"openid( [!#-\[\]-~]+)*")


@dataclass(frozen=True)
class RolesOfGroups:
    """The groups of each role; a group that none names has no role."""

    groups: Mapping[str, frozenset[str]]

    @classmethod
    def parse(cls, text: str) -> Self:
        """From a JSON object of lists, as {"admin": ["group"]}; raises InvalidValue."""
        try:
            given = json.loads(text, object_pairs_hook=_once)
        except ValueError as error:
            raise InvalidValue(f"write the groups of each role as JSON, such as {_EXAMPLE}: {error}", text) from error
        lists = isinstance(given, dict) and given and set(given) <= set(_ROLES)
        if not lists or not all(_is_list_of_names(each) for each in given.values()):
            raise InvalidValue(f"write a list of groups for each of {', '.join(_ROLES)}, such as {_EXAMPLE}", text)
        return cls({role: frozenset(names) for role, names in given.items()})

    def role_of(self, groups: Collection[str]) -> str | None:
        """The highest role that one of the groups has, None where none has one."""
        return next((role for role in _ROLES if self.groups.get(role, frozenset()) & set(groups)), None)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a role is there twice")
    return dict(pairs)


def _is_list_of_names(given: Any) -> bool:
    return isinstance(given, list) and bool(given) and all(isinstance(each, str) and each for each in given)


class PeopleSettings(BaseSettings):
    """Those of the settings that are about people."""

    people: Literal["off", "header", "oidc"] = Field(
        "off", description="How people sign in to the console without a key: not, by headers of a proxy, or by OIDC."
    )
    people_roles: str | None = Field(
        None, description=f"The groups of each role, as JSON such as {_EXAMPLE}. Other groups have no role."
    )
    people_secret: SecretStr | None = Field(
        None, description="Secret that the proxy sends in X-Sordino-Proxy-Secret with the name of a person."
    )
    people_secret_file: Path | None = Field(None, description="A file with this secret, read at the start.")
    oidc_issuer: str | None = Field(None, description="Address of the OpenID provider, as its ID tokens name it.")
    oidc_client_id: str | None = Field(
        None, min_length=1, max_length=255, description="This server's client id at the OpenID provider."
    )
    oidc_client_secret: SecretStr | None = Field(
        None, description="This server's secret at the OpenID provider; a public client has none."
    )
    oidc_client_secret_file: Path | None = Field(None, description="A file with this secret, read at the start.")
    oidc_scopes: str = Field("openid profile", description="What is asked of the OpenID provider, between blanks.")
    oidc_groups_claim: str = Field(
        "groups", min_length=1, max_length=200, description="The claim of an ID token that lists the person's groups."
    )
    audit_names: Literal["on", "off"] = Field(
        "off", description="Whether the audit log has names, e-mail addresses and network addresses of who signs in."
    )

    @property
    def roles_of_groups(self) -> RolesOfGroups:
        """What groups may do."""
        return RolesOfGroups({}) if self.people_roles is None else RolesOfGroups.parse(self.people_roles)

    @field_validator("people_roles")
    @classmethod
    def _check_roles(cls, text: str | None) -> str | None:
        if text is not None:
            RolesOfGroups.parse(text)
        return text

    @field_validator("people_secret")
    @classmethod
    def _check_secret(cls, secret: SecretStr | None) -> SecretStr | None:
        text = "" if secret is None else secret.get_secret_value()
        if secret is not None and (len(text) < _SHORTEST_SECRET or not _VISIBLE.fullmatch(text)):
            raise ValueError(f"write at least {_SHORTEST_SECRET} visible characters of ASCII: `openssl rand -hex 32`")
        return secret

    @field_validator("oidc_issuer")
    @classmethod
    def _check_issuer(cls, issuer: str | None) -> str | None:
        if issuer is None:
            return None
        address = Address.parse(issuer)
        if address.scheme != "https" and not is_this_machine(address.host):
            raise ValueError("the OpenID provider's address starts with https://")
        return issuer

    @field_validator("oidc_scopes")
    @classmethod
    def _check_scopes(cls, text: str) -> str:
        if not _SCOPES.fullmatch(text):
            raise ValueError("write scopes between single blanks, openid first, such as `openid profile groups`")
        return text

    @model_validator(mode="after")
    def _check_people(self) -> Self:
        given: dict[str, dict[str, object]] = {
            "header": {"SORDINO_PEOPLE_SECRET": self.people_secret},
            "oidc": {"SORDINO_OIDC_ISSUER": self.oidc_issuer, "SORDINO_OIDC_CLIENT_ID": self.oidc_client_id},
        }
        for mode, settings in given.items():
            idle = [name for name, value in settings.items() if value is not None]
            if self.people != mode and idle:
                raise ValueError(f"{idle[0]} needs SORDINO_PEOPLE={mode}: set it, or unset {' and '.join(idle)}")
        if self.people == "off":
            return self
        needed: dict[str, object] = {"SORDINO_PEOPLE_ROLES": self.people_roles} | given[self.people]
        if missing := [name for name, value in needed.items() if value is None]:
            raise ValueError(f"SORDINO_PEOPLE={self.people} needs {' and '.join(missing)}")
        if self.people == "header":
            self._check_header()
        return self

    def _check_header(self) -> None:
        if getattr(self, "trusted_proxies", NO_PROXY) == NO_PROXY:
            raise ValueError("SORDINO_PEOPLE=header needs the proxy's address in SORDINO_TRUSTED_PROXIES")
        named = [each for groups in self.roles_of_groups.groups.values() for each in groups]
        if wrong := sorted(each for each in named if "," in each or each != each.strip()):
            raise ValueError(
                f"SORDINO_PEOPLE_ROLES: {wrong[0]!r} cannot come in X-Forwarded-Groups, where commas stand between "
                "groups: name another group, or use SORDINO_PEOPLE=oidc"
            )
