"""Parameters that many routes share."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import Path, Query, Request

from remanence.core.page import Order, Page
from remanence.edge.fields import MAX_NUMBER
from remanence.kit.ids import id_pattern


def id_path(prefix: str) -> Any:
    """A path parameter that must be an id of this kind; anything else is a 422."""
    return Path(pattern=id_pattern(prefix))


AgentIdPath = Annotated[str, id_path("agent")]
ArchiveIdPath = Annotated[str, id_path("archive")]
PassageIdPath = Annotated[str, id_path("passage")]
FolderIdPath = Annotated[str, id_path("source")]
FileIdPath = Annotated[str, id_path("file")]
BlockIdPath = Annotated[str, id_path("block")]
IdentityIdPath = Annotated[str, id_path("identity")]
ToolIdPath = Annotated[str, id_path("tool")]
JobIdPath = Annotated[str, id_path("job")]
RunIdPath = Annotated[str, id_path("run")]
StepIdPath = Annotated[str, id_path("step")]
MessageIdPath = Annotated[str, id_path("message")]


def page_parameters(
    *,
    limit: int,
    order: Order = "desc",
    max_limit: int = MAX_NUMBER,
    order_by: tuple[str, ...] = ("created_at",),
) -> Callable[..., Awaitable[Page]]:
    """A dependency that reads before, after, limit, order and order_by."""

    # Asynchronous although it awaits nothing: FastAPI runs other functions in a thread.
    async def read(
        before: str | None = None,
        after: str | None = None,
        limit: Annotated[int | None, Query(ge=1, le=max_limit)] = limit,
        order: Order = order,
        order_by: Annotated[str, Query(pattern=f"^({'|'.join(order_by)})$")] = order_by[0],
    ) -> Page:
        return Page(before=before, after=after, limit=limit, order=order, order_by=order_by)

    return read


def is_sdk_client(request: Request) -> bool:
    """Whether this is a published SDK of version 1 or later; other clients get the older habits."""
    headers = request.headers
    if "x-stainless-package-version" in headers:
        return True
    agent = headers.get("user-agent")
    if agent is None:
        return True
    for name in ("letta-client/", "@letta-ai/letta-client/"):
        if agent.startswith(name):
            major = agent.removeprefix(name).split(".")[0]
            return major.isdigit() and int(major) >= 1
    return False
