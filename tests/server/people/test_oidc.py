"""People sign in through an OpenID provider, and only with a token that it made for them, here and now."""

from __future__ import annotations

import hmac
import json
import time
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from sqlalchemy import select

from sordino_server.console.cookies import SESSION as COOKIE
from sordino_server.models import ConsoleSession, Key
from tests.openid_issuer import CLIENT, unpadded
from tests.server.conftest import served
from tests.server.console.conftest import Browsers
from tests.server.people.conftest import PERSON, Site, oidc_settings

QUARTER_S = 900


def entries(site: Site) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = site.running.api.get("/v1/audit-log").raise_for_status().json()["entries"]
    return found


def test_a_person_signs_in_with_the_role_of_the_groups(site: Site) -> None:
    browser = site.of("bob-2")
    page = browser.page("/console/campaigns")
    assert "bob-2 (analyst)" in page
    assert browser.http.get("/console/keys").status_code == 403
    admin = site.of("ada-1")
    assert "Ada (admin)" in admin.page("/console/keys")
    assert "ada@example.org" not in admin.page("/console/audit-log")
    assert [(each["action"], each["actor"]) for each in entries(site)] == [
        ("sign in", f"person:{site.issuer.address}#ada-1"),
        ("change role", f"person:{site.issuer.address}#ada-1"),
        ("sign in", f"person:{site.issuer.address}#bob-2"),
        ("change role", f"person:{site.issuer.address}#bob-2"),
    ]
    assert "ada@example.org" not in str(entries(site))
    assert "127.0.0.1" not in str(entries(site))


def test_the_session_is_a_new_one_on_a_page_of_this_site(site: Site) -> None:
    """A Strict cookie does not come with a navigation that the provider began: the browser goes on by itself."""
    site.issuer.signed_in = "bob-2"
    browser = site.browsers.anonymous()
    browser.http.cookies.set(COOKIE, "chosen-by-somebody-else", path="/console")
    response = site.enter(browser, to="/console/plans?limit=5")
    assert '<meta http-equiv="refresh" content="0;url=/console/plans?limit=5">' in response.text
    cookies = response.headers.get_list("set-cookie")
    (session,) = [each for each in cookies if each.startswith(COOKIE)]
    assert "chosen-by-somebody-else" not in session
    assert {"HttpOnly", "SameSite=strict", "Path=/console"} <= set(session.split("; "))
    (flow,) = [each for each in cookies if each.startswith("sordino_flow_")]
    assert "Max-Age=0" in flow


def test_the_way_there_has_pkce_and_a_flow_of_the_browser(site: Site) -> None:
    begun = site.browsers.anonymous().http.get(PERSON)
    asked = httpx.URL(begun.headers["location"]).params
    assert (asked["tenant"], asked["response_type"], asked["client_id"]) == ("1", "code", CLIENT)
    assert (asked["code_challenge_method"], asked["scope"]) == ("S256", "openid profile")
    assert len({asked["state"], asked["nonce"], asked["code_challenge"]}) == 3
    assert asked["redirect_uri"] == f"{site.running.address}/console/sign-in/callback"
    (flow,) = begun.headers.get_list("set-cookie")
    assert {"HttpOnly", "SameSite=lax", "Path=/console", "Max-Age=600"} <= set(flow.split("; "))
    assert asked["state"] not in flow.partition("=")[2]


def test_a_sign_in_leads_to_pages_of_the_console_alone(site: Site) -> None:
    site.issuer.signed_in = "bob-2"
    for elsewhere in ("https://evil.example/", "/console/../docs"):
        assert 'content="0;url=/console/questions"' in site.enter(site.browsers.anonymous(), to=elsewhere).text


def test_who_has_no_known_group_has_no_role(site: Site) -> None:
    """A group with a comma is one group: neither its parts nor what stands behind the comma count."""
    site.issuer.signed_in = "eve-3"
    response = site.enter(site.browsers.anonymous())
    assert (response.status_code, "none of your groups" in response.text) == (403, True)
    assert COOKIE not in response.cookies
    site.issuer.people["eve-3"] = {}
    assert site.enter(site.browsers.anonymous()).status_code == 403
    site.issuer.people["eve-3"] = {"groups": "stats"}
    assert site.enter(site.browsers.anonymous()).status_code == 200


OTHER = generate_private_key(65537, 2048)


def _signed_by_another(site: Site) -> None:
    site.issuer.encode = lambda claims: jwt.encode(claims, OTHER, "RS256", headers={"kid": site.issuer.kid})


def _unsigned(site: Site) -> None:
    head = unpadded(json.dumps({"alg": "none", "kid": site.issuer.kid}).encode())
    site.issuer.encode = lambda claims: f"{head}.{unpadded(json.dumps(claims).encode())}."


def _signed_with_the_public_key(site: Site) -> None:
    """The key that everybody has, as the secret of an HMAC. PyJWT would not make such a token."""

    def encode(claims: dict[str, Any]) -> str:
        public = site.issuer.keys[site.issuer.kid].public_key()
        pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        head = {"alg": "HS256", "kid": site.issuer.kid}
        signed = ".".join(unpadded(json.dumps(each).encode()) for each in (head, claims))
        return f"{signed}.{unpadded(hmac.digest(pem, signed.encode(), 'sha256'))}"

    site.issuer.encode = encode


def _changed_after(site: Site) -> None:
    def encode(claims: dict[str, Any]) -> str:
        key = site.issuer.keys[site.issuer.kid]
        head, _, signature = jwt.encode(claims, key, "RS256", headers={"kid": site.issuer.kid}).split(".")
        more = claims | {"groups": ["sordino-admins"]}
        return f"{head}.{unpadded(json.dumps(more).encode())}.{signature}"

    site.issuer.encode = encode


def _claims(**changed: Any) -> Any:
    def change(site: Site) -> None:
        site.issuer.claims = lambda claims: {
            name: value for name, value in {**claims, **changed}.items() if value is not None
        }

    return change


NOW = int(time.time())
WRONG = {
    "audience": _claims(aud="other"),
    "no audience": _claims(aud=None),
    "authorized party": _claims(aud=[CLIENT, "other"], azp="other"),
    "two audiences and no party": _claims(aud=[CLIENT, "other"]),
    "issuer": _claims(iss="https://evil.example"),
    "issuer with a slash": _claims(iss="http://localhost/"),
    "nonce": _claims(nonce="of another sign-in"),
    "no nonce": _claims(nonce=None),
    "expired": _claims(exp=NOW - 120),
    "no end": _claims(exp=None),
    "of tomorrow": _claims(iat=NOW + 86400),
    "not yet": _claims(nbf=NOW + 86400),
    "no subject": _claims(sub=None),
    "subject is no text": _claims(sub=7),
    "none": _unsigned,
    "hmac with the public key": _signed_with_the_public_key,
    "another key": _signed_by_another,
    "claims of another": _changed_after,
    "no token": lambda site: setattr(site.issuer, "encode", lambda claims: "a.b.c"),
    "no text": lambda site: setattr(site.issuer, "encode", lambda claims: "\u2603"),
}


# One of each class; test_id_tokens.py has others without a server.
IN_THE_GATE = ("audience", "issuer", "nonce", "expired", "none", "another key", "no token")


@pytest.mark.parametrize(
    "wrong", [each if each in IN_THE_GATE else pytest.param(each, marks=pytest.mark.slow) for each in WRONG]
)
def test_a_token_that_is_not_this_one_is_refused(site: Site, wrong: str) -> None:
    WRONG[wrong](site)
    site.issuer.signed_in = "bob-2"
    browser = site.browsers.anonymous()
    response = site.enter(browser)
    assert (response.status_code, "the ID token is refused" in response.text) == (403, True), response.text
    assert COOKIE not in browser.http.cookies
    assert entries(site) == []


def test_a_code_works_once_and_in_the_browser_that_began(site: Site) -> None:
    site.issuer.signed_in = "bob-2"
    victim, attacker = site.browsers.anonymous(), site.browsers.anonymous()
    address = site.answer(attacker)
    # The attacker's code in the victim's browser: nobody is signed in as somebody else.
    assert victim.http.get(address).status_code == 403
    assert COOKIE not in victim.http.cookies
    assert attacker.http.get(address).status_code == 200
    assert attacker.http.get(address).status_code == 403
    # A replayed code with a flow of its own is refused by the provider, which is asked with another verifier.
    code = httpx.URL(address).params["code"]
    fresh = httpx.URL(site.answer(attacker))
    replayed = attacker.http.get(str(fresh.copy_set_param("code", code)))
    assert (replayed.status_code, "refused the code" in replayed.text) == (403, True)


def test_a_code_of_another_sign_in_is_refused_by_its_verifier(site: Site) -> None:
    """An attacker's code that was not used yet, put into the victim's way back."""
    site.issuer.signed_in = "bob-2"
    victim, attacker = site.browsers.anonymous(), site.browsers.anonymous()
    code = httpx.URL(site.answer(attacker)).params["code"]
    way_back = httpx.URL(site.answer(victim)).copy_set_param("code", code)
    assert victim.http.get(str(way_back)).status_code == 403
    assert COOKIE not in victim.http.cookies


def test_a_way_back_that_nobody_began_is_refused(site: Site) -> None:
    browser = site.browsers.anonymous()
    for query in ("", "?state=x", "?code=x", "?state=x&code=y", "?state=%00&code=x", "?state=x&state=x&code=y"):
        assert browser.http.get(f"/console/sign-in/callback{query}").status_code == 403, query
    assert "/token" not in site.issuer.asked


def test_an_answer_of_another_provider_is_refused(site: Site) -> None:
    site.issuer.signed_in = "bob-2"
    browser = site.browsers.anonymous()
    address = httpx.URL(site.answer(browser)).copy_set_param("iss", "https://evil.example")
    assert browser.http.get(str(address)).status_code == 403
    assert "/token" not in site.issuer.asked


def test_a_key_that_was_rotated_is_read_again(site: Site) -> None:
    site.of("bob-2")
    site.issuer.rotate()
    site.issuer.asked.clear()
    # Who signs in within ten seconds after the last look waits for the next one.
    provider = site.running.app.state.provider
    assert site.enter(site.browsers.anonymous()).status_code == 403
    provider._tick = lambda: time.monotonic() + 11
    site.of("bob-2")
    assert site.issuer.asked.count("/jwks") == 1


def test_what_a_provider_publishes_is_checked(site: Site) -> None:
    site.issuer.metadata = lambda found: found | {"issuer": "https://evil.example"}
    refused = site.browsers.anonymous().http.get(PERSON)
    assert (refused.status_code, "the OpenID provider says that it is" in refused.text) == (503, True)


def test_a_provider_that_is_down_shuts_no_key_out(migrated_sqlite_url: str, issuer: Any) -> None:
    settings = oidc_settings(issuer) | {"oidc_issuer": "http://localhost:1"}
    with served(migrated_sqlite_url, **settings) as running:
        browsers = Browsers(running)
        browser = browsers.anonymous()
        assert "sign in with a key" in browser.http.get(PERSON).text
        assert browser.sign_in(running.admin_key).status_code == 303
        browsers.close()


def test_a_session_is_renewed_in_silence_and_keeps_its_forms(site: Site) -> None:
    browser = site.of("ada-1")
    token = browser.token("/console/keys")
    site.running.clock.advance(QUARTER_S - 300)
    away = browser.http.get("/console/keys")
    assert away.headers["location"] == f"{PERSON}?to=%2Fconsole%2Fkeys&silent=true"
    # Until the quarter of an hour is over a form is taken, and what pages load.
    assert browser.http.get("/console/keys.json").status_code == 200
    begun = browser.http.get(away.headers["location"])
    assert httpx.URL(begun.headers["location"]).params["prompt"] == "none"
    back = httpx.get(begun.headers["location"]).headers["location"]
    response = browser.http.get(back)
    assert 'content="0;url=/console/keys"' in response.text
    assert not any(each.startswith(COOKIE) for each in response.headers.get_list("set-cookie"))
    assert browser.token("/console/keys") == token
    site.running.clock.advance(QUARTER_S - 301)
    browser.page("/console/keys")


def test_a_person_removed_at_the_provider_loses_the_console_within_15_minutes(site: Site) -> None:
    browser = site.of("ada-1")
    fields = browser.form("/console/keys")
    del site.issuer.people["ada-1"]
    site.running.clock.advance(QUARTER_S)
    live = browser.http.get(
        "/console/campaigns", headers={"HX-Request": "true", "HX-Current-URL": "http://x/console/a"}
    )
    assert (live.status_code, live.headers["hx-redirect"]) == (401, f"{PERSON}?to=%2Fconsole%2Fa&silent=true")
    for path in ("/console/keys.json", "/console/keys.csv"):
        assert browser.http.get(path).status_code == 401
    refused = browser.http.post("/console/keys", data={**fields, "name": "x", "role": "admin"})
    assert (refused.status_code, "checked every 15 minutes" in refused.text) == (401, True)
    away = browser.http.get("/console/keys").headers["location"]
    back = browser.http.get(httpx.get(browser.http.get(away).headers["location"]).headers["location"])
    assert back.headers["location"] == "/console/sign-in?to=%2Fconsole%2Fkeys"
    with site.running.database.read() as session:
        assert session.scalars(select(ConsoleSession)).all() == []
    assert not [each for each in site.running.api.get("/v1/keys").json()["keys"] if each["name"] == "x"]


def test_a_person_who_loses_a_group_loses_the_role(site: Site) -> None:
    browser = site.of("ada-1")
    site.issuer.people["ada-1"]["groups"] = ["stats"]
    site.running.clock.advance(QUARTER_S - 1)
    away = browser.http.get("/console/keys").headers["location"]
    browser.http.get(httpx.get(browser.http.get(away).headers["location"]).headers["location"])
    assert browser.http.get("/console/keys").status_code == 403
    change = entries(site)[0]
    assert (json.loads(change["before"]), json.loads(change["after"])) == ({"role": "admin"}, {"role": "analyst"})
    site.issuer.people["ada-1"]["groups"] = []
    site.running.clock.advance(QUARTER_S - 1)
    away = browser.http.get("/console/campaigns").headers["location"]
    back = browser.http.get(httpx.get(browser.http.get(away).headers["location"]).headers["location"])
    assert back.status_code == 403
    assert browser.http.get("/console/campaigns.json").status_code == 401


def test_another_person_renews_no_session(site: Site) -> None:
    """Ada left her browser, Bob signed in at the provider: he gets a session of his own."""
    browser = site.of("ada-1")
    site.issuer.signed_in = "bob-2"
    site.running.clock.advance(QUARTER_S)
    away = browser.http.get("/console/keys").headers["location"]
    browser.http.get(httpx.get(browser.http.get(away).headers["location"]).headers["location"])
    assert browser.http.get("/console/keys").status_code == 403
    assert "bob-2 (analyst)" in browser.page("/console/campaigns")


def test_an_admin_keeps_a_person_out(site: Site) -> None:
    browser = site.of("bob-2")
    person = next(each for each in site.running.api.get("/v1/keys").json()["keys"] if each["person"])
    assert (person["name"], person["role"]) == (f"{site.issuer.address}#bob-2", "analyst")
    site.running.api.delete(f"/v1/keys/{person['id']}").raise_for_status()
    assert browser.http.get("/console/campaigns").status_code == 303
    again = site.enter(browser)
    assert (again.status_code, "revoked you" in again.text) == (403, True)


def test_people_are_no_last_admins_and_have_no_key(site: Site) -> None:
    site.of("ada-1")
    mine = site.running.admin_key.split("_")[2]
    assert site.running.api.delete(f"/v1/keys/{mine}").status_code == 409
    with site.running.database.read() as session:
        person = session.scalars(select(Key).where(Key.person.is_not(None))).one()
    for secret in ("", "0" * 64, person.secret_sha256, person.person):
        with site.running.client(f"sdo_admin_{person.id}_{secret}") as client:
            assert client.get("/v1/keys").status_code == 401


def test_sign_out_ends_the_session_and_says_where_else(site: Site) -> None:
    browser = site.of("bob-2")
    response = browser.send("/console/sign-out", "/console/campaigns")
    assert f'href="{site.issuer.address}/bye"' in response.text
    assert browser.http.get("/console/campaigns").headers["location"] == "/console/sign-in?to=%2Fconsole%2Fcampaigns"


def test_names_are_in_the_audit_log_where_that_is_wanted(migrated_sqlite_url: str, issuer: Any) -> None:
    with served(migrated_sqlite_url, **oidc_settings(issuer), audit_names="on") as running:
        browsers = Browsers(running)
        site = Site(running, issuer, browsers)
        site.of("ada-1")
        told = json.loads(entries(site)[0]["after"])
        assert told == {"name": "Ada", "email": "ada@example.org", "address": "127.0.0.1"}
        browsers.close()


def test_an_e_mail_address_as_subject_stands_as_a_digest(site: Site) -> None:
    site.issuer.people["eve@example.org"] = {"groups": ["stats"]}
    site.of("eve@example.org")
    assert "eve@example.org" not in str(entries(site))
    assert entries(site)[0]["actor"].startswith(f"person:{site.issuer.address}#sha256:")


def test_sessions_of_people_end_where_people_are_off(migrated_sqlite_url: str, issuer: Any) -> None:
    with served(migrated_sqlite_url, **oidc_settings(issuer)) as running:
        browsers = Browsers(running)
        cookie = Site(running, issuer, browsers).of("ada-1").http.cookies[COOKIE]
        browsers.close()
    with served(migrated_sqlite_url) as running:
        browsers = Browsers(running)
        browser = browsers.anonymous()
        browser.http.cookies.set(COOKIE, cookie, path="/console")
        assert browser.http.get("/console/campaigns").headers["location"] == "/console/sign-in"
        assert browser.http.get(PERSON).status_code == 404
        browsers.close()


def test_attempts_are_limited_by_address_but_not_those_of_sessions(site: Site) -> None:
    browser = site.of("bob-2")
    stranger = site.browsers.anonymous()
    statuses = [stranger.http.get(PERSON).status_code for _ in range(12)]
    assert (statuses[0], statuses[-1]) == (303, 429)
    assert browser.http.get(PERSON, params={"silent": "true"}).status_code == 303
