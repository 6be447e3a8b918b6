"""A proxy names people: only a listed one, with its secret, and once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import SecretStr

from sordino_server.console.cookies import SESSION as COOKIE
from tests.server.conftest import served
from tests.server.console.conftest import HIDDEN, Browser, Browsers
from tests.server.people.conftest import PERSON

SECRET = "0123456789abcdef0123456789abcdef"
SETTINGS: dict[str, Any] = {
    "people": "header",
    "people_roles": json.dumps({"admin": ["ops"], "analyst": ["stats"]}),
    "people_secret": SecretStr(SECRET),
}
# What a TLS proxy on this machine sends.
TLS = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.7"}


def named(user: str = "ada", groups: str = "ops", secret: str = SECRET) -> dict[str, str]:
    return {**TLS, "X-Forwarded-User": user, "X-Forwarded-Groups": groups, "X-Sordino-Proxy-Secret": secret}


@pytest.fixture
def behind(migrated_sqlite_url: str) -> Iterator[tuple[Any, Browsers]]:
    with served(migrated_sqlite_url, trusted_proxies="127.0.0.1", populations="open", **SETTINGS) as running:
        browsers = Browsers(running)
        yield running, browsers
        browsers.close()


def visit(browser: Browser, path: str, headers: Any) -> Any:
    """As a proxy asks. Over TLS a cookie is `Secure`, which a client over HTTP keeps to itself."""
    cookies = getattr(browser, "jar", {})
    given = list(headers.items() if isinstance(headers, dict) else headers)
    if cookies:
        given.append(("Cookie", "; ".join(f"{name}={value}" for name, value in cookies.items())))
    response = browser.http.get(path, headers=given)
    for each in response.headers.get_list("set-cookie"):
        name, _, value = each.partition(";")[0].partition("=")
        cookies = cookies | {name: value}
    browser.jar = cookies  # type: ignore[attr-defined]
    return response


def entered(browsers: Browsers, headers: dict[str, str]) -> Browser:
    browser = browsers.anonymous()
    response = visit(browser, "/console/sign-in", headers)
    assert response.status_code == 200, response.text
    (session,) = [each for each in response.headers.get_list("set-cookie") if each.startswith(f"__Host-{COOKIE}=")]
    # Without them a browser takes no cookie of such a name.
    assert {"Secure", "Path=/", "HttpOnly", "SameSite=strict"} <= set(session.split("; "))
    return browser


def test_a_person_whom_the_proxy_names_is_let_in(behind: Any) -> None:
    running, browsers = behind
    browser = browsers.anonymous()
    away = visit(browser, "/console/keys", named())
    assert away.headers["location"] == "/console/sign-in?to=%2Fconsole%2Fkeys"
    way = visit(browser, away.headers["location"], named())
    assert '<meta http-equiv="refresh" content="0;url=/console/keys">' in way.text
    page = visit(browser, "/console/keys", named())
    assert (page.status_code, "ada (admin)" in page.text) == (200, True)
    entries = running.api.get("/v1/audit-log").json()["entries"]
    assert {each["actor"] for each in entries} == {"person:proxy#ada"}
    assert "203.0.113.7" not in str(entries)


def test_the_proxy_is_asked_at_every_request(behind: Any) -> None:
    """Whoever is signed out there, is somebody else, or has another group, is so here at once."""
    running, browsers = behind
    browser = entered(browsers, named())
    assert visit(browser, "/console/keys", named(groups="stats")).status_code == 403
    assert visit(browser, "/console/campaigns", named(groups="stats")).status_code == 200
    change = running.api.get("/v1/audit-log").json()["entries"][0]
    assert (json.loads(change["before"]), json.loads(change["after"])) == ({"role": "admin"}, {"role": "analyst"})
    assert visit(browser, "/console/campaigns", named(groups="")).status_code == 403
    assert visit(browser, "/console/campaigns.json", TLS).status_code == 401
    assert visit(browser, "/console/campaigns.json", named(user="bob")).status_code == 401
    assert visit(browser, "/console/keys", named()).status_code == 200


def test_a_browser_that_is_let_in_again_keeps_its_session(behind: Any) -> None:
    """Every other one would be a row in two tables, as often as anybody asks for the page."""
    running, browsers = behind
    browser = entered(browsers, named())
    running.app.state.sign_in_limit._buckets._tick = lambda: 0.0
    kept = dict(browser.jar)  # type: ignore[attr-defined]
    for _ in range(3):
        way = visit(browser, "/console/sign-in?to=/console/plans", named())
        assert (way.status_code, "url=/console/plans" in way.text, "set-cookie" in way.headers) == (200, True, False)
    assert visit(browser, "/console/sign-in", named(groups="stats")).status_code == 200
    assert browser.jar == kept  # type: ignore[attr-defined]
    actions = [each["action"] for each in running.api.get("/v1/audit-log").json()["entries"]]
    assert (actions.count("sign in"), actions[0]) == (1, "change role")
    # Somebody else at the same browser does not.
    visit(browser, "/console/sign-in", named(user="bob"))
    assert "bob (admin)" in visit(browser, "/console/keys", named(user="bob")).text


def test_a_person_whose_browser_keeps_no_cookie_begins_few_sessions(behind: Any) -> None:
    running, browsers = behind
    running.app.state.sign_in_limit._buckets._tick = lambda: 0.0
    answers = [visit(browsers.anonymous(), "/console/sign-in", named()) for _ in range(12)]
    assert [each.status_code for each in answers] == [200] * 10 + [429] * 2
    assert (answers[-1].headers["retry-after"], "keep no cookie" in answers[-1].text) == ("10", True)
    assert visit(browsers.anonymous(), "/console/sign-in", named(user="bob")).status_code == 200


def test_over_tls_a_cookie_of_another_host_of_the_domain_is_of_no_session(behind: Any) -> None:
    """Such a host sets cookies for the whole domain, but none whose name begins with `__Host-`."""
    _, browsers = behind
    browser = entered(browsers, named())
    jar = browser.jar  # type: ignore[attr-defined]
    browser.jar = {COOKIE: jar[f"__Host-{COOKIE}"]}  # type: ignore[attr-defined]
    assert visit(browser, "/console/keys", named()).status_code == 303


def test_live_counts_ask_the_proxy_too(behind: Any) -> None:
    running, browsers = behind
    browser = entered(browsers, named())
    counts = f"/console/campaigns/{running.campaign('open')['id']}/counts"
    assert visit(browser, counts, named()).status_code == 200
    assert visit(browser, counts, TLS).status_code == 303


@pytest.mark.parametrize("secret", ["", "wrong", SECRET[:-1], SECRET + "0", "\u00e9"])
def test_a_proxy_without_the_secret_names_nobody(behind: Any, secret: str) -> None:
    _, browsers = behind
    headers = [(name.encode(), value.encode()) for name, value in named(secret=secret).items()]
    response = visit(browsers.anonymous(), "/console/sign-in", headers)
    assert (response.status_code, "without its secret" in response.text) == (403, True)
    assert "set-cookie" not in response.headers


def test_headers_of_an_unlisted_address_are_of_nobody(migrated_sqlite_url: str) -> None:
    with served(migrated_sqlite_url, trusted_proxies="192.0.2.1", **SETTINGS) as running:
        browsers = Browsers(running)
        # Over plain HTTP, as the address of nobody: no session, whatever the headers say.
        assert visit(browsers.anonymous(), "/console/sign-in", named()).status_code == 403
        headers = {name: value for name, value in named().items() if name == "X-Sordino-Proxy-Secret"}
        assert "Key of an operator" in visit(browsers.anonymous(), "/console/sign-in", headers).text
        browsers.close()


@pytest.mark.parametrize("twice", ["X-Forwarded-User", "X-Forwarded-Groups", "X-Sordino-Proxy-Secret"])
def test_two_headers_are_refused(behind: Any, twice: str) -> None:
    """A client's own header that the proxy passed on stands beside the proxy's."""
    _, browsers = behind
    headers = [*named().items(), (twice, named()[twice])]
    response = visit(browsers.anonymous(), "/console/sign-in", headers)
    assert (response.status_code, f"{twice} is there 2 times" in response.text) == (400, True)


@pytest.mark.parametrize("user", ["ada,root", ",ada", "x" * 256, "", "\u2800", "ada\u202e"])
def test_a_name_that_two_headers_make_is_refused(behind: Any, user: str) -> None:
    _, browsers = behind
    headers = [(name.encode(), value.encode()) for name, value in named(user=user).items()]
    assert visit(browsers.anonymous(), "/console/sign-in", headers).status_code == 400


@pytest.mark.parametrize("groups", ["", "other", "Ops", "ops2", '"x', "stats-ops", "op,s"])
def test_other_groups_have_no_role(behind: Any, groups: str) -> None:
    _, browsers = behind
    response = visit(browsers.anonymous(), "/console/sign-in", named(groups=groups))
    assert (response.status_code, "none of your groups" in response.text) == (403, True)


def test_names_in_other_scripts_are_read(behind: Any) -> None:
    running, browsers = behind
    headers = [(name.encode(), value.encode()) for name, value in named(user="Zo\u00eb", groups="x, stats").items()]
    response = visit(browsers.anonymous(), "/console/sign-in", headers)
    assert response.status_code == 200
    assert running.api.get("/v1/audit-log").json()["entries"][0]["actor"] == "person:proxy#Zo\u00eb"
    broken = [(name, value) for name, value in headers if name != b"X-Forwarded-User"]
    assert visit(browsers.anonymous(), "/console/sign-in", [*broken, (b"X-Forwarded-User", b"\xff")]).status_code == 400


def test_a_form_still_needs_the_token_of_its_session(behind: Any) -> None:
    """The proxy names a person in every request of the browser, also in one that another site makes."""
    _, browsers = behind
    browser = entered(browsers, named())
    page = visit(browser, "/console/keys", named()).text
    cookie = "; ".join(f"{name}={value}" for name, value in browser.jar.items())  # type: ignore[attr-defined]
    order = {"name": "x", "role": "admin", "once": "1"}
    forged = browser.http.post("/console/keys", data=order, headers={**named(), "Cookie": cookie})
    assert forged.status_code == 403
    assert browser.http.post("/console/keys", data=order, headers=named()).status_code == 401
    token = dict(HIDDEN.findall(page))["token"]
    made = browser.http.post("/console/keys", data={**order, "token": token}, headers={**named(), "Cookie": cookie})
    assert made.status_code == 201


def test_there_is_no_way_to_a_provider(behind: Any) -> None:
    _, browsers = behind
    for path in (PERSON, "/console/sign-in/callback?state=x&code=y"):
        assert visit(browsers.anonymous(), path, named()).status_code == 404
