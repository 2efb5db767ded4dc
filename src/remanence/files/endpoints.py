"""Routes of folders and their files; and the same under `sources`, the name that folders had before."""

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Request, Response
from fastapi.responses import StreamingResponse

from remanence.accounts.auth import ActingUser
from remanence.core.page import Page
from remanence.db.database import Database
from remanence.edge.fields import MAX_NUMBER, StoredText
from remanence.edge.parameters import FileIdPath, FolderIdPath, page_parameters
from remanence.edge.responses import JsonBytes
from remanence.edge.routes import make_routes
from remanence.errors import BadArgument, NotFound
from remanence.files import repository
from remanence.files.following import follow
from remanence.files.receiving import FORM_DOCUMENTATION, receive
from remanence.files.schemas import (
    FolderCreate,
    FolderUpdate,
    file_body,
    folder_body,
    passage_body,
    summary_body,
)
from remanence.files.service import FileService, OnDuplicate
from remanence.search.sizes import vector_bytes

_UNITS = ("B", "KB", "MB", "GB", "TB")


def router(db: Database, service: FileService, *, max_bytes: int) -> list[APIRouter]:
    folders = _routes(db, service, "folders", max_bytes)

    @folders.get("/{folder_id}/files/{file_id}/events")
    async def follow_file(
        actor: ActingUser, folder_id: FolderIdPath, file_id: FileIdPath
    ) -> StreamingResponse:
        file, _ = await db.read(repository.read_file, actor, folder_id, file_id, with_text=False)
        return StreamingResponse(follow(db, actor, file), media_type="text/event-stream")

    return [folders, _routes(db, service, "sources", max_bytes), _size_routes(db)]


def _size_routes(db: Database) -> APIRouter:
    routes = make_routes("embeddings", under="/embeddings")

    @routes.get("/total_storage_size", deprecated=True)
    async def total_storage_size(
        actor: ActingUser, storage_unit: Annotated[str, Header()] = "GB"
    ) -> JsonBytes:
        unit = storage_unit.upper()
        if unit not in _UNITS:
            raise BadArgument(f"The header storage-unit is one of {', '.join(_UNITS)}.")
        return JsonBytes(await db.read(vector_bytes, actor.organization_id) / 1024 ** _UNITS.index(unit))

    return routes


def _routes(db: Database, service: FileService, name: str, max_bytes: int) -> APIRouter:
    routes = make_routes(name, under=f"/{name}")
    is_source = name == "sources"
    folders_page = page_parameters(limit=MAX_NUMBER if is_source else 50, order="asc")

    @routes.get("/", deprecated=is_source)
    async def list_folders(
        actor: ActingUser,
        page: Annotated[Page, Depends(folders_page)],
        name: StoredText | None = None,
    ) -> JsonBytes:
        folders = await db.read(repository.list_folders, actor, page, name=name)
        return JsonBytes([folder_body(folder, is_source=is_source) for folder in folders])

    @routes.post("/", deprecated=is_source)
    async def create_folder(actor: ActingUser, body: FolderCreate) -> JsonBytes:
        return JsonBytes(folder_body(await service.create_folder(actor, body), is_source=is_source))

    @routes.get("/count", deprecated=is_source)
    async def count_folders(actor: ActingUser) -> JsonBytes:
        return JsonBytes(await db.read(repository.count_folders, actor))

    @routes.get("/metadata", deprecated=is_source)
    async def summarise_folders(
        actor: ActingUser, include_detailed_per_source_metadata: bool = False
    ) -> JsonBytes:
        folders = await db.read(repository.summarise, actor)
        return JsonBytes(summary_body(folders, with_files=include_detailed_per_source_metadata))

    @routes.get("/name/{folder_name}", deprecated=True)
    async def find_folder_id(actor: ActingUser, folder_name: str) -> JsonBytes:
        folder = await db.read(repository.find_folder, actor, folder_name)
        if folder is None:
            raise NotFound(f"There is no folder named {folder_name!r}.")
        return JsonBytes(folder.id)

    @routes.get("/{folder_id}", deprecated=is_source)
    async def retrieve_folder(actor: ActingUser, folder_id: FolderIdPath) -> JsonBytes:
        folder = await db.read(repository.get_folder, actor, folder_id)
        return JsonBytes(folder_body(folder, is_source=is_source))

    @routes.patch("/{folder_id}", deprecated=is_source)
    async def modify_folder(actor: ActingUser, folder_id: FolderIdPath, body: FolderUpdate) -> JsonBytes:
        return JsonBytes(
            folder_body(await service.update_folder(actor, folder_id, body), is_source=is_source)
        )

    @routes.delete("/{folder_id}", deprecated=is_source)
    async def delete_folder(actor: ActingUser, folder_id: FolderIdPath) -> JsonBytes:
        await service.delete_folder(actor, folder_id)
        return JsonBytes(None)

    @routes.get("/{folder_id}/agents", deprecated=is_source)
    async def list_agents_of_folder(
        actor: ActingUser,
        folder_id: FolderIdPath,
        page: Annotated[Page, Depends(page_parameters(limit=50))],
    ) -> JsonBytes:
        return JsonBytes(await db.read(repository.list_agent_ids, actor, folder_id, page))

    @routes.get("/{folder_id}/passages", deprecated=is_source)
    async def list_passages_of_folder(
        actor: ActingUser,
        folder_id: FolderIdPath,
        page: Annotated[Page, Depends(page_parameters(limit=100))],
    ) -> JsonBytes:
        stored = await service.list_passages(actor, folder_id, page)
        return JsonBytes([passage_body(*each) for each in stored])

    @routes.get("/{folder_id}/files", deprecated=is_source)
    async def list_files(
        actor: ActingUser,
        folder_id: FolderIdPath,
        page: Annotated[Page, Depends(page_parameters(limit=1000))],
        include_content: bool = False,
    ) -> JsonBytes:
        found = await db.read(repository.read_files, actor, folder_id, page, with_text=include_content)
        return JsonBytes([file_body(file, content=text) for file, text in found])

    @routes.get("/{folder_id}/files/{file_id}", deprecated=is_source)
    async def retrieve_file(
        actor: ActingUser, folder_id: FolderIdPath, file_id: FileIdPath, include_content: bool = False
    ) -> JsonBytes:
        file, text = await db.read(repository.read_file, actor, folder_id, file_id, with_text=include_content)
        return JsonBytes(file_body(file, content=text))

    @routes.post("/{folder_id}/upload", deprecated=is_source, openapi_extra=FORM_DOCUMENTATION)
    async def upload_file(
        request: Request,
        actor: ActingUser,
        folder_id: FolderIdPath,
        duplicate_handling: OnDuplicate = "suffix",
        name: StoredText | None = None,
    ) -> JsonBytes:
        await db.read(repository.get_folder, actor, folder_id)  # before anything is taken in
        upload = await receive(request, max_bytes)
        done = await service.upload(actor, folder_id, upload, name=name, on_duplicate=duplicate_handling)
        body = file_body(done.file, name=done.file.name_in(done.folder.name))
        return JsonBytes(body, headers={"x-upload-result": "skipped"} if done.was_skipped else None)

    @routes.delete("/{folder_id}/{file_id}", status_code=204, deprecated=is_source)
    async def delete_file(actor: ActingUser, folder_id: FolderIdPath, file_id: FileIdPath) -> Response:
        await service.delete_file(actor, folder_id, file_id)
        return Response(status_code=204)

    return routes
