"""Lists of routes. Each room makes its own with the whole path in it, so that the app can join them flat:
routers inside routers are searched again at every level, at every request."""

from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Depends, Request

Guard = Callable[[Request], Awaitable[object]]
"""Raises if the request may not come in."""


def make_routes(tag: str | None = None, *, under: str = "", guard: Guard | None = None) -> APIRouter:
    """A list for one room, to be filled. `under` is what its paths have in common after `/v1`."""
    return APIRouter(
        prefix=f"/v1{under}",
        tags=[tag] if tag else None,
        dependencies=[Depends(guard)] if guard else None,
    )
