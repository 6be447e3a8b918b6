"""Who sees what of a device: one table for each route that reports take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sordino_server.cards.schemas import CardField
from sordino_server.cards.sources import said

COLUMNS = ("who", "address", "time", "report", "estimate")
_NETWORK = ("network", "yes", "yes", "no, encrypted", "no")
_READERS = ("readers of a public page", "no", "no", "no", "once it is closed")


def _direct(route: Mapping[str, Any]) -> list[tuple[str, ...]]:
    return [
        _NETWORK,
        ("front of the server, if there is one", "yes", "yes", "yes", "no"),
        ("operator of the server", "while it is connected; not stored", "yes", "yes, until it is deleted", "yes"),
        ("analysts", "no", "no", "no, sums alone", "yes"),
        _READERS,
    ]


def _shuffled(route: Mapping[str, Any]) -> list[tuple[str, ...]]:
    shuffler = f"shuffler {route['shuffler']['name']}, another operator"
    return [
        _NETWORK,
        (shuffler, "yes", "yes", "no, sealed for the collector", "no"),
        ("operator of the server", "no", "the end of the batch", "yes, mixed with random ones", "yes"),
        ("analysts", "no", "no", "no, sums alone", "yes"),
        _READERS,
    ]


_BY_ROUTE: dict[str, Callable[[Mapping[str, Any]], list[tuple[str, ...]]]] = {
    "direct": _direct,
    "direct_with_tokens": _direct,
    "shuffled": _shuffled,
}


def recipients(route: Mapping[str, Any]) -> CardField:
    """The table, with a row for each party."""
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in _BY_ROUTE[route["kind"]](route)]
    lines = (
        f"{row['who']}: address {row['address']}; time {row['time']}; report {row['report']}; estimate "
        f"{row['estimate']}"
        for row in rows
    )
    return said("recipients", "Who sees what", "\n".join(lines), rows)
