"""The audit log, for admins."""

from typing import Annotated

from fastapi import APIRouter, Depends

from remanence.accounts.audit import repository
from remanence.accounts.auth import CurrentGrant
from remanence.core.page import Page
from remanence.db.database import Database
from remanence.edge.fields import StoredMoment, StoredText
from remanence.edge.parameters import page_parameters
from remanence.edge.responses import JsonBytes
from remanence.edge.routes import make_routes


def router(db: Database) -> APIRouter:
    routes = make_routes("audit")

    @routes.get("/audit/", operation_id="list_audit")
    async def list_audit(
        grant: CurrentGrant,
        page: Annotated[Page, Depends(page_parameters(limit=100, max_limit=1000))],
        organization_id: StoredText | None = None,
        user_id: StoredText | None = None,
        key_id: StoredText | None = None,
        object_id: StoredText | None = None,
        start: StoredMoment | None = None,
        end: StoredMoment | None = None,
    ) -> JsonBytes:
        """Of all organisations, or of the one that the admin is confined to."""
        entries = await db.read(
            repository.list_entries,
            page,
            organization_id=grant.actor.organization_id if grant.scopes else organization_id,
            user_id=user_id,
            key_id=key_id,
            object_id=object_id,
            since=start,
            until=end,
        )
        return JsonBytes([entry._asdict() for entry in entries])

    return routes
