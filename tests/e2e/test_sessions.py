"""Signing in from a browser, how often keys may ask, and what the audit log tells of it all."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.support.databases import SqliteDatabases
from tests.support.server import RunningServer
from tests.support.tenants import SharedHouse, Tenant
from tests.support.waiting import until_sync

from remanence.accounts.audit import repository as audit
from remanence.core.page import Page
from remanence.kit.ids import DEFAULT_USER_ID

PASSWORD = "open-sésame"
PAGE = {"x-remanence-page": "1"}
ALLOWED = "https://app.example"


@pytest.fixture(scope="module")
def locked(
    sqlite_databases: SqliteDatabases, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    """A server with a password, where pages of one other origin may ask too."""
    server = RunningServer(
        sqlite_databases.fresh(),
        tmp_path_factory.mktemp("sessions"),
        password=PASSWORD,
        cors_origins=[ALLOWED],
    ).start()
    yield server
    server.stop()


@pytest.fixture
def browser(locked: RunningServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=locked.base_url, verify=False) as client:
        yield client


def sign_in(browser: httpx.Client, password: str = PASSWORD) -> httpx.Response:
    return browser.post("/v1/session/", json={"password": password})


def make_key(browser: httpx.Client, **given: Any) -> dict[str, Any]:
    answer = browser.post("/v1/keys/", json={"name": "k"} | given, headers=PAGE)
    assert answer.status_code == 201, answer.text
    return answer.json()


@pytest.mark.promise("session.sign-in")
def test_a_cookie_that_scripts_cannot_read_stands_for_the_password(browser: httpx.Client) -> None:
    assert sign_in(browser, "wrong").status_code == 401
    assert browser.get("/v1/agents/").status_code == 401
    answer = sign_in(browser)
    assert answer.status_code == 201
    cookie = answer.headers["set-cookie"]
    assert all(word in cookie for word in ("HttpOnly", "SameSite=strict", "Path=/"))
    assert "Secure" not in cookie
    assert PASSWORD not in cookie
    assert browser.get("/v1/agents/").status_code == 200
    me = browser.get("/v1/session/").json()
    assert (me["user_id"], me["role"], me["is_session"]) == (DEFAULT_USER_ID, "admin", True)


@pytest.mark.promise("session.sign-in")
def test_over_https_the_cookie_never_goes_out_in_clear(browser: httpx.Client) -> None:
    proxied = {"x-forwarded-proto": "https"}
    answer = browser.post("/v1/session/", json={"password": PASSWORD}, headers=proxied)
    assert "Secure" in answer.headers["set-cookie"]


@pytest.mark.promise("session.csrf")
def test_a_cookie_alone_changes_nothing(browser: httpx.Client) -> None:
    sign_in(browser)
    for method, path in (
        ("POST", "/v1/blocks/"),
        ("DELETE", "/v1/session/"),
        ("POST", "/v1/messages/search"),
    ):
        answer = browser.request(method, path, json={"label": "x", "value": "", "query": "x"})
        assert answer.status_code == 403
        assert "x-remanence-page" in answer.json()["detail"]
    made = browser.post("/v1/blocks/", json={"label": "x", "value": ""}, headers=PAGE)
    assert made.status_code == 200
    text = browser.post("/v1/session/", content='{"password": "x"}', headers={"content-type": "text/plain"})
    assert text.status_code == 422, "what a form of any page can send signs nobody in"


@pytest.mark.promise("session.sign-out")
def test_signing_out_ends_the_session_and_not_only_the_cookie(browser: httpx.Client) -> None:
    sign_in(browser)
    kept = dict(browser.cookies)
    assert browser.delete("/v1/session/", headers=PAGE).status_code == 204
    assert not browser.cookies
    browser.cookies.update(kept)
    assert browser.get("/v1/agents/").status_code == 401


@pytest.mark.promise("session.sign-in")
def test_a_session_may_what_its_key_may_and_ends_with_it(
    locked: RunningServer, browser: httpx.Client
) -> None:
    sign_in(browser)
    key = make_key(browser, role="read_only")
    with httpx.Client(base_url=locked.base_url, verify=False, headers=PAGE) as reader:
        assert sign_in(reader, key["key"]).json()["role"] == "read_only"
        assert reader.get("/v1/agents/").status_code == 200
        assert reader.post("/v1/blocks/", json={"label": "x", "value": ""}).status_code == 403
        assert browser.delete(f"/v1/keys/{key['id']}", headers=PAGE).status_code == 200
        assert reader.get("/v1/agents/").status_code == 401
    assert key["id"] not in [each["id"] for each in browser.get("/v1/keys/").json()]


@pytest.mark.promise("session.sign-in")
def test_another_password_ends_every_session(
    sqlite_databases: SqliteDatabases, tmp_path_factory: pytest.TempPathFactory
) -> None:
    url, folder = sqlite_databases.fresh(), tmp_path_factory.mktemp("changed")
    cookies: httpx.Cookies | None = None
    for password, status in (("first", 200), ("second", 401)):
        server = RunningServer(url, folder, password=password).start()
        with httpx.Client(base_url=server.base_url, verify=False, cookies=cookies) as client:
            if cookies is None:
                sign_in(client, password)
            assert client.get("/v1/agents/").status_code == status
            cookies = client.cookies
        server.stop()


@pytest.mark.promise("doors.cors")
def test_only_pages_of_named_origins_may_ask(browser: httpx.Client, tenant: Tenant) -> None:
    asked = {"access-control-request-method": "POST", "access-control-request-headers": "authorization"}
    allowed = browser.options("/v1/agents/", headers=asked | {"origin": ALLOWED})
    assert allowed.headers["access-control-allow-origin"] == ALLOWED
    assert "access-control-allow-credentials" not in allowed.headers
    for client, origin in ((browser, "https://evil.example"), (tenant.http, ALLOWED)):
        refused = client.options("/v1/agents/", headers=asked | {"origin": origin})
        assert "access-control-allow-origin" not in refused.headers


@pytest.mark.promise("keys.rate")
def test_a_key_that_asks_too_often_is_told_when_to_ask_again(tenant: Tenant) -> None:
    key = tenant.http.post("/v1/keys/", json={"name": "k", "requests_per_minute": 3}).json()
    with tenant.house.plain(authorization=f"Bearer {key['key']}") as client:
        answers = [client.get("/v1/tags/") for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 20
        assert (
            answers[-1].json()["detail"].startswith("RATE_LIMIT_EXCEEDED: This key may ask 3 times a minute")
        )
    assert tenant.http.get("/v1/tags/").status_code == 200


@pytest.mark.promise("audit.log")
def test_changes_sign_ins_and_refusals_are_written_down(tenant: Tenant, house: SharedHouse) -> None:
    block = tenant.block("human")
    tenant.http.get("/v1/blocks/")
    reader = tenant.http.post("/v1/keys/", json={"name": "k", "role": "read_only"}).json()
    with house.plain(authorization=f"Bearer {reader['key']}") as client:
        client.post("/v1/messages/search", json={"query": "x"})
        client.delete(f"/v1/blocks/{block['id']}", headers={"x-request-id": "mine-7"})
    organization_id = tenant.actor.organization_id
    until_sync(
        lambda: len(house.read(audit.list_entries, Page(limit=9), organization_id=organization_id)) == 3
    )
    told = tenant.http.get("/v1/audit/", params={"organization_id": organization_id, "order": "asc"}).json()
    lines = [
        (each["method"], each["route"], each["status"], each["key_id"], each["object_id"]) for each in told
    ]
    assert lines == [
        ("POST", "/v1/blocks/", 200, None, None),
        ("POST", "/v1/keys/", 201, None, reader["id"]),
        ("DELETE", "/v1/blocks/{block_id}", 403, reader["id"], block["id"]),
    ]
    assert {each["user_id"] for each in told} == {tenant.actor.user_id}
    assert (told[-1]["request_id"], told[-1]["ip"]) == ("mine-7", "127.0.0.1")
    of_object = tenant.http.get("/v1/audit/", params={"object_id": block["id"]}).json()
    assert of_object == told[-1:]
    house.write(audit.drop_old, 1)
    assert tenant.http.get("/v1/audit/", params={"object_id": block["id"]}).json() == told[-1:]


@pytest.mark.promise("audit.log")
def test_an_admin_of_one_organisation_reads_of_no_other(tenant: Tenant, house: SharedHouse) -> None:
    stranger = house.new_tenant()
    stranger.block("theirs")
    tenant.block("ours")
    here = {"type": "organization", "id": tenant.actor.organization_id}
    key = tenant.http.post("/v1/keys/", json={"name": "k", "role": "admin", "scope": here}).json()["key"]
    theirs = {"organization_id": stranger.actor.organization_id}
    until_sync(lambda: len(tenant.http.get("/v1/audit/", params=theirs).json()) == 1)
    with house.plain(authorization=f"Bearer {key}") as client:
        until_sync(lambda: len(client.get("/v1/audit/").json()) >= 2)
        for given in ({}, theirs):
            found = client.get("/v1/audit/", params=given).json()
            assert {each["organization_id"] for each in found} == {tenant.actor.organization_id}
    stranger.close()


@pytest.mark.promise("audit.log")
def test_wrong_passwords_are_written_down_and_kept_when_the_server_stops(
    sqlite_databases: SqliteDatabases, tmp_path_factory: pytest.TempPathFactory
) -> None:
    url, folder = sqlite_databases.fresh(), tmp_path_factory.mktemp("audited")
    server = RunningServer(url, folder, password=PASSWORD).start()
    with httpx.Client(base_url=server.base_url, verify=False) as client:
        sign_in(client, "wrong")
        sign_in(client)
    server.stop()
    with SharedHouse(url, folder) as house, house.plain() as client:
        told = client.get("/v1/audit/", params={"order": "asc"}).json()
    assert [(each["route"], each["status"], each["user_id"]) for each in told] == [
        ("/v1/session/", 401, None),
        ("/v1/session/", 201, DEFAULT_USER_ID),
    ]
