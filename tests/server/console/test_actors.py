"""Pages show who acted, what changed, and that a key ends soon."""

from __future__ import annotations

from typing import Any

from sordino_server.jobs.audit_chores import AuditChores
from sordino_server.models import Role


def test_the_console_shows_actors_and_changes(running: Any, browsers: Any) -> None:
    AuditChores().run(running.database, 7, running.clock.now(), lambda: None)
    page = browsers.of(Role.ADMIN).page("/console/audit-log")
    assert "<td>worker</td>" in page
    assert "{&#34;days&#34;: 7}" in page
    assert "<td>key:test <code>" in page


def test_a_key_that_ends_soon_is_told_on_each_page(running: Any, browsers: Any) -> None:
    soon = running.clock.now() + 29 * 86400
    made = running.api.post("/v1/keys", json={"name": "Ada", "role": "admin", "expires_at": soon}).json()
    browser = browsers.anonymous()
    browser.sign_in(made["key"])
    assert f"sordino keys rotate {made['id']}" in browser.page("/console/campaigns")
    assert "soon: 2027-02-13" in browser.page("/console/keys")
    running.clock.advance(-2 * 86400)
    assert "sordino keys rotate" not in browser.page("/console/campaigns")
