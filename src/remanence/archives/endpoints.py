"""Routes of archives, of passages, and of the archival memory of an agent."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response

from remanence.accounts.auth import ActingUser
from remanence.archives import repository
from remanence.archives.schemas import (
    AgentRef,
    ArchivalInsert,
    ArchiveCreate,
    ArchiveUpdate,
    PassageBatch,
    PassageCreate,
    PassageSearch,
    TagMode,
    archive_body,
    hit_body,
    passage_body,
)
from remanence.archives.service import ArchiveService, Wanted
from remanence.core.moments import parse_moment
from remanence.core.page import Page
from remanence.db.database import Database
from remanence.edge.fields import MAX_NUMBER, StoredText
from remanence.edge.parameters import AgentIdPath, ArchiveIdPath, PassageIdPath, page_parameters
from remanence.edge.responses import JsonBytes, message_body
from remanence.edge.routes import make_routes
from remanence.errors import Invalid
from remanence.kit.clock import zone_of
from remanence.kit.ids import ArchiveId

_TOP_K = 5
_MAX_TOP_K = 1000


def router(db: Database, service: ArchiveService) -> APIRouter:
    routes = make_routes()

    # Archives

    @routes.get("/archives/", tags=["archives"])
    async def list_archives(
        actor: ActingUser,
        page: Annotated[Page, Depends(page_parameters(limit=50))],
        name: StoredText | None = None,
        agent_id: AgentRef | None = None,
    ) -> JsonBytes:
        archives = await db.read(repository.list_archives, actor, page, name=name, agent_id=agent_id)
        return JsonBytes([archive_body(archive) for archive in archives])

    @routes.post("/archives/", tags=["archives"])
    async def create_archive(actor: ActingUser, body: ArchiveCreate) -> JsonBytes:
        return JsonBytes(archive_body(await service.create(actor, body)))

    @routes.get("/archives/{archive_id}", tags=["archives"])
    async def retrieve_archive(actor: ActingUser, archive_id: ArchiveIdPath) -> JsonBytes:
        return JsonBytes(archive_body(await db.read(repository.get_archive, actor, archive_id)))

    @routes.patch("/archives/{archive_id}", tags=["archives"])
    async def modify_archive(actor: ActingUser, archive_id: ArchiveIdPath, body: ArchiveUpdate) -> JsonBytes:
        return JsonBytes(archive_body(await service.update(actor, archive_id, body)))

    @routes.delete("/archives/{archive_id}", status_code=204, tags=["archives"])
    async def delete_archive(actor: ActingUser, archive_id: ArchiveIdPath) -> Response:
        await service.delete(actor, archive_id)
        return Response(status_code=204)

    @routes.post("/archives/{archive_id}/passages", tags=["archives"])
    async def create_passage(actor: ActingUser, archive_id: ArchiveIdPath, body: PassageCreate) -> JsonBytes:
        return JsonBytes(passage_body(*(await service.insert(actor, archive_id, [body]))[0]))

    @routes.post("/archives/{archive_id}/passages/batch", tags=["archives"])
    async def create_passages(actor: ActingUser, archive_id: ArchiveIdPath, body: PassageBatch) -> JsonBytes:
        stored = await service.insert(actor, archive_id, body.passages)
        return JsonBytes([passage_body(*each) for each in stored])

    @routes.delete("/archives/{archive_id}/passages/{passage_id}", status_code=204, tags=["archives"])
    async def delete_passage(
        actor: ActingUser, archive_id: ArchiveIdPath, passage_id: PassageIdPath
    ) -> Response:
        await service.delete_passage(actor, archive_id, passage_id)
        return Response(status_code=204)

    @routes.post("/passages/search", tags=["passages"])
    async def search_passages(actor: ActingUser, body: PassageSearch) -> JsonBytes:
        wanted = Wanted(
            text=body.query or "",
            tags=body.tags or (),
            needs_all_tags=body.tag_match_mode == "all",
            start=body.start_date,
            end=body.end_date,
            limit=body.limit,
        )
        if body.agent_id is not None:
            hits = await service.find_for_agent(actor, body.agent_id, wanted)
        else:
            if body.archive_id is not None:
                await db.read(repository.get_archive, actor, body.archive_id)
            named = [ArchiveId(body.archive_id)] if body.archive_id is not None else None
            hits = await service.find(actor, named, wanted)
        stored = await service.load([hit.id for hit in hits])
        return JsonBytes(
            [
                {
                    "passage": passage_body(*stored[hit.id]),
                    "score": hit.score,
                    "metadata": {"lexical_rank": hit.lexical_rank, "vector_rank": hit.vector_rank},
                }
                for hit in hits
                if hit.id in stored
            ]
        )

    # The archival memory of an agent

    @routes.get("/agents/{agent_id}/archival-memory", tags=["agents"])
    async def list_archival_memory(
        actor: ActingUser,
        agent_id: AgentIdPath,
        after: str | None = None,
        before: str | None = None,
        limit: Annotated[int | None, Query(ge=1, le=MAX_NUMBER)] = 100,
        search: StoredText | None = None,
        ascending: bool | None = True,
    ) -> JsonBytes:
        order = "desc" if ascending is False else "asc"
        page = Page(after=after, before=before, limit=limit, order=order)
        stored = await service.list_for_agent(actor, agent_id, page, search)
        return JsonBytes([passage_body(*each) for each in stored])

    @routes.post("/agents/{agent_id}/archival-memory", tags=["agents"])
    async def insert_archival_memory(
        actor: ActingUser, agent_id: AgentIdPath, body: ArchivalInsert
    ) -> JsonBytes:
        return JsonBytes([passage_body(*await service.insert_for_agent(actor, agent_id, body.as_passage()))])

    @routes.get("/agents/{agent_id}/archival-memory/search", tags=["agents"])
    async def search_archival_memory(
        actor: ActingUser,
        agent_id: AgentIdPath,
        query: StoredText,
        tags: Annotated[list[str] | None, Query()] = None,
        tag_match_mode: TagMode = "any",
        top_k: Annotated[int | None, Query(ge=1, le=_MAX_TOP_K)] = None,
        start_datetime: str | None = None,
        end_datetime: str | None = None,
    ) -> JsonBytes:
        holder = await db.read(repository.get_holder, actor, agent_id)
        wanted = Wanted(
            text=query,
            tags=tags or (),
            needs_all_tags=tag_match_mode == "all",
            start=_moment(start_datetime, holder.timezone, is_end=False),
            end=_moment(end_datetime, holder.timezone, is_end=True),
            limit=top_k or _TOP_K,
        )
        hits = await service.find_for_agent(actor, agent_id, wanted, holder) if query.strip() else []
        zone = zone_of(holder.timezone)
        results: list[dict[str, Any]] = [
            hit_body(hit, hit.document.created_at.astimezone(zone)) for hit in hits
        ]
        return JsonBytes({"results": results, "count": len(results)})

    @routes.delete("/agents/{agent_id}/archival-memory/{memory_id}", tags=["agents"])
    async def delete_archival_memory(actor: ActingUser, agent_id: AgentIdPath, memory_id: str) -> JsonBytes:
        await service.delete_for_agent(actor, agent_id, memory_id)
        return message_body(f"{memory_id} is deleted.")

    @routes.patch("/agents/{agent_id}/archives/attach/{archive_id}", tags=["agents"])
    async def attach_archive(
        actor: ActingUser, agent_id: AgentIdPath, archive_id: ArchiveIdPath
    ) -> JsonBytes:
        await db.write(repository.attach_archive, actor, agent_id, archive_id)
        return JsonBytes(None)

    @routes.patch("/agents/{agent_id}/archives/detach/{archive_id}", tags=["agents"])
    async def detach_archive(
        actor: ActingUser, agent_id: AgentIdPath, archive_id: ArchiveIdPath
    ) -> JsonBytes:
        await db.write(repository.detach_archive, actor, agent_id, archive_id)
        return JsonBytes(None)

    return routes


def _moment(text: str | None, timezone: str, *, is_end: bool) -> Any:
    if not text:
        return None
    try:
        return parse_moment(text, timezone, is_end=is_end)
    except ValueError:
        raise Invalid(f"{text!r} is not a moment; write 2026-03-14 or 2026-03-14T09:00.") from None
