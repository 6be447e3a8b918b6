"""kill -9 of a worker before every statement of a release, and around its noise: one charge, at most one draw."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from sordino_analysis.curator.noise import CuratorNoise
from sordino_server.kit.db import Database
from tests.killed_before import die, killed_before

RHO = 20_000_000
# No release takes so many statements and commits.
MOST_POINTS = 60


def work_in_a_child(curator: Any, draws: Path, point: int | str) -> bool:
    """Let a process do one step of work; whether it lived. It notes every draw before it makes it."""
    pid = os.fork()
    if pid:
        return os.waitpid(pid, 0)[1] == 0
    try:
        gaussian = CuratorNoise.gaussian

        def noted(self: CuratorNoise, *given: Any) -> Any:
            if point == "noise":
                die()
            with draws.open("ab") as file:
                file.write(b".")
                os.fsync(file.fileno())
            drawn = gaussian(self, *given)
            if point == "drawn":
                die()
            return drawn

        CuratorNoise.gaussian = noted  # type: ignore[method-assign]
        database = Database(curator.settings.database_url.get_secret_value())
        worker = curator.elsewhere(database=database).worker()
        if isinstance(point, int):
            with killed_before(point):
                worker.step()
        else:
            worker.step()
    finally:
        os._exit(0)


def released_after_a_kill(curator: Any, folder: Path, point: int | str) -> tuple[bool, str, int]:
    """Whether the process lived, the state of its release after another worker came, and how often noise was drawn."""
    dataset = curator.add(name=f"flights {point}", cap={"rho": "0.03"})
    asked = curator.request(dataset.id, "key")
    draws = folder / f"draws {point}"
    draws.touch()
    lived = work_in_a_child(curator, draws, point)
    curator.clock.advance(curator.settings.lease_s + 1)
    assert curator.request(dataset.id, "key").id == asked.id
    while work_in_a_child(curator, draws, "nothing") and curator.release(asked.id).state in ("queued", "spent"):
        pass
    state, drawn = curator.release(asked.id).state, draws.stat().st_size
    # One charge, whatever happened; never two draws for it.
    assert curator.spent(dataset.id) == RHO
    assert drawn <= 1
    assert curator.request(dataset.id, "key").id == asked.id
    return lived, state, drawn


@pytest.mark.parametrize("point", ["noise", "drawn"])
def test_a_worker_that_dies_beside_the_noise_spends_and_releases_nothing(
    curator: Any, tmp_path: Path, point: str
) -> None:
    lived, state, drawn = released_after_a_kill(curator, tmp_path, point)
    assert (lived, state, drawn) == (False, "lost", int(point == "drawn"))


@pytest.mark.slow
def test_a_worker_that_dies_before_any_statement_charges_once(curator: Any, tmp_path: Path) -> None:
    states = []
    for point in range(MOST_POINTS):
        lived, state, drawn = released_after_a_kill(curator, tmp_path, point)
        states.append(state)
        assert state in ("released", "lost")
        assert drawn == 1 or state == "lost"
        if lived:
            break
    assert lived
    assert {"released", "lost"} == set(states)
