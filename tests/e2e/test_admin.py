"""Organisations and users, as admins look after them."""

import httpx
import pytest
from tests.support.tenants import SharedHouse, Tenant

from remanence.kit.ids import DEFAULT_ORG_ID, DEFAULT_USER_ID

NOBODY = "11111111-1111-4111-8111-111111111111"
USERS, ORGS = "/v1/admin/users/", "/v1/admin/orgs/"


def newcomer(http: httpx.Client) -> tuple[str, str]:
    """The ids of a new organisation and of a user in it."""
    org = http.post(ORGS, json={"name": "newcomers"}).json()["id"]
    return org, http.post(USERS, json={"name": "ada", "organization_id": org}).json()["id"]


@pytest.mark.promise("admin.orgs")
def test_organisations_are_made_listed_and_changed(tenant: Tenant) -> None:
    made = tenant.http.post(ORGS, json={}).json()
    assert list(made) == ["id", "name", "created_at", "privileged_tools"]
    assert made["name"]
    assert made["privileged_tools"] is False
    changed = tenant.http.patch(ORGS, params={"org_id": made["id"]}, json={"name": "b"}).json()
    assert changed == made | {"name": "b"}
    for page in (tenant.http.get(ORGS, params={"limit": 10_000}).json(),):
        assert changed in page
        assert [each["id"] for each in page].count(DEFAULT_ORG_ID) == 1
    after = tenant.http.get(ORGS, params={"after": made["id"], "limit": 1}).json()
    assert made["id"] not in [each["id"] for each in after]
    assert tenant.http.patch(ORGS, params={"org_id": f"org-{NOBODY}"}, json={}).status_code == 404


@pytest.mark.promise("admin.users")
def test_users_are_made_moved_and_act_at_once(tenant: Tenant) -> None:
    org, user = newcomer(tenant.http)
    with tenant.house.plain(user_id=user) as ada:
        assert ada.get("/v1/agents/").json() == []
        key = ada.post("/v1/keys/", json={"name": "k"}).json()["key"]
        ada.post("/v1/blocks/", json={"label": "left", "value": ""})
        other = tenant.http.post(ORGS, json={"name": "c"}).json()["id"]
        moved = tenant.http.put(USERS, json={"id": user, "organization_id": other, "name": "eve"}).json()
        assert (moved["organization_id"], moved["name"], moved["is_deleted"]) == (other, "eve", False)
        assert ada.get("/v1/blocks/").json() == []
    with tenant.house.plain(authorization=f"Bearer {key}") as old:
        assert old.get("/v1/blocks/").status_code == 401
    assert moved in tenant.http.get(USERS, params={"limit": 10_000}).json()
    for body in (
        {"name": "x", "organization_id": f"org-{NOBODY}"},
        {"name": "x", "organization_id": org[:-1]},
    ):
        assert tenant.http.post(USERS, json=body).status_code in (404, 422)
    assert tenant.http.put(USERS, json={"id": user, "organization_id": f"org-{NOBODY}"}).status_code == 404


@pytest.mark.promise("admin.delete")
def test_a_deleted_user_or_organisation_opens_nothing_and_passes_for_nobody(tenant: Tenant) -> None:
    for path, name in ((USERS, "user_id"), (ORGS, "org_id")):
        org, user = newcomer(tenant.http)
        with tenant.house.plain(user_id=user) as ada:
            key = ada.post("/v1/keys/", json={"name": "k"}).json()["key"]
            gone = tenant.http.delete(path, params={name: user if name == "user_id" else org})
            assert gone.status_code == 200
            refused = ada.get("/v1/agents/")  # the default user's, if it were taken for a stranger's
            assert refused.status_code == 403
        with tenant.house.plain(authorization=f"Bearer {key}") as old:
            assert old.get("/v1/agents/").status_code == 401
        assert tenant.http.delete(path, params={name: gone.json()["id"]}).status_code == 404
        assert gone.json()["id"] not in [each["id"] for each in tenant.http.get(path).json()]


@pytest.mark.promise("admin.delete")
def test_the_defaults_stay(house: SharedHouse) -> None:
    with house.plain() as http:
        for path, given in ((ORGS, {"org_id": DEFAULT_ORG_ID}), (USERS, {"user_id": DEFAULT_USER_ID})):
            answer = http.delete(path, params=given)
            assert answer.status_code == 400
            assert "stays" in answer.json()["detail"]
        org = http.post(ORGS, json={"name": "d"}).json()["id"]
        assert http.put(USERS, json={"id": DEFAULT_USER_ID, "organization_id": org}).status_code == 400
        assert http.get("/v1/agents/count").status_code == 200


@pytest.mark.promise("admin.only")
def test_only_admins_of_everything_come_in(tenant: Tenant) -> None:
    here = {"type": "organization", "id": tenant.actor.organization_id}
    for given, status in (
        ({"role": "read_only"}, 403),
        ({"role": "user"}, 403),
        ({"role": "admin", "scope": here}, 403),
        ({"role": "admin"}, 200),
    ):
        key = tenant.http.post("/v1/keys/", json={"name": "k"} | given).json()["key"]
        with tenant.house.plain(authorization=f"Bearer {key}") as client:
            assert client.get(USERS).status_code == client.get(ORGS).status_code == status
