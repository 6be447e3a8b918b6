"""Operators' keys, their sessions in the console, and the answers remembered for their idempotency keys."""

from __future__ import annotations

from enum import StrEnum

from sqlalchemy import BigInteger, ColumnElement, ForeignKey, LargeBinary, String, Text, or_
from sqlalchemy.orm import Mapped, mapped_column

from sordino_server.models.base import Base, RowNumber, one_of


class Role(StrEnum):
    """What a key may do."""

    ADMIN = "admin"
    ANALYST = "analyst"
    UPLOADER = "uploader"
    AGGREGATOR = "aggregator"
    SHUFFLER = "shuffler"
    ISSUER = "issuer"


class Key(Base):
    """An operator: a key by the SHA-256 of its secret, or a person. Revoked ones stay, so that old entries have a name.

    An uploader's key may belong to one campaign: it is that campaign's upload token. An aggregator's key belongs to one
    campaign and one of its sources, a shuffler's and an issuer's to one campaign. `last_used_at` is right to minutes.

    A rotated key has its successor in `replaced_by`; `line` is the first key of a line of rotations, null of the first.
    A person has the SHA-256 of issuer and subject in `person`, a secret that nobody has, and the role of the last
    sign-in.
    """

    __tablename__ = "keys"
    __table_args__ = (one_of("role", Role),)

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    name: Mapped[str] = mapped_column(String(200))
    role: Mapped[str] = mapped_column(String(16))
    campaign_id: Mapped[str | None] = mapped_column(ForeignKey("campaigns.id"))
    source: Mapped[str | None] = mapped_column(String(24))
    secret_sha256: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[int] = mapped_column(BigInteger)
    revoked_at: Mapped[int | None] = mapped_column(BigInteger)
    expires_at: Mapped[int | None] = mapped_column(BigInteger)
    last_used_at: Mapped[int | None] = mapped_column(BigInteger)
    line: Mapped[str | None] = mapped_column(String(64))
    replaced_by: Mapped[str | None] = mapped_column(String(64))
    person: Mapped[str | None] = mapped_column(String(64), index=True, unique=True)

    @property
    def actor(self) -> str:
        """Who acts with it, in the audit log."""
        return f"{'key' if self.person is None else 'person'}:{self.name}"

    @classmethod
    def in_use(cls, now: int) -> tuple[ColumnElement[bool], ...]:
        """Conditions of a query: neither revoked nor expired."""
        return cls.revoked_at.is_(None), or_(cls.expires_at.is_(None), cls.expires_at > now)

    def has_expired(self, now: int) -> bool:
        """Whether its time is over."""
        return self.expires_at is not None and self.expires_at <= now


class IdempotencyKey(Base):
    """The answer that one operator's idempotency key got, so that the same request is answered the same.

    `key_id` is the first key of its line, so that a rotated key and its successors know the same answers.
    """

    __tablename__ = "idempotency_keys"

    key_id: Mapped[str] = mapped_column(ForeignKey("keys.id"), primary_key=True)
    key: Mapped[str] = mapped_column(String(255), primary_key=True)
    method_path: Mapped[str] = mapped_column(String(2048))
    body_sha256: Mapped[str] = mapped_column(String(64))
    status: Mapped[int]
    response: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[int] = mapped_column(BigInteger)


class ConsoleSession(Base):
    """A browser that signed in to the console: its secret id as SHA-256. It ends with the key.

    From `renew_at` on a person's session needs another look at who the person is; null of a key's. `shown_name` is what
    the person reads on the pages.
    """

    __tablename__ = "console_sessions"

    id_sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    key_id: Mapped[str] = mapped_column(ForeignKey("keys.id"))
    created_at: Mapped[int] = mapped_column(BigInteger)
    expires_at: Mapped[int] = mapped_column(BigInteger, index=True)
    renew_at: Mapped[int | None] = mapped_column(BigInteger)
    shown_name: Mapped[str | None] = mapped_column(String(200))


class SignInLink(Base):
    """A link that signs a browser in with a key, once: its token as SHA-256."""

    __tablename__ = "sign_in_links"

    token_sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    key_id: Mapped[str] = mapped_column(ForeignKey("keys.id"))
    created_at: Mapped[int] = mapped_column(BigInteger)
    expires_at: Mapped[int] = mapped_column(BigInteger)


class AuditEntry(Base):
    """One change that an operator or a worker made; the database refuses to change a row.

    `path` names what was changed, under which the API has it. `actor` is `key:name`, `person:issuer#subject`, `worker`,
    or `shell:uid` of a command on the server's machine, whose `key_id` is the key that it changed; null in entries of
    earlier versions. `key_id` is null of a worker. `request_id` is the `X-Request-Id` of the request, null of commands
    and workers. `before` and `after` are JSON, where caps, roles, keys or retention change.
    """

    __tablename__ = "audit_log"

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    key_id: Mapped[str | None] = mapped_column(ForeignKey("keys.id"))
    action: Mapped[str] = mapped_column(String(64))
    path: Mapped[str] = mapped_column(String(2048))
    created_at: Mapped[int] = mapped_column(BigInteger)
    actor: Mapped[str | None] = mapped_column(String(240))
    request_id: Mapped[str | None] = mapped_column(String(64))
    before: Mapped[str | None] = mapped_column(Text)
    after: Mapped[str | None] = mapped_column(Text)


class AuditLink(Base):
    """The SHA-256 of an entry of the audit log and of the link before it; the database refuses to change a row."""

    __tablename__ = "audit_chain"

    entry_id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    sha256: Mapped[str] = mapped_column(String(64))
