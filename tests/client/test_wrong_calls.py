"""Whatever an app passes to the SDK, what comes out is an error of its one tree, and nothing is spent."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from sordino_client import (
    Caps,
    Client,
    ClientError,
    InvalidValue,
    NotListed,
    PureEpsilon,
    SordinoError,
    WrongArgument,
    WrongShape,
)
from tests.client.conftest import ADDRESS, CAPS

WRONG: dict[str, Any] = {
    "None": None,
    "True": True,
    "0": 0,
    "-1": -1,
    "2**70": 2**70,
    "a float": 1.5,
    "NaN": float("nan"),
    "no text": "",
    "text": "zz",
    "64 digits": "ab" * 32,
    "64 others": "zg" * 32,
    "a line": "a\nb",
    "a surrogate": "\ud800",
    "bytes": b"\x00" * 32,
    "a list": ["red", "red"],
    "a tuple": (),
    "a map": {"hue": "red"},
    "an object": object(),
    "a type": int,
    "an error": ValueError("x"),
}
CALLS: dict[str, Callable[[Client, Any], object]] = {
    "join": lambda client, wrong: client.join(wrong),
    "answer": lambda client, wrong: client.answer(wrong, "red"),
    "due": lambda client, wrong: client.due(wrong),
    "next_due": lambda client, wrong: client.next_due(wrong),
    "flush by": lambda client, wrong: client.flush(deadline_s=wrong),
    "preview": lambda client, wrong: client.preview(wrong, "red"),
    "opt_out": lambda client, wrong: client.opt_out(wrong),
    "rehome": lambda client, wrong: client.rehome(wrong, ADDRESS),
    "rehome to": lambda client, wrong: client.rehome("ab" * 32, wrong),
    "find": lambda client, wrong: client.find(wrong, bool),
    "find accepting": lambda client, wrong: client.find("app users", wrong),
    "flush": lambda client, wrong: client.flush(wrong),
}
IN_ORDER = {
    *product(["opt_out"], ["64 digits"]),
    *product(["flush"], ["True", "0", "2**70", "a float"]),
    *product(["flush by"], ["None", "2**70", "a float"]),
    *product(["find accepting"], ["a type"]),
    *product(["find"], ["text", "64 digits", "64 others", "a line"]),
}
CONSTRUCTED = ("server", "ledger", "caps", "spool_limit", "largest_part", "joins_per_period", "upload_token")


def refused(step: Callable[[], object]) -> SordinoError | None:
    """The error of the SDK's tree, None where the call was in order; any other error fails the test."""
    try:
        step()
    except SordinoError as error:
        return error
    return None


@pytest.mark.parametrize(("call", "wrong"), list(product(CALLS, WRONG)))
def test_a_wrong_argument_of_a_call_gives_an_error_of_the_client(client, call: str, wrong: str) -> None:
    error = refused(lambda: CALLS[call](client, WRONG[wrong]))
    assert error is None or isinstance(error, ClientError)
    assert error is None or len(str(error)) > 20
    assert error is not None or (call, wrong) in IN_ORDER
    assert client.account().lifetime_nano == 0


@pytest.mark.parametrize(("argument", "wrong"), list(product(CONSTRUCTED, WRONG)))
def test_a_wrong_argument_of_a_client_gives_an_error_of_the_client(tmp_path, monkeypatch, argument, wrong) -> None:
    monkeypatch.chdir(tmp_path)
    right: dict[str, Any] = {"server": ADDRESS, "ledger": tmp_path / "ledger", "caps": CAPS}

    def make() -> None:
        Client(**(right | {argument: WRONG[wrong]})).close()

    error = refused(make)
    assert error is None or isinstance(error, ClientError)


@pytest.mark.parametrize(("place", "wrong"), list(product(range(3), WRONG)))
def test_wrong_caps_give_an_error_of_the_client(place: int, wrong: str) -> None:
    right: list[Any] = [PureEpsilon.of(1), 28, PureEpsilon.of(12)]
    right[place] = WRONG[wrong]
    error = refused(lambda: Caps(*right))
    assert isinstance(error, ClientError)


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_value_is_of_a_wrong_shape_or_not_listed(world, make_client, wrong: str) -> None:
    """The domain has one attribute, with a member for any other value: in production only wrong names are refused."""
    client, strict = make_client(), make_client(strict=True)
    campaign = client.join(world.campaign)
    in_production = refused(lambda: client.preview(campaign, WRONG[wrong]))
    assert in_production is None or isinstance(in_production, WrongShape)
    assert (in_production is not None) is (wrong == "a map")
    in_tests = refused(lambda: strict.answer(campaign, WRONG[wrong]))
    assert isinstance(in_tests, (WrongShape, NotListed))
    assert isinstance(refused(lambda: campaign.check(WRONG[wrong])), type(in_tests))
    assert client.account().lifetime_nano == 0


def test_an_app_may_catch_by_any_root(world, client) -> None:
    campaign = client.join(world.campaign)
    for root in (WrongArgument, ClientError, InvalidValue, ValueError, SordinoError):
        with pytest.raises(root):
            client.answer(campaign, {"hue": "red"})
