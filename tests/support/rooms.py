"""A room's routes served in process, with the real door and the real error bodies."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx
from fastapi import APIRouter, FastAPI

from remanence.accounts.auth import Auth
from remanence.accounts.keys.service import KeyRing
from remanence.db.database import Database
from remanence.edge.errors import install_error_handlers
from remanence.edge.requests import RequestDoor
from remanence.kit.ids import OrgId


def _open_door(db: Database) -> Auth:
    async def welcome(_organization_id: OrgId) -> None:
        """Nothing awaits a new organisation in these tests."""

    return Auth(db, KeyRing(db, b"test"), password=None, signing_key=b"test", on_organization=welcome)


@asynccontextmanager
async def serve(db: Database, *routers: APIRouter) -> AsyncGenerator[httpx.AsyncClient]:
    app = FastAPI()
    app.state.auth = _open_door(db)
    for each in routers:
        app.include_router(each)
    install_error_handlers(app)
    transport = httpx.ASGITransport(app=RequestDoor(app))
    async with httpx.AsyncClient(transport=transport, base_url="http://room") as client:
        yield client
