"""`sordino log verify`: look at the public log of a server as a monitor, and tell people what is new."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from sordino_server.cli import log_monitor, log_notices
from sordino_server.cli.estimate_text import print_lines
from sordino_server.cli.output import JsonOption, print_json, reports_errors, say
from sordino_shared.errors import MalformedDocument, NoAnswer
from sordino_shared.protocol.log_keys import LogPins, NoteKey

_LIE, _UNREACHABLE, _UNSENT = 2, 3, 4


@reports_errors
def verify(
    url: Annotated[str, typer.Argument(metavar="URL", help="Address of a server with a public log.")],
    key: Annotated[
        list[str],
        typer.Option(metavar="VKEY", help="Verifier key of the log, as apps pin it. Repeat it for two of a rotation."),
    ],
    witness: Annotated[
        list[str] | None, typer.Option(metavar="VKEY", help="Verifier key of a witness. Repeat it.")
    ] = None,
    quorum: Annotated[
        int | None, typer.Option(min=0, max=8, metavar="N", help="Witnesses that are needed; default: all of them.")
    ] = None,
    state: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What was seen before; the next look begins there.")
    ] = None,
    mail: Annotated[
        list[str] | None, typer.Option(metavar="ADDRESS", help="Mail what is new, or wrong, to it. Repeat it.")
    ] = None,
    mail_from: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Sender of the mail; default: sordino at this machine.")
    ] = None,
    smtp: Annotated[
        str | None,
        typer.Option(
            metavar="HOST",
            help="Server that takes the mail: HOST:PORT, or smtps://USER@HOST with the password in "
            "SORDINO_SMTP_PASSWORD; default: localhost.",
        ),
    ] = None,
    feed: Annotated[Path | None, typer.Option(metavar="FILE", help="Atom feed that gets what is new.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing where nothing is new, as cron wants.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Read a public log whole, as a monitor: entries, signatures, each campaign's manifest, plans and ε.

    Example, daily by cron:

        sordino log verify https://telemetry.example --key telemetry.example/log+8fa3c201+AXz0 --state seen.json

    Exit code 0: nothing is new. 1: there are new entries, which are printed. 2: a fork, or something that is not true;
    the evidence is written beside the state. 3: the server cannot be reached, or its witnesses did not cosign yet.
    4: the mail cannot be sent, or feed or state cannot be written; the state stays as it was, so that the next run
    tells the same again.
    """
    notices = log_notices.Notices(address=url, recipients=mail or [], sender=mail_from, smtp=smtp, feed=feed)
    known = log_monitor.Monitored.read(state)
    before, found = known.note, _looked(url, _pins(key, witness or [], quorum), known, notices)
    lines = log_notices.told(found)
    if found.lies:
        _keep_evidence(state, found.lies, [each for each in (before, found.note) if each])
    if as_json:
        print_json(log_monitor.document(found))
    elif lines or not quiet:
        print_lines(lines or ["nothing is new"])
    told = _done(notices.tell, found, known.size, lines)
    if found.lies:
        raise typer.Exit(_LIE)
    if not told or not (state is None or _done(known.write, state)):
        raise typer.Exit(_UNSENT)
    raise typer.Exit(int(bool(found.entries)))


def _pins(keys: list[str], witnesses: list[str], quorum: int | None) -> LogPins:
    """What the monitor pins, as an app does; all witnesses are needed unless `quorum` says how many."""
    log, *others = map(NoteKey.parse, keys)
    needed = len(witnesses) if quorum is None else quorum
    return LogPins(log=log, others=tuple(others), witnesses=tuple(map(NoteKey.parse, witnesses)), quorum=needed)


def _looked(url: str, pins: LogPins, known: log_monitor.Monitored, notices: log_notices.Notices) -> log_monitor.Look:
    """What the log shows, also where that is a lie; ends the command where nothing can be read."""
    try:
        return log_monitor.look(url, pins, known)
    except NoAnswer as error:
        say(problem := f"the log cannot be read: {error}")
        raise typer.Exit(_UNREACHABLE if _done(notices.send, [problem]) else _UNSENT) from None
    except log_monitor.Forked as error:
        return log_monitor.Look(error.note, lies=[str(error)])
    except MalformedDocument as error:
        return log_monitor.Look("", lies=[str(error)])


def _keep_evidence(state: Path | None, lies: list[str], notes: list[str]) -> None:
    """Beside the state: what is not true, the checkpoint of the last look, and that of this one."""
    if state is not None:
        file = state.with_name(f"{state.name}.evidence")
        if _done(file.write_text, "\n".join([*lies, "", *notes]), "utf-8"):
            say(f"the evidence is in {file}: keep it with {state}")


def _done(act: Callable[..., object], *given: Any) -> bool:
    """Whether something was sent or written; where not, the reason is said."""
    try:
        act(*given)
    except log_notices.MailFailed as error:
        say(str(error))
    except OSError as error:
        say(f"{error.filename} cannot be written: {error.strerror}")
    else:
        return True
    return False
