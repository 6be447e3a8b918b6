"""Two admins at once: one of them changes the caps, the other is told that they are others by now."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from sordino_server.populations import service
from sordino_server.populations.schemas import PopulationCaps

PATH = f"/v1/populations/{service.identifier_of('travellers')}"
# Where nothing holds the second admin up, it has read the caps and compared them in this time.
HEAD_START_S = 0.5


@pytest.fixture(params=["running", "running_on_postgres"])
def server(request: pytest.FixtureRequest) -> Any:
    running = request.getfixturevalue(request.param)
    running.api.post("/v1/populations", json={"name": "travellers", "epsilon_lifetime": 1}).raise_for_status()
    return running


def patched(server: Any, lifetime: int, etag: str) -> Any:
    return server.api.patch(PATH, json={"epsilon_lifetime": lifetime}, headers={"If-Match": etag})


def test_whoever_comes_while_caps_are_changed_is_told(server: Any) -> None:
    """The one who comes second read the same ETag, and finds it stale when the first one has committed."""
    etag = server.api.get(PATH).headers["etag"]
    with ThreadPoolExecutor(1) as pool:
        with server.database.write("the first admin") as session:
            service.change_caps(session, service.identifier_of("travellers"), PopulationCaps(epsilon_lifetime=2), etag)
            session.flush()
            second = pool.submit(patched, server, 3, etag)
            with pytest.raises(TimeoutError):
                second.result(HEAD_START_S)
        assert second.result().status_code == 412
    assert server.api.get(PATH).json()["epsilon_lifetime"] == 2


def test_of_many_at_once_one_changes_the_caps(server: Any) -> None:
    etag = server.api.get(PATH).headers["etag"]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda lifetime: patched(server, lifetime, etag), range(2, 10)))
    statuses = [answer.status_code for answer in answers]
    assert sorted(statuses) == [200] + [412] * 7
    shown = server.api.get(PATH).json()
    assert (shown["epsilon_lifetime"], shown["version"]) == (2 + statuses.index(200), 2)
