"""What `sordino log verify` tells: lines for cron, mails that a real server on loopback takes, and an Atom feed."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from email import message_from_string
from email.policy import default
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
from typer.testing import CliRunner

from sordino_server.cli import log_feed, log_notices
from sordino_server.cli.log import app
from sordino_server.cli.log_monitor import Look
from sordino_server.public_log.sentences import sentence
from sordino_server.public_log.signing import NoteSigner
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import LogEntry, Manifest
from sordino_shared.protocol.ids import Digest
from sordino_shared.protocol.log_entries import (
    EndState,
    LoggedEnd,
    LoggedPolicy,
    LoggedSigner,
    SignerChange,
    entry_of_manifest,
    logged_parts,
)
from sordino_shared.protocol.series import MAX_TIME
from tests.ports import free_port
from tests.server.conftest import RunningServer
from tests.server.public_log.conftest import NOW
from tests.server.public_log.test_copies import VECTORS, publish, sign, signer_of

OTHER = NoteSigner.of_log("telemetry.example/log", bytes(32)).key
ATOM = "{http://www.w3.org/2005/Atom}"


class MailHost:
    """A mail server of RFC 5321 on loopback, as far as a client needs it; `refuses` has recipients that are unknown."""

    def __init__(self) -> None:
        self.received: list[str] = []
        self.greeted: list[str] = []
        self.refuses: set[str] = set()
        self._loop = asyncio.new_event_loop()
        self._server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port: int = self._server.sockets[0].getsockname()[1]
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._server.close()
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example\r\n")
        while line := (await reader.readline()).decode().strip():
            word = line.split(" ")[0].split(":")[0].upper()
            if word == "EHLO":
                self.greeted.append(line)
                writer.write(b"250-mail.example\r\n250 SIZE 1000000\r\n")
            elif word == "RCPT" and any(each in line for each in self.refuses):
                writer.write(b"550 no such mailbox\r\n")
            elif word == "DATA":
                writer.write(b"354 go on\r\n")
                text = (await reader.readuntil(b"\r\n.\r\n")).decode()
                self.received.append(text.removesuffix(".\r\n"))
                writer.write(b"250 taken\r\n")
            elif word == "QUIT":
                writer.write(b"221 bye\r\n")
                break
            else:
                writer.write(b"250 fine\r\n")
        await writer.drain()
        writer.close()


@pytest.fixture
def host() -> Iterator[MailHost]:
    made = MailHost()
    yield made
    made.close()


def asked_of(server: RunningServer, key: Path, state: Path) -> list[str]:
    return ["verify", server.address, "--key", str(signer_of(key).key), "--state", str(state)]


def titles(feed: Path) -> list[str]:
    return [str(each.findtext(f"{ATOM}title")) for each in Xml.parse(feed).getroot().iter(f"{ATOM}entry")]


def test_what_is_new_is_mailed_and_stands_in_the_feed_once(
    logging_server: RunningServer, key: Path, tmp_path: Path, host: MailHost
) -> None:
    campaign = logging_server.campaign("open", "close")["id"]
    sign(logging_server)
    feed, state, run = tmp_path / "log.atom", tmp_path / "seen.json", CliRunner()
    asked = [*asked_of(logging_server, key, state), "--mail", "maria@example.org", "--mail", "ops@example.org",
             "--mail-from", "monitor@example.org", "--smtp", f"127.0.0.1:{host.port}", "--feed", str(feed)]  # fmt: skip
    done = run.invoke(app, asked)
    told = (
        "2 new: campaign 'delays' of population 'travellers', ε 1 a device, 1 answer, asks for delay (4 values); "
        f"campaign {campaign} was closed"
    )
    assert (done.exit_code, done.stdout) == (1, told + "\n"), done.output
    [text] = host.received
    mail = message_from_string(text, policy=default)
    assert mail["To"] == "maria@example.org, ops@example.org"
    assert mail["From"] == "monitor@example.org"
    assert str(mail["Subject"]).startswith(f"{logging_server.address}: 2 new: campaign 'delays'")
    assert told in mail.get_content()
    assert titles(feed)[0] == f"campaign {campaign} was closed"
    assert "ε 1 a device" in titles(feed)[1]
    # Nothing new: nothing is printed, mailed or written.
    before = feed.read_bytes()
    quiet = run.invoke(app, [*asked, "--quiet"])
    assert (quiet.exit_code, quiet.output) == (0, "")
    assert (len(host.received), feed.read_bytes()) == (1, before)
    publish(logging_server.database, "We keep reports for 30 days.")
    sign(logging_server)
    assert run.invoke(app, [*asked, "--json"]).exit_code == 1
    assert titles(feed)[0] == "policy: We keep reports for 30 days."
    assert len(titles(feed)) == 3


def test_a_mail_that_fails_is_told_again_by_the_next_run(
    logging_server: RunningServer, key: Path, tmp_path: Path, host: MailHost
) -> None:
    publish(logging_server.database, "a text")
    sign(logging_server)
    state, run, feed = tmp_path / "seen.json", CliRunner(), tmp_path / "log.atom"
    asked = [*asked_of(logging_server, key, state), "--feed", str(feed), "--mail", "maria@example.org", "--smtp"]
    down = run.invoke(app, [*asked, f"127.0.0.1:{free_port()}"])
    assert (down.exit_code, state.exists()) == (4, False)
    assert "the mail cannot be sent by 127.0.0.1" in down.stderr
    host.refuses = {"maria"}
    refused = run.invoke(app, [*asked, f"127.0.0.1:{host.port}"])
    assert refused.exit_code == 4
    assert "550 no such mailbox" in refused.stderr
    host.refuses = set()
    assert run.invoke(app, [*asked, f"127.0.0.1:{host.port}"]).exit_code == 1
    assert len(host.received) == len(titles(feed)) == 1
    assert json.loads(state.read_text())["size"] == 1


def test_a_lie_is_told_by_the_exit_code_also_where_nothing_can_be_written(
    logging_server: RunningServer, key: Path, tmp_path: Path
) -> None:
    publish(logging_server.database, "a text")
    sign(logging_server)
    run, nowhere = CliRunner(), tmp_path / "nowhere"
    unsaved = run.invoke(app, asked_of(logging_server, key, nowhere / "seen.json"))
    assert unsaved.exit_code == 4
    assert "seen.json.part cannot be written: No such file or directory" in " ".join(unsaved.stderr.split())
    assert run.invoke(app, asked_of(logging_server, key, tmp_path)).exit_code == 2
    mailed = ["--mail", "maria@example.org", "--smtp", f"127.0.0.1:{free_port()}"]
    for further in ([], mailed, ["--feed", str(nowhere / "log.atom")]):
        asked = asked_of(logging_server, key, nowhere / "seen.json")
        asked[asked.index("--key") + 1] = str(OTHER)
        lie = run.invoke(app, [*asked, *further])
        assert (lie.exit_code, "not true: " in lie.stdout) == (2, True)
        assert "seen.json.evidence cannot be written" in " ".join(lie.stderr.split())


def test_a_subject_is_one_line_whatever_a_server_says() -> None:
    for broken in ("\n", "\r\n", "\x85", "\u2028"):
        message = log_notices.mail("https://t.example", ["a@b.example"], None, [f"no{broken}Bcc: all@example.org"])
        assert message["Subject"] == "https://t.example: no Bcc: all@example.org"
        assert message["Bcc"] is None


def test_a_time_beyond_the_calendar_is_told(tmp_path: Path) -> None:
    """A log that is written so must not end its monitors by a traceback, which exits as what is new does."""
    entry = LogEntry(MAX_TIME, bytes(32), LoggedSigner(SignerChange.ADDED, MAX_TIME))
    assert sentence(entry).endswith(f" was added until Unix time {MAX_TIME}")
    log_feed.write_feed(tmp_path / "log.atom", "https://t.example", Look("", [entry]), 1, NOW)
    assert "<updated>9999-12-31T23:59:59Z</updated>" in (tmp_path / "log.atom").read_text()


def test_a_server_that_cannot_be_reached_is_mailed(host: MailHost) -> None:
    address = f"http://127.0.0.1:{free_port()}"
    asked = ["verify", address, "--key", str(OTHER), "--mail", "maria@example.org", "--smtp", f"127.0.0.1:{host.port}"]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 3
    assert "the log cannot be read" in message_from_string(host.received[0], policy=default).get_content()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--smtp", "mail.example"], "--smtp has no effect without --mail"),
        (["--mail-from", "a@b.example"], "--mail-from has no effect without --mail"),
        (["--mail", "maria"], "these are no addresses"),
        (["--mail", ""], "these are no addresses"),
        (["--mail", "maria@example.org\nBcc: all@example.org"], "these are no addresses"),
        (["--mail", "maria@example.org", "--mail-from", "x"], "these are no addresses"),
        (["--mail", "maria@example.org", "--smtp", "ftp://mail.example"], "--smtp: write HOST"),
        (["--mail", "maria@example.org", "--smtp", "mail.example:99999"], "--smtp: write HOST"),
        (["--mail", "maria@example.org", "--smtp", "smtps://me:secret@mail.example"], "SORDINO_SMTP_PASSWORD"),
    ],
)
def test_wrong_options_are_refused_before_the_log_is_read(options: list[str], message: str) -> None:
    done = CliRunner().invoke(app, ["verify", "http://127.0.0.1:9", "--key", str(OTHER), *options])
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())


def test_a_password_is_not_sent_in_the_clear(host: MailHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(log_notices.PASSWORD, "secret")
    server = log_notices.MailServer.parse(f"smtp://me@127.0.0.1:{host.port}")
    with pytest.raises(log_notices.MailFailed, match="offers no encryption"):
        server.send(log_notices.mail("https://t.example", ["a@b.example"], None, ["x"]))
    assert host.received == []


def policies(*texts: str) -> list[LogEntry]:
    return [LogEntry(NOW, bytes(Digest.of(each.encode())), LoggedPolicy(each)) for each in texts]


def test_many_entries_are_told_a_line_each() -> None:
    assert log_notices.told(Look("", policies("a", "b"))) == ["2 new: policy: a; policy: b"]
    many = log_notices.told(Look("", policies("a", "b", "c", "d"), lies=["no"]))
    assert many == ["not true: no", "4 new:", "  policy: a", "  policy: b", "  policy: c", "  policy: d"]


def test_sentences_say_how_often_a_device_answers_and_of_which_labels() -> None:
    texts = []
    for each in json.loads(VECTORS.read_text())["vectors"]:
        manifest = Manifest.read(bytes.fromhex(each["hex"]))
        texts.append(sentence(entry_of_manifest(manifest, logged_parts(manifest), NOW), manifest))
    assert all(" a device, " in each and "asks for" in each for each in texts)
    for shown in (" label", ", 1 answer,", " answers,"):
        assert any(shown in each for each in texts), (shown, texts)


def test_a_feed_keeps_the_newest_and_takes_any_text(tmp_path: Path) -> None:
    file = tmp_path / "log.atom"
    log_feed.write_feed(file, "https://t.example", Look("", policies(*map(str, range(300)))), 300, NOW)
    kept = titles(file)
    assert (kept[0], len(kept)) == ("policy: 299", 200)
    ended = [LogEntry(NOW, bytes(32), LoggedEnd(EndState.CLOSED))]
    found = Look("", ended, lies=["<b>&\x0b\x00 a lie" + "x" * 200])
    for _ in range(2):
        log_feed.write_feed(file, "https://t.example", found, 301, NOW + 1)
    assert titles(file)[0].startswith("not true: <b>&\N{REPLACEMENT CHARACTER}")
    assert titles(file)[1:3] == [f"campaign {bytes(32).hex()} was closed", "policy: 299"]
    assert len(titles(file)) == 200
    identifiers = [each.findtext(f"{ATOM}id") for each in Xml.parse(file).getroot().iter(f"{ATOM}entry")]
    assert identifiers[1] == "https://t.example/v1/log/entries#300"
    assert len(set(identifiers)) == 200
    for text in ("none", "<html/>"):
        file.write_text(text)
        with pytest.raises(InvalidValue, match="is no Atom feed"):
            log_feed.write_feed(file, "https://t.example", found, 301, NOW)
