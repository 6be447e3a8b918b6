"""What `sordino log verify` tells people: lines for a terminal or cron, and the same as a mail."""

from __future__ import annotations

import os
import smtplib
import socket
import ssl
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from sordino_server.cli.log_feed import write_feed
from sordino_server.cli.log_monitor import Look
from sordino_server.kit.clock import WallClock
from sordino_shared.errors import InvalidValue, SordinoError

PASSWORD = "SORDINO_SMTP_PASSWORD"
_WITHIN_S = 30.0
# More are told a line each.
_IN_ONE_LINE = 3
_LOCAL = "localhost"
_PORTS = {"smtp": 25, "smtps": 465}


class MailFailed(SordinoError):
    """The mail server cannot be reached, or refuses the mail."""


def told(found: Look) -> list[str]:
    """What a look found, in lines: first what is not true, then `2 new: …; …`, or a line for each of many."""
    lines = [f"not true: {each}" for each in found.lies]
    texts = list(map(found.text, found.entries))
    if texts and len(texts) <= _IN_ONE_LINE:
        lines.append(f"{len(texts)} new: {'; '.join(texts)}")
    elif texts:
        lines += [f"{len(texts):,} new:", *(f"  {each}" for each in texts)]
    return lines


@dataclass(frozen=True)
class MailServer:
    """Where mails are handed in: smtp, encrypted where the server offers that, or smtps; with a password for a user."""

    address: SplitResult

    @classmethod
    def parse(cls, text: str) -> MailServer:
        """HOST, HOST:PORT, smtp://user@HOST or smtps://user@HOST; raises InvalidValue."""
        found = urlsplit(text if "://" in text else f"smtp://{text}")
        try:
            usable = found.scheme in _PORTS and bool(found.hostname) and found.port != 0
        except ValueError:
            usable = False
        if not usable or found.password is not None or found.path.strip("/") or found.query or found.fragment:
            raise InvalidValue(
                f"--smtp: write HOST, HOST:PORT, smtp://USER@HOST or smtps://USER@HOST, got {text!r}; a password is "
                f"read from {PASSWORD}",
                text,
            )
        return cls(found)

    def send(self, message: EmailMessage) -> None:
        """Hand a mail in; raises MailFailed. A password leaves this machine encrypted or not at all."""
        host, port = str(self.address.hostname), self.address.port or _PORTS[self.address.scheme]
        try:
            with self._connected(host, port) as server:
                if self.address.username:
                    server.login(self.address.username, os.environ.get(PASSWORD, ""))
                refused = server.send_message(message)
        except (OSError, smtplib.SMTPException, ssl.SSLError) as error:
            raise MailFailed(f"the mail cannot be sent by {host}:{port}: {_reason(error)}") from error
        if refused:
            raise MailFailed(f"{host}:{port} refuses mail for {', '.join(refused)}")

    def _connected(self, host: str, port: int) -> smtplib.SMTP:
        if self.address.scheme == "smtps":
            return smtplib.SMTP_SSL(host, port, timeout=_WITHIN_S, context=ssl.create_default_context())
        server = smtplib.SMTP(host, port, timeout=_WITHIN_S)
        server.ehlo()
        if server.has_extn("starttls"):
            server.starttls(context=ssl.create_default_context())
        elif self.address.username:
            server.close()
            raise MailFailed(f"{host}:{port} offers no encryption, so the password is not sent: use smtps://")
        return server


@dataclass(frozen=True, kw_only=True)
class Notices:
    """Feed and mail about what a look found. Raises InvalidValue for options that cannot work, before a log is read."""

    address: str
    recipients: list[str]
    sender: str | None
    smtp: str | None
    feed: Path | None

    def __post_init__(self) -> None:
        idle = [name for name, given in (("--smtp", self.smtp), ("--mail-from", self.sender)) if given is not None]
        if idle and not self.recipients:
            raise InvalidValue(f"{idle[0]} has no effect without --mail")
        if self.recipients:
            self._mail(["a look"])
        MailServer.parse(self.smtp or _LOCAL)

    def tell(self, found: Look, size: int, lines: list[str]) -> None:
        """Bring the feed up to date, and mail the lines where there are any; raises MailFailed."""
        if self.feed is not None:
            write_feed(self.feed, self.address, found, size, WallClock().now())
        if lines:
            self.send(lines)

    def send(self, lines: list[str]) -> None:
        """Mail these lines; raises MailFailed."""
        if self.recipients:
            MailServer.parse(self.smtp or _LOCAL).send(self._mail(lines))

    def _mail(self, lines: list[str]) -> EmailMessage:
        return mail(self.address, self.recipients, self.sender, lines)


def mail(address: str, recipients: list[str], sender: str | None, lines: list[str]) -> EmailMessage:
    """The mail about a log: the first line is its subject. Raises InvalidValue for addresses that are none."""
    message = EmailMessage()
    try:
        message["From"] = sender or f"sordino@{socket.getfqdn()}"
        message["To"] = ", ".join(recipients)
    except (ValueError, IndexError) as error:
        raise InvalidValue(
            f"--mail, --mail-from: these are no addresses: {', '.join(recipients)}", recipients
        ) from error
    addresses = [each.addr_spec for name in ("From", "To") for each in message[name].addresses]
    if len(addresses) <= len(recipients) or not all(map(_is_address, addresses)):
        raise InvalidValue(f"--mail, --mail-from: these are no addresses: {', '.join(recipients)}", recipients)
    # A header is one line, whatever a server says.
    message["Subject"] = " ".join(f"{address}: {_short(lines[0])}".split())
    message["Date"] = formatdate()
    message["Message-ID"] = make_msgid(domain="sordino.invalid")
    message["Auto-Submitted"] = "auto-generated"
    message.set_content("\n".join([f"The public log of {address}:", "", *lines, ""]))
    return message


def _is_address(text: str) -> bool:
    name, at, domain = text.rpartition("@")
    return bool(name and at and domain) and not any(each.isspace() for each in text)


def _short(line: str, most: int = 120) -> str:
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _reason(error: Exception) -> str:
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return "; ".join(f"{name}: {_answer(*answer)}" for name, answer in error.recipients.items())
    if isinstance(error, smtplib.SMTPResponseException):
        return _answer(error.smtp_code, error.smtp_error)
    return str(error) or type(error).__name__


def _answer(code: int, said: bytes | str) -> str:
    return f"{code} {said.decode(errors='replace') if isinstance(said, bytes) else said}"
