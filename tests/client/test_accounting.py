"""Each of the three limits refuses by itself, and says which it was."""

from __future__ import annotations

import pytest

from sordino_client import BudgetExceeded, Caps, PureEpsilon
from sordino_client._accounting import Spending, check_budget
from sordino_client._config import Config
from sordino_shared.errors import InvalidValue

CAPS = Caps(PureEpsilon.of(2), 30, PureEpsilon.of(3))
NANO = 10**9


@pytest.mark.parametrize(
    ("spending", "scope"),
    [
        (Spending(1, 0, 0), "to a device by the campaign"),
        (Spending(0, NANO + 1, 0), "in 30 days"),
        (Spending(0, 0, 2 * NANO + 1), "for life"),
    ],
)
def test_one_nano_too_much_is_refused(world, spending, scope) -> None:
    with pytest.raises(BudgetExceeded) as caught:
        check_budget(spending, PureEpsilon(NANO), world.manifest, CAPS)
    assert caught.value.scope == scope


def test_spending_a_cap_to_the_last_nano_is_allowed(world) -> None:
    check_budget(Spending(0, NANO, 2 * NANO), PureEpsilon(NANO), world.manifest, CAPS)


def test_a_refusal_for_one_nano_shows_it(world) -> None:
    caps = Caps(PureEpsilon(2 * NANO + 1), 30, PureEpsilon.of(3))
    with pytest.raises(BudgetExceeded, match=r"costs ε = 1 and 1\.000000002 of the 2\.000000001 allowed in 30 days"):
        check_budget(Spending(0, NANO + 2, 0), PureEpsilon(NANO), world.manifest, caps)
    with pytest.raises(InvalidValue, match=r"period \(ε = 1\.000000001\) is above the cap for life \(ε = 1\)"):
        Caps(PureEpsilon(NANO + 1), 30, PureEpsilon(NANO))


def test_a_printed_configuration_hides_the_token() -> None:
    assert "secret" not in repr(Config(caps=CAPS, upload_token="secret"))
