"""The state machine of owners kills each mutant of a store: what it looks at is what a store promises."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from sordino_client import LedgerUnavailable
from sordino_client.backend import _campaigns, _owners, _sending, _store
from tests.client.backend import machine

MUTANTS = {
    "the highest time is not kept": (
        _store,
        'database.run("UPDATE owners SET high_water = ? WHERE number = ?", now, owner.number)\n        ',
        "",
    ),
    "a debit is dated by the clock alone": (
        _store,
        "        now = max(math.ceil(seconds(store.clock)), owner.high_water)\n        spent",
        "        now = math.ceil(seconds(store.clock))\n        spent",
    ),
    "a debit is dated a second early": (
        _store,
        "max(math.ceil(seconds(store.clock)), owner.high_water)\n        spent",
        "max(math.floor(seconds(store.clock)) - 1, owner.high_water)\n        spent",
    ),
    "a debit counts for a second less": (_owners, "WHEN at > ?", "WHEN at > 1 + ?"),
    "the cap of a period is not looked at": (_owners, "WHEN at > ? THEN nano", "WHEN at > ? THEN 0"),
    "deleted debits are forgotten for life": (
        _owners,
        'coalesce(sum(nano), 0)"',
        'coalesce(sum(CASE WHEN state = 4 THEN 0 ELSE nano END), 0)"',
    ),
    "deleted debits are forgotten in a window": (_owners, "WHEN at > ? THEN", "WHEN at > ? AND state <> 4 THEN"),
    "who left is asked": (_owners, "if owner.left_at is not None:", "if False:"),
    "a campaign that was left is asked": (_owners, "return bool(database.rows", "return False and bool(database.rows"),
    "leaving keeps what waits": (
        _store,
        'WHERE state = 0 AND owner = ?", owner.number',
        'WHERE state = 9 AND owner = ?", owner.number',
    ),
    "leaving one campaign keeps what waits": (_store, '0 AND owner = ?"\n', '9 AND owner = ?"\n'),
    "coming back is not written down": (_store, "SET left_at = NULL WHERE", "SET left_at = left_at WHERE"),
    "a round is asked again": (_store, "return 0 if done is None else AnswerStatus.ALREADY_ANSWERED", "return 0"),
    "a series is answered in the next period": (_owners, "last + law.slots", "last + 1"),
    "a series is answered a period early": (_owners, "last + law.slots", "last + law.slots - 1"),
    "the phase is another one each time": (
        _owners,
        "self._seed = key +",
        "self._seed = __import__('os').urandom(8) + key +",
    ),
    "the epoch is the round's": (_store, "kept.law.epoch(number)", "kept.law.epoch(number + 1)"),
    "an id is drawn at each try": (
        _sending,
        'b"".join(report[1:_BEFORE_PAYLOAD] for report in reports)',
        "b\"\".join(report[1:3] + __import__('os').urandom(14) for report in reports)",
    ),
    "what was counted waits": (_sending, "if place in reasons else DELIVERED", "if place in reasons else WAITS"),
    "only the first of a batch is settled": (
        _sending,
        "each in enumerate(waiting)\n",
        "each in enumerate(waiting[:1])\n",
    ),
    "what is over waits": (_sending, "if over:", "if False:"),
    "what is not over expires": (
        _sending,
        "now >= kept.law.accepted_until(index)",
        "now >= kept.law.period(index).end",
    ),
    "reports go to another period": (
        _sending,
        "upload(kept.manifest.campaign, index,",
        "upload(kept.manifest.campaign, index + 1,",
    ),
    "trouble is forgotten": (_sending, "self._trouble[about] = Trouble(", "_ = Trouble("),
    "an old task is taken offline": (_campaigns, "not kept.task_at <= now < until", "False"),
    "a lost report is given up": (_sending, "self._settle(kept, index, lost,", "self._settle(kept, index, waiting,"),
    "a pause is not waited for": (_owners, "at + law.pause_s - law.late_s", "0"),
    "a pause is longer than it is": (_owners, "at + law.pause_s - law.late_s", "at + law.pause_s + 3 * law.late_s"),
    "a debit counts for a second more": (_owners, "WHEN at > ?", "WHEN at >= ?"),
}


def install(monkeypatch: pytest.MonkeyPatch, module: ModuleType, old: str, new: str) -> None:
    """What a module defines says `new` in the one place where it says `old`; its neighbours use it."""
    source = inspect.getsource(module)
    assert source.count(old) == 1, (source.count(old), old)
    changed: dict[str, Any] = {"__name__": module.__name__, "__file__": module.__file__}
    exec(compile(source.replace(old, new), f"a mutant of {module.__name__}", "exec"), changed)
    own = {name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__}
    for user in (_owners, _campaigns, _sending, _store, machine):
        for name in own & vars(user).keys():
            monkeypatch.setattr(user, name, changed[name])


@pytest.mark.parametrize("name", MUTANTS)
def test_the_machine_kills(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    install(monkeypatch, *MUTANTS[name])
    with pytest.raises((AssertionError, LedgerUnavailable)):
        machine.run_scripts(str(tmp_path / "store.sqlite3"))
