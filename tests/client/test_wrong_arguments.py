"""The SDK with arguments of wrong types: an error of sordino in words, never one of a library's."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sordino_client import Caps, Client
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import CampaignId
from tests.foreign import WRONG, calls_with_one_wrong, foreign

ONE, TWELVE = PureEpsilon.at_most(1), PureEpsilon.at_most(12)
CAPS: dict[str, Any] = {"per_period": ONE, "period_days": 28, "lifetime": TWELVE}
CLIENT: dict[str, Any] = {
    "server": "https://telemetry.example", "ledger": "x.sqlite3", "caps": Caps(**CAPS), "strict": False,
    "spool_limit": 5, "upload_token": None, "largest_part": 100_000, "dry_run": False, "background": False,
    "joins_per_period": 3, "manifest_keys": (),
}  # fmt: skip
PLAIN = [wrong for wrong in WRONG if not hasattr(wrong, "dtype") and wrong != "\ud800"]


def test_a_cap_that_is_a_number_says_what_to_write() -> None:
    with pytest.raises(InvalidValue, match=r"a cap is an ε such as PureEpsilon\.at_most\(1\), got 4"):
        Caps(4, 30, TWELVE)  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match=r"a cap is an ε such as PureEpsilon\.at_most\(1\), got .12."):
        Caps(ONE, 30, "12")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "good"),
    [(Caps, CAPS), (PureEpsilon, {"nano": 1}), (PureEpsilon.of, {"epsilon": 1}), (PureEpsilon.at_most, {"cap": 1})],
)
def test_values_refuse_wrong_arguments_in_words(make: Callable[..., object], good: dict[str, Any]) -> None:
    for given in calls_with_one_wrong(good):
        assert foreign(partial(make, **given)) is None


def test_a_client_refuses_wrong_settings_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = (f"{number}.sqlite3" for number in itertools.count())
    for name, wrong in itertools.product(CLIENT, PLAIN):
        given = {**CLIENT, "ledger": next(files), name: wrong}
        assert foreign(partial(Client, **given)) is None, (name, wrong)


class Nowhere:
    """A transport that reaches nobody."""

    def fetch(self, *_: Any, **__: Any) -> Any:
        raise OSError("nobody is there")

    send = fetch

    def close(self) -> None:
        return None


def test_its_methods_refuse_wrong_arguments_in_words(tmp_path: Path) -> None:
    known = CampaignId(bytes(32))
    with Client("https://telemetry.example", ledger=tmp_path / "x", caps=Caps(**CAPS), transport=Nowhere()) as client:
        calls: list[Callable[[Any], object]] = [
            lambda wrong: client.answer(wrong, 1),
            lambda wrong: client.preview(wrong, 1),
            client.due,
            client.join,
            client.opt_out,
            lambda wrong: client.find(wrong, lambda manifest: True),
            lambda wrong: client.rehome(wrong, "https://other.example"),
            lambda wrong: client.rehome(known, wrong),
        ]
        for call, wrong in itertools.product(calls, WRONG):
            assert foreign(partial(call, wrong)) is None
