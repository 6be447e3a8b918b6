"""Keys as JSON."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, Field, computed_field

from sordino_analysis.strict_model import StrictModel
from sordino_server.identifiers import DigestText
from sordino_server.keys.audit_subjects import SubjectKind
from sordino_server.keys.source_terms import MAX_REPORTS, SourceTerms, source_terms
from sordino_server.kit.times import Created, iso_8601_or_none
from sordino_server.models import AuditEntry, Key, Role
from sordino_shared.protocol.servers import MAX_SOURCE


class KeyRequest(StrictModel):
    """A key to make."""

    name: str = Field(min_length=1, max_length=200, description="Who or what uses the key.")
    role: Role
    campaign: DigestText | None = Field(
        None,
        description="Role uploader: the campaign whose upload token this is; default: all campaigns. Role aggregator: "
        "the campaign whose sums are sent with it. Role shuffler: the campaign whose batches are sent with it. "
        "Role issuer: the campaign whose tokens are asked for with it.",
    )
    source: str | None = Field(
        None,
        max_length=MAX_SOURCE,
        description="Role aggregator: the source of the campaign whose sums are sent with it.",
    )
    max_reports: Annotated[int, Field(strict=True, ge=1, le=MAX_REPORTS)] | None = Field(
        None, description="Role aggregator: the most reports of a round that the source may have, by its latest key."
    )

    expires_at: Annotated[int, Field(strict=True, ge=0, lt=1 << 53)] | None = Field(
        None,
        description="Unix seconds from which on the key opens nothing; null: until it is revoked. Left out, it is a "
        "year from now for the roles admin and analyst, and null for all others.",
    )

    def source_terms(self) -> SourceTerms | None:
        """The source that the key belongs to; raises InvalidValue where name or limit is missing."""
        return source_terms(self.source, self.max_reports)


class KeyDocument(Created):
    """A key without its secret, which nobody can read again."""

    id: str
    name: str
    role: Role
    campaign: str | None
    source: str | None
    revoked_at: int | None
    expires_at: int | None
    last_used_at: int | None = Field(description="Right to five minutes; null: never.")
    replaced_by: str | None = Field(description="Its successor, where it was rotated.")
    person: bool = Field(description="Whether it is a person who signed in, and no key.")

    @computed_field
    def revoked(self) -> str | None:
        return iso_8601_or_none(self.revoked_at)

    @computed_field
    def expires(self) -> str | None:
        return iso_8601_or_none(self.expires_at)

    @computed_field
    def last_used(self) -> str | None:
        return iso_8601_or_none(self.last_used_at)

    @classmethod
    def of(cls, key: Key) -> Self:
        """What is shown of a row."""
        return cls(
            id=key.id,
            name=key.name,
            role=Role(key.role),
            campaign=key.campaign_id,
            source=key.source,
            created_at=key.created_at,
            revoked_at=key.revoked_at,
            expires_at=key.expires_at,
            last_used_at=key.last_used_at,
            replaced_by=key.replaced_by,
            person=key.person is not None,
        )


class NewKeyDocument(KeyDocument):
    """A key just made."""

    key: str | None = Field(description="The key's text, shown only once; null when the request is replayed.")


class KeyList(BaseModel):
    """A page of keys, newest first."""

    keys: list[KeyDocument]
    next_page_token: str | None


class AuditSubject(BaseModel):
    """What an entry is about."""

    kind: SubjectKind
    id: str | None = Field(description="Of a setting its name; null of a session.")
    name: str | None = Field(description="Null where it was deleted, or has no name.")


class AuditEntryDocument(Created):
    """One change that an operator or the server made, or an order that the server refused."""

    id: str
    key_id: str | None = Field(description="Null of a worker.")
    key_name: str | None
    role: Role | None
    action: str = Field(description="Such as `open campaign`.")
    path: str = Field(description="What was changed.")
    subject: AuditSubject | None = Field(
        None, description="What it is about, by kind, id and name; null in entries of versions that named it otherwise."
    )
    actor: str = Field(
        description="`key:` and its name, `person:` with issuer, `#` and subject, `worker`, `server` where it "
        "refused what the key asked for, or `shell:` and the user's number of a command on the server."
    )
    actor_recorded: bool = Field(description="False in entries of versions before, whose hash has no actor.")
    request_id: str | None = Field(
        description="The `X-Request-Id` of the request; null of a command on the server and in earlier versions."
    )
    before: str | None = Field(description="What it was, as JSON, where caps, roles, keys or retention change.")
    after: str | None = Field(description="What it became.")
    sha256: str | None = Field(description="Its link of the chain of hashes; null until a worker has made it.")

    @classmethod
    def of(cls, entry: AuditEntry, key: Key | None, sha256: str | None) -> Self:
        """What is shown of a row, its key and its link."""
        by_key = "worker" if key is None else key.actor
        return cls(
            id=f"{entry.id:x}",
            created_at=entry.created_at,
            key_id=entry.key_id,
            key_name=None if key is None else key.name,
            role=None if key is None else Role(key.role),
            action=entry.action,
            path=entry.path,
            actor=entry.actor or by_key,
            actor_recorded=entry.actor is not None,
            request_id=entry.request_id,
            before=entry.before,
            after=entry.after,
            sha256=sha256,
        )


class AuditLog(BaseModel):
    """A page of the audit log, newest first."""

    entries: list[AuditEntryDocument]
    complete: bool = Field(
        description="Whether the pages have every entry: no filter, and an admin's key. Others may be left out, and "
        "the chain of hashes cannot be checked."
    )
    next_page_token: str | None
