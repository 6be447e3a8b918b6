"""Documents of /v1/log: the log, its entries, and who vouches for them."""

from __future__ import annotations

from pydantic import BaseModel, Field


class LogDocument(BaseModel):
    """The public log of this server: what apps pin, and its newest checkpoint."""

    origin: str = Field(description="Name of the log, the first line of its checkpoints.")
    key: str = Field(description="Verifier key, as apps pin it: name+id+base64.")
    keys: list[str] = Field(description="All that sign now, the newest last: two for 30 days after a rotation.")
    size: int = Field(description="Entries of the newest checkpoint.")
    root: str | None = Field(description="Its root in hexadecimal digits, null before the first entry.")
    at: int | None = Field(description="When it was signed, in Unix seconds.")
    witnesses: list[str] = Field(description="Names of the witnesses that cosigned it.")
    ahead: int | None = Field(
        description="Entries that are known elsewhere and not here: the database was restored. Null as a rule."
    )


class LogEntryDocument(BaseModel):
    """An entry of the public log."""

    number: int = Field(description="Its place in the log, from 0.")
    kind: str = Field(description="campaign, plan, end, policy, signer or key.")
    at: int = Field(description="When it was written, in Unix seconds.")
    subject: str = Field(description="What it is about: 32 bytes in hexadecimal digits.")
    campaign: str | None = Field(description="Of which campaign it is; null where it is about none.")
    round: int | None = Field(description="Of which later round it is; null where it is about none.")
    leaf: str = Field(description="SHA-256(0x00 ‖ entry) in hexadecimal digits, the leaf of the tree.")
    text: str = Field(description="What it says, in words.")


class LogEntries(BaseModel):
    """A page of the log's entries, newest first."""

    entries: list[LogEntryDocument]
    next_page_token: str | None


class WitnessDocument(BaseModel):
    """A witness of the public log, and the largest checkpoint that it cosigned."""

    name: str
    asked: bool = Field(description="Whether SORDINO_WITNESSES names it; false of one that cosigned before.")
    size: int = Field(description="Entries of the largest checkpoint that it cosigned, 0 for none.")
    missing: int = Field(description="Entries of the log's newest checkpoint that it has not cosigned.")
    cosigned_at: int | None = Field(description="When it cosigned, by its own clock, in Unix seconds.")


class WitnessedLogDocument(BaseModel):
    """A log of another server that this server witnesses, and the last checkpoint that it cosigned."""

    origin: str
    size: int = Field(description="Entries of that checkpoint, 0 for none.")
    root: str | None = Field(description="Its root in hexadecimal digits.")
    cosigned_at: int | None = Field(description="When, in Unix seconds.")


class LogWitnesses(BaseModel):
    """Who vouches for this log, and for which logs this server vouches."""

    quorum: int = Field(description="Witnesses that a campaign waits for before it opens.")
    waiting: int = Field(description="Entries that are not in the tree yet.")
    witnesses: list[WitnessDocument]
    witnessed: list[WitnessedLogDocument]
