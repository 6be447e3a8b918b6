"""Errors that both sides raise; every one keeps what was wrong.

`code` names the class in logs and never changes; `advice` says what to do.

SordinoError
├── InvalidValue            a constructor or function refused an argument (also a ValueError)
│   └── OutsideDomain       a value that an exhaustive domain does not list
├── ProtocolError           bytes or documents that break protocol v1
│   ├── MalformedDocument   not canonical CBOR, an unknown or missing field, a wrong type
│   ├── UnsupportedVersion  a document of a protocol version that this code does not speak
│   ├── OversizedDocument   more bytes than the document may have
│   └── DigestMismatch      bytes that are not the ones their digest names
├── NoAnswer                an HTTP server gave no whole answer: no connection, too slow, not HTTP
│   └── UnreadableBody      its body comes in a coding that is not read, or in a damaged gzip
├── IllegalTransition       a change of state that the table of transitions does not list
└── GuaranteeNotMet         the integers of a randomizer prove a larger ε than is claimed
"""

from __future__ import annotations

from sordino_shared.quantities import quantity


class SordinoError(Exception):
    """Root of every error that sordino raises on purpose.

    `code` is for programs: it stays when a class or a message changes. `advice` is for people: what to do about it.
    """

    code: str = "sordino-error"
    advice: str = "change what the message names, and try again"


class InvalidValue(SordinoError, ValueError):
    """An argument was refused; `value` is the argument."""

    code = "invalid-value"
    advice = "correct the argument that the message names"

    def __init__(self, message: str, value: object = None) -> None:
        super().__init__(message)
        self.value = value


class OutsideDomain(InvalidValue):
    """A value that an exhaustive domain does not list; `attribute` names where."""

    code = "outside-domain"
    advice = "give a value that the domain lists"

    def __init__(self, message: str, value: object, attribute: str) -> None:
        super().__init__(message, value)
        self.attribute = attribute


class ProtocolError(SordinoError):
    """Bytes or a document that break the protocol."""

    code = "protocol-error"
    advice = "do not use the document; report it to the operator of the server that sent it"


class MalformedDocument(ProtocolError):
    """A document that is not canonical or does not fit its schema; `path` says where."""

    code = "malformed-document"

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path = path


class UnsupportedVersion(ProtocolError):
    """A document of protocol version `found`; this code speaks `supported`."""

    code = "unsupported-version"
    advice = "upgrade this software"

    def __init__(self, value: object, supported: int) -> None:
        super().__init__(
            f"document has protocol version {value!r}, this software speaks version {supported}; upgrade it"
        )
        self.found = value
        self.supported = supported


class OversizedDocument(ProtocolError):
    """A document of `size` bytes where at most `limit` are allowed."""

    code = "oversized-document"

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"document has {quantity(size, 'byte')}, at most {limit} are allowed")
        self.size = size
        self.limit = limit


class DigestMismatch(ProtocolError):
    """Bytes whose SHA-256 is `actual` where `expected` was promised."""

    code = "digest-mismatch"
    advice = "do not use the content, and fetch it again"

    def __init__(self, expected: bytes, actual: bytes) -> None:
        super().__init__(f"content has SHA-256 {actual.hex()}, expected {expected.hex()}; do not use it")
        self.expected = expected
        self.actual = actual


class NoAnswer(SordinoError):
    """An HTTP server gave no whole answer; the same request may succeed later."""

    code = "no-answer"
    advice = "check the server's address and the network, and try again later"


class UnreadableBody(NoAnswer):
    """The body of an answer comes in a coding that is not read, or in a gzip that is damaged."""

    code = "unreadable-body"
    advice = "check what stands between you and the server: no proxy may change the body's coding"


class GuaranteeNotMet(SordinoError):
    """The integers of a randomizer prove `proved` nano-ε (None: no finite ε), more than `claimed`."""

    code = "guarantee-not-met"
    advice = "do not use the plan, and report it to the operator of the campaign"

    def __init__(self, claimed: int, proved: int | None) -> None:
        found = "no finite ε" if proved is None else f"ε = {proved / 1e9:.9f}"
        super().__init__(f"the randomizer proves {found}, the claim is ε = {claimed / 1e9:.9f}; do not use it")
        self.claimed = claimed
        self.proved = proved
