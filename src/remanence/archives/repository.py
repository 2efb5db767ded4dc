"""SQL for archives and passages. What is found by search is indexed in the same transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, select, update

from remanence.core.actor import Actor
from remanence.core.llm import EmbeddingConfig
from remanence.core.page import Page
from remanence.core.passage import Archive, Passage, PassageAdded
from remanence.core.revision import Author, Revision, user_author
from remanence.db.dialect import checked, insert_missing
from remanence.db.paging import fetch_page
from remanence.db.revisions import last_number, list_writes, note_writes
from remanence.db.tables import AgentRow, ArchivePassageRow, ArchiveRow, ArchivesAgentsRow, PassageTagRow
from remanence.errors import Conflict, NotFound
from remanence.kit.clock import utc_now
from remanence.kit.ids import ArchiveId, new_archive_id
from remanence.search.ports import Document, Embedding, SearchIndex

_ARCHIVE = [column for column in ArchiveRow.__table__.columns if column.name in Archive.model_fields]
_PASSAGE = [column for column in ArchivePassageRow.__table__.columns if column.name in Passage.model_fields]


@dataclass(frozen=True, slots=True)
class Holder:
    """What archival memory must know of an agent."""

    id: str
    name: str
    timezone: str
    embedding_config: EmbeddingConfig | None
    archives: tuple[Archive, ...]


# Archives


def insert_archive(connection: Connection, archive: Archive) -> Archive:
    values = archive.model_dump(exclude={"metadata", "embedding_config"})
    values |= {"metadata_": archive.metadata, "embedding_config": archive.embedding_config}
    connection.execute(insert(ArchiveRow), values)
    return archive


def get_archive(connection: Connection, actor: Actor, archive_id: str) -> Archive:
    """Raises NotFound."""
    row = connection.execute(
        select(*_ARCHIVE, ArchiveRow.metadata_).where(
            ArchiveRow.id == archive_id,
            checked(ArchiveRow.organization_id) == actor.organization_id,
            ArchiveRow.is_deleted.is_(False),
        )
    ).first()
    if row is None:
        raise NotFound(f"There is no archive {archive_id}.")
    return _archive_from(row)


def list_archives(
    connection: Connection, actor: Actor, page: Page, *, name: str | None, agent_id: str | None
) -> list[Archive]:
    mine = ArchiveRow.organization_id == actor.organization_id
    statement = select(*_ARCHIVE, ArchiveRow.metadata_).where(mine, ArchiveRow.is_deleted.is_(False))
    if name is not None:
        statement = statement.where(ArchiveRow.name == name)
    if agent_id is not None:
        held = select(ArchivesAgentsRow.archive_id).where(ArchivesAgentsRow.agent_id == agent_id)
        statement = statement.where(ArchiveRow.id.in_(held))
    rows = fetch_page(
        connection, statement, page, key=ArchiveRow.created_at, id_column=ArchiveRow.id, scope=[mine]
    )
    return [_archive_from(row) for row in rows]


def update_archive(connection: Connection, actor: Actor, archive_id: str, changes: dict[str, Any]) -> Archive:
    get_archive(connection, actor, archive_id)
    if changes:
        values = changes | {"updated_at": utc_now(), "last_updated_by_id": actor.user_id}
        connection.execute(update(ArchiveRow).where(ArchiveRow.id == archive_id).values(**values))
    return get_archive(connection, actor, archive_id)


def set_passage_models(connection: Connection, archive_id: str, config: EmbeddingConfig) -> None:
    connection.execute(
        update(ArchivePassageRow)
        .where(ArchivePassageRow.archive_id == archive_id)
        .values(embedding_config=config)
    )


def delete_archive(connection: Connection, index: SearchIndex, actor: Actor, archive_id: str) -> None:
    """With its passages. Raises NotFound."""
    get_archive(connection, actor, archive_id)
    index.forget(connection, archive_id)
    connection.execute(delete(ArchiveRow).where(ArchiveRow.id == archive_id))


def get_holder(connection: Connection, actor: Actor, agent_id: str) -> Holder:
    """The agent and its archives, its own first. Raises NotFound."""
    row = connection.execute(
        select(AgentRow.name, AgentRow.timezone, AgentRow.embedding_config).where(
            AgentRow.id == agent_id,
            checked(AgentRow.organization_id) == actor.organization_id,
            AgentRow.is_deleted.is_(False),
        )
    ).first()
    if row is None:
        raise NotFound(f"There is no agent {agent_id}.")
    archives = connection.execute(
        select(*_ARCHIVE, ArchiveRow.metadata_)
        .join(ArchivesAgentsRow, ArchivesAgentsRow.archive_id == ArchiveRow.id)
        .where(ArchivesAgentsRow.agent_id == agent_id, ArchiveRow.is_deleted.is_(False))
        .order_by(ArchivesAgentsRow.is_owner.desc(), ArchiveRow.created_at, ArchiveRow.id)
    )
    return Holder(
        agent_id,
        row.name or agent_id,
        row.timezone or "UTC",
        row.embedding_config,
        tuple(_archive_from(each) for each in archives),
    )


def attach_archive(connection: Connection, actor: Actor, agent_id: str, archive_id: str) -> None:
    """Raises NotFound."""
    get_holder(connection, actor, agent_id)
    get_archive(connection, actor, archive_id)
    link_archive(connection, agent_id, archive_id, is_owner=False)


def detach_archive(connection: Connection, actor: Actor, agent_id: str, archive_id: str) -> None:
    """Raises NotFound. The archive stays."""
    get_holder(connection, actor, agent_id)
    get_archive(connection, actor, archive_id)
    connection.execute(
        delete(ArchivesAgentsRow).where(
            ArchivesAgentsRow.agent_id == agent_id, ArchivesAgentsRow.archive_id == archive_id
        )
    )


def link_archive(connection: Connection, agent_id: str, archive_id: str, *, is_owner: bool) -> None:
    row = {"agent_id": agent_id, "archive_id": archive_id, "is_owner": is_owner}
    insert_missing(connection, ArchivesAgentsRow, [row])


def list_links(connection: Connection, agent_ids: Sequence[str]) -> Sequence[Row[str, str, bool]]:
    """Which archives these agents have, their own first: agent_id, archive_id, is_owner."""
    return connection.execute(
        select(ArchivesAgentsRow.agent_id, ArchivesAgentsRow.archive_id, ArchivesAgentsRow.is_owner)
        .join(ArchiveRow, ArchiveRow.id == ArchivesAgentsRow.archive_id)
        .where(ArchivesAgentsRow.agent_id.in_(agent_ids), ArchiveRow.is_deleted.is_(False))
        .order_by(ArchivesAgentsRow.is_owner.desc(), ArchiveRow.created_at, ArchiveRow.id)
    ).all()


# Passages


def insert_passages(
    connection: Connection,
    index: SearchIndex,
    passages: Sequence[Passage],
    embeddings: Sequence[Embedding | None],
) -> None:
    """Where there are no vectors, they are made later."""
    if not passages:
        return
    connection.execute(insert(ArchivePassageRow), [_passage_row(passage) for passage in passages])
    tags = [
        {"passage_id": passage.id, "tag": tag, "archive_id": passage.archive_id}
        for passage in passages
        for tag in passage.tags
    ]
    if tags:
        connection.execute(insert(PassageTagRow), tags)
    pairs = zip(passages, embeddings, strict=True)
    index.index(connection, [_document(passage, embedding) for passage, embedding in pairs])


def add_for_agent(
    connection: Connection,
    index: SearchIndex,
    actor: Actor,
    agent_id: str,
    added: PassageAdded,
    author: Author | None = None,
) -> Passage:
    """Stores what an agent keeps, in its archive; the first one makes it. Raises NotFound.

    What a user adds tells itself who and when; any other author is noted.
    """
    holder = get_holder(connection, actor, agent_id)
    if not holder.archives:
        # Of two that come at once, the second must find what the first has made.
        connection.execute(select(AgentRow.id).where(AgentRow.id == agent_id).with_for_update())
        holder = get_holder(connection, actor, agent_id)
    archive = holder.archives[0] if holder.archives else _make_archive(connection, actor, holder)
    passage = Passage(
        id=added.id,
        organization_id=actor.organization_id,
        archive_id=archive.id,
        text=added.text,
        tags=added.tags,
        embedding_config=archive.embedding_config,
        created_at=added.created_at,
        updated_at=utc_now(),
        created_by_id=actor.user_id,
        last_updated_by_id=actor.user_id,
    )
    embedding = None
    if added.embedding_config is not None and added.embedding_config == archive.embedding_config:
        embedding = Embedding(added.embedding_config, added.vectors) if added.vectors else None
    insert_passages(connection, index, [passage], [embedding])
    if author is not None:
        note_writes(connection, [(passage.id, 1, len(passage.text))], author, "create")
    return passage


def _make_archive(connection: Connection, actor: Actor, holder: Holder) -> Archive:
    now = utc_now()
    archive = Archive(
        id=new_archive_id(),
        organization_id=actor.organization_id,
        name=f"{holder.name}'s archive",
        description="What this agent keeps for later.",
        embedding_config=holder.embedding_config,
        created_at=now,
        updated_at=now,
        created_by_id=actor.user_id,
        last_updated_by_id=actor.user_id,
    )
    insert_archive(connection, archive)
    link_archive(connection, holder.id, archive.id, is_owner=True)
    return archive


def list_passages(
    connection: Connection, actor: Actor, archive_ids: Sequence[ArchiveId], page: Page, search: str | None
) -> list[Passage]:
    mine: list[ColumnElement[bool]] = [
        ArchivePassageRow.archive_id.in_(archive_ids),
        checked(ArchivePassageRow.organization_id) == actor.organization_id,
    ]
    statement = select(*_PASSAGE, ArchivePassageRow.metadata_).where(
        *mine, ArchivePassageRow.is_deleted.is_(False)
    )
    if search:
        found = func.lower(ArchivePassageRow.text).contains(search.lower(), autoescape=True)
        statement = statement.where(found)
    rows = fetch_page(
        connection,
        statement,
        page,
        key=ArchivePassageRow.created_at,
        id_column=ArchivePassageRow.id,
        scope=mine,
    )
    return [_passage_from(row) for row in rows]


def find_passages(connection: Connection, ids: Sequence[str]) -> dict[str, Passage]:
    rows = connection.execute(
        select(*_PASSAGE, ArchivePassageRow.metadata_).where(ArchivePassageRow.id.in_(ids))
    )
    return {row.id: _passage_from(row) for row in rows}


def delete_passage(
    connection: Connection,
    index: SearchIndex,
    actor: Actor,
    archive_ids: Sequence[ArchiveId] | None,
    passage_id: str,
    *,
    undoes: int | None = None,
) -> None:
    """Its text stays in its history, from which it can come back. Raises NotFound if it is in none of these
    archives; `None` means any of the organisation.
    """
    passage = find_passages(connection, [passage_id]).get(passage_id)
    is_here = passage is not None and (archive_ids is None or passage.archive_id in archive_ids)
    if passage is None or not is_here or passage.organization_id != actor.organization_id:
        raise NotFound(f"There is no passage {passage_id} here.")
    index.delete(connection, [passage_id])
    connection.execute(delete(ArchivePassageRow).where(ArchivePassageRow.id == passage_id))
    number = (last_number(connection, passage_id) or 1) + 1
    note_writes(
        connection,
        [(passage_id, number, 0)],
        user_author(actor),
        "delete" if undoes is None else "undo",
        restored=undoes,
        change=passage.model_dump(mode="json"),
    )


def restore_passage(connection: Connection, index: SearchIndex, actor: Actor, passage_id: str) -> Passage:
    """Brings a deleted passage back into its archive; its vectors are made anew. Raises NotFound, and
    Conflict for one that is there.
    """
    there = find_passages(connection, [passage_id]).get(passage_id)
    if there is not None and there.organization_id == actor.organization_id:
        raise Conflict(f"Passage {passage_id} is not deleted.")
    found = [each for each in list_writes(connection, passage_id) if each.change]
    passage = Passage.model_validate(found[0].change) if found and there is None else None
    if passage is None or passage.organization_id != actor.organization_id:
        raise NotFound(f"There is no passage {passage_id}, or it is kept no longer.")
    get_archive(connection, actor, passage.archive_id)
    insert_passages(connection, index, [passage], [None])
    write = (passage_id, found[0].number + 1, len(passage.text))
    note_writes(connection, [write], user_author(actor), "restore", restored=found[0].number - 1)
    return passage


def undo_passages(
    connection: Connection, index: SearchIndex, actor: Actor, writes: Sequence[Revision]
) -> list[str]:
    """Deletes what these writes put into archives, as far as it is still there."""
    made = [each for each in writes if not each.is_of_block and each.action == "create"]
    there = find_passages(connection, [each.subject_id for each in made])
    for each in made:
        if each.subject_id in there:
            delete_passage(connection, index, actor, None, each.subject_id, undoes=each.number)
    return list(there)


def list_passage_writes(connection: Connection, actor: Actor, passage_id: str) -> list[Revision]:
    """The history of a passage, newest first, a deleted one too. Raises NotFound."""
    passage = find_passages(connection, [passage_id]).get(passage_id)
    written = list_writes(connection, passage_id)
    deleted = [Passage.model_validate(each.change) for each in written if each.change]
    known = passage or (deleted[0] if deleted else None)
    if known is None or known.organization_id != actor.organization_id:
        raise NotFound(f"There is no passage {passage_id}, or it is kept no longer.")
    if not written or written[-1].number > 1:
        author = Author(kind="user", id=known.created_by_id)
        written.append(
            Revision(
                subject_id=passage_id,
                number=1,
                action="create",
                author=author,
                created_at=known.created_at,
                chars=len(known.text),
                change={},
            )
        )
    return written


def _document(passage: Passage, embedding: Embedding | None) -> Document:
    return Document(
        kind="passage",
        id=passage.id,
        owner_id=passage.archive_id,
        organization_id=passage.organization_id,
        text=passage.text,
        created_at=passage.created_at,
        tags=passage.tags,
        embedding=embedding,
    )


def _passage_row(passage: Passage) -> dict[str, Any]:
    values = passage.model_dump(exclude={"metadata", "embedding_config", "tags"})
    return values | {
        "metadata_": passage.metadata,
        "embedding_config": passage.embedding_config,
        "tags": list(passage.tags) or None,
    }


def _passage_from(row: Row[Any]) -> Passage:
    fields: dict[str, Any] = {column.name: getattr(row, column.name) for column in _PASSAGE}
    return Passage.model_validate(fields | {"tags": tuple(row.tags or ()), "metadata": row.metadata_})


def _archive_from(row: Row[Any]) -> Archive:
    fields: dict[str, Any] = {column.name: getattr(row, column.name) for column in _ARCHIVE}
    return Archive.model_validate(fields | {"metadata": row.metadata_})
