"""The command `sordino-shuffler`."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from collections.abc import Sequence
from typing import Any

from sordino_shared.errors import InvalidValue
from sordino_shared.http.address import Address
from sordino_shared.protocol import CampaignId
from sordino_shuffler.checking import check_campaigns, check_running
from sordino_shuffler.clock import wall_clock
from sordino_shuffler.errors import ShufflerError, WrongSetting
from sordino_shuffler.mixing import forget_missed, give_up, purge
from sordino_shuffler.settings import ShufflerSettings, read_campaigns, settings_from
from sordino_shuffler.statements import SigningKey
from sordino_shuffler.status import status_lines, status_of
from sordino_shuffler.store import State, Store

_EPILOG = """\
A shuffler keeps the sealed reports of devices, mixes random ones in when a round ends, and hands one batch to the
collector. It cannot read a report. Run it where the collector's operator has no access.

  sordino-shuffler keys --create          once: the collector needs the public key that this prints
  sordino-shuffler check                  before you serve: settings, key, campaigns, and every claim proved
  sordino-shuffler serve                  then put a proxy with TLS in front of port 8100
  sordino-shuffler status                 rounds, and what is wrong

Settings are environment variables that begin with SORDINO_SHUFFLER_:
  FOLDER            sealed reports; never back it up, never copy it (default: sordino-shuffler)
  KEPT              signing key and the file of released batches; outside of FOLDER (default: sordino-shuffler-kept)
  CAMPAIGNS         TOML file with [[campaign]] id, collector, key (default: campaigns.toml)
  HOST, PORT        where devices are served (default: 127.0.0.1, 8100)
  METRICS_HOST, METRICS_PORT    for your Prometheus; port 0 turns it off (default: 127.0.0.1, 9100)
  TRUSTED_PROXIES   addresses and networks whose X-Forwarded-For is believed, or none (default: none)
  DEVICE_ORIGINS    origins whose pages may be devices in a browser, * for all, or none (default: none)
  UPLOADS_PER_S, UPLOADS_BURST  of one address; 0 a second: no limit (default: 50, 500)
  LEAST_FREE_MB     left free on FOLDER's disk (default: 500)
  REFRESH_S         how often tasks are fetched (default: 15)
  SHUTDOWN_S        how long requests may take to end (default: 10)
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code: 0, 1 where something is wrong, 2 for a wrong setting or argument."""
    parsed = _parser().parse_args(arguments)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(message)s")
    try:
        result: int = parsed.run(parsed, settings_from(os.environ))
        return result
    except WrongSetting as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except ShufflerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "sordino-shuffler", formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__, epilog=_EPILOG
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    serve = commands.add_parser("serve", help="serve devices, end rounds, hand batches on", description=_serve.__doc__)
    serve.set_defaults(run=_serve)
    for name, run, said in (
        ("status", _status, "rounds by state, and what is wrong"),
        ("purge", _purge, "delete ids whose time is over, now"),
    ):
        command = commands.add_parser(name, help=said, description=run.__doc__)
        command.add_argument("--json", action="store_true", help="print a JSON document")
        command.set_defaults(run=run)
    check = commands.add_parser(
        "check", help="settings, key and campaigns, with every claim proved", description=_check.__doc__
    )
    check.add_argument("address", metavar="ADDRESS", nargs="?", help="a running shuffler, looked at as a device does")
    check.add_argument(
        "--campaign", metavar="ID", action="append", help="at ADDRESS; left out: those of CAMPAIGNS' file"
    )
    check.add_argument("--json", action="store_true", help="print a JSON document")
    check.set_defaults(run=_check)
    keys = commands.add_parser("keys", help="the public key that manifests name", description=_keys.__doc__)
    keys.add_argument("--create", action="store_true", help="make the key; an existing one is never replaced")
    keys.add_argument("--json", action="store_true", help="print a JSON document")
    keys.set_defaults(run=_keys)
    close = commands.add_parser("close", help="give a round up, unopened", description=_close.__doc__)
    close.add_argument("campaign", metavar="CAMPAIGN", help="the id, 64 hexadecimal digits")
    close.add_argument("round", metavar="ROUND", type=int, help="the round, or the period of a series")
    close.add_argument("--abandon", action="store_true", required=True, help="yes, delete its reports unopened")
    close.add_argument("--json", action="store_true", help="print a JSON document")
    close.set_defaults(run=_close)
    return parser


def _print(as_json: bool, document: dict[str, Any], lines: Sequence[str]) -> None:
    print(json.dumps(document, indent=2, ensure_ascii=False) if as_json else "\n".join(lines))


def _serve(_: argparse.Namespace, settings: ShufflerSettings) -> int:
    """Serve devices until SIGTERM or Ctrl-C. It may be killed at any time: what was answered is on disk."""
    from sordino_shuffler.service import ShufflerService

    ShufflerService(settings).run()
    return 0


def _status(parsed: argparse.Namespace, settings: ShufflerSettings) -> int:
    """Show rounds by state and what is wrong; the shuffler may run meanwhile. Exit code 1 where something is wrong."""
    found = status_of(settings)
    _print(parsed.json, found, status_lines(found))
    return 1 if found["troubles"] else 0


def _check(parsed: argparse.Namespace, settings: ShufflerSettings) -> int:
    """Fetch the documents of every campaign and prove all claims, without serving: up to half a minute for a claim.

    With ADDRESS the documents are those that the shuffler there serves, and it must refuse a report of a wrong length.
    An auditor needs no settings for that: `sordino-shuffler check https://mix.example --campaign 5f2b…`.
    """
    if parsed.address is None:
        found = check_campaigns(settings)
        lines = [f"public key {found['key']}"]
    else:
        found, lines = check_running(*_asked(parsed, settings)), []
    for each in found["campaigns"]:
        lines.append(f"campaign {each['campaign']}: {each['fault'] or each['summary']}")
    _print(parsed.json, found, lines)
    return 1 if any(each["fault"] for each in found["campaigns"]) else 0


def _asked(parsed: argparse.Namespace, settings: ShufflerSettings) -> tuple[Address, list[CampaignId]]:
    try:
        named = [CampaignId.parse(each) for each in parsed.campaign or ()]
        return Address.parse(parsed.address), named or [each.campaign for each in read_campaigns(settings.campaigns)]
    except InvalidValue as error:
        raise WrongSetting(str(error)) from error


def _purge(parsed: argparse.Namespace, settings: ShufflerSettings) -> int:
    """Delete the ids of rounds that were delivered, or given up, 30 days ago; `serve` does so every minute."""
    store = _open(settings)
    try:
        now, before = int(wall_clock()), _deleted(store)
        while purge(store, now):
            pass
        count = _deleted(store) - before
    finally:
        store.close()
    _print(parsed.json, {"rounds": count}, [f"ids of {count} rounds deleted"])
    return 0


def _deleted(store: Store) -> int:
    return sum(row.state is State.DELETED for row in store.rounds())


def _keys(parsed: argparse.Namespace, settings: ShufflerSettings) -> int:
    """Print the public key of this shuffler, for the collector's operator; keep a copy of its file in a safe place."""
    path = settings.signing_key
    key = SigningKey.create(path) if parsed.create else SigningKey.read(path)
    found = {"public_key": key.public.hex(), "file": str(path)}
    _print(parsed.json, found, [f"public key {found['public_key']}", f"file       {path}"])
    return 0


def _close(parsed: argparse.Namespace, settings: ShufflerSettings) -> int:
    """Give a round up that will never be taken: its reports are deleted unopened, and a statement says so.

    The debits of devices stay. A round that was delivered stays delivered.
    """
    try:
        campaign = CampaignId.parse(parsed.campaign)
    except InvalidValue as error:
        raise WrongSetting(f"CAMPAIGN: {error}") from error
    key, store = SigningKey.read(settings.signing_key), _open(settings)
    try:
        row = store.round(bytes(campaign), parsed.round)
        if row.state not in (State.COLLECTING, State.MIXED):
            raise ShufflerError(f"round {parsed.round} is {row.state.value} already: nothing was changed")
        row = give_up(store, row, "abandoned", key.sign)
        while forget_missed(store, row):
            pass
    finally:
        store.close()
    found = {"campaign": str(campaign), "round": row.number, "state": row.state.value, "received": row.received}
    _print(parsed.json, found, [f"round {row.number} is given up: about {row.received} reports are deleted unopened"])
    return 0


def _open(settings: ShufflerSettings) -> Store:
    if not settings.store.exists():
        raise WrongSetting(f"{settings.store} is not there: `sordino-shuffler serve` makes it")
    return Store(settings.store)


if __name__ == "__main__":
    sys.exit(main())
