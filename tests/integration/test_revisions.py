"""The history of blocks in storage: every write is kept, can be read, and can be taken back."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, func, select, update
from tests.support.records import a_block, add_agent, add_stranger, read_version

from remanence.core.actor import Actor
from remanence.core.block import Block, BlockAdded, BlockDropped, LabelSet, ValueSet
from remanence.core.revision import Author, Revision, user_author
from remanence.db.database import Database
from remanence.db.tables import BlockRow, RevisionRow
from remanence.errors import AlreadyExists, BadArgument, Conflict, EditConflict, Gone, NotFound
from remanence.kit.ids import AgentId, RunId
from remanence.memory import repository
from remanence.memory.schemas import BlockUpdate

AN_AGENT = Author(kind="agent", id="agent-x", run_id=RunId("run-x"))


async def make(db: Database, actor: Actor, value: str = "one", label: str = "notes") -> Block:
    return (await db.write(repository.insert_blocks, [a_block(actor, label, value)]))[0]


async def change(db: Database, actor: Actor, block: Block, **fields: Any) -> Block:
    return await db.write(repository.update_block, actor, block.id, BlockUpdate(**fields))


async def history(db: Database, actor: Actor, block: Block) -> list[Revision]:
    def read(connection: Connection) -> list[Revision]:
        return repository.list_revisions(
            connection, repository.find_any_block(connection, actor, block.id)[0]
        )

    return await db.read(read)


async def past(db: Database, actor: Actor, block: Block, number: int) -> Block:
    def read(connection: Connection) -> Block:
        found, is_deleted = repository.find_any_block(connection, actor, block.id)
        return repository.past_block(connection, found, is_deleted, number).block

    return await db.read(read)


async def restore(db: Database, actor: Actor, block: Block, number: int) -> Block:
    return await db.write(repository.restore_block, actor, block.id, number, user_author(actor))


async def undo(db: Database, actor: Actor, block: Block, number: int | None = None) -> Block:
    author = user_author(actor)
    if number is None:
        return await db.write(repository.undo_last, actor, block.id, author)
    return await db.write(repository.undo_revision, actor, block.id, number, author)


async def hold(db: Database, actor: Actor, *blocks: Block) -> AgentId:
    agent_id = await db.write(add_agent, actor)
    for block in blocks:
        await db.write(repository.attach_block, actor, agent_id, block.id)
    return agent_id


async def test_every_write_is_a_revision_that_can_be_read_again(db: Database, actor: Actor) -> None:
    block = await make(db, actor)
    states = [block]
    for fields in (
        {"value": "one\ntwo"},
        {"value": "One\ntwo", "limit": 400},
        {"label": "journal", "description": "what to keep"},
        {"tags": ["a", "b"], "metadata": {"m": 1}, "read_only": True, "hidden": True},
        {"value": "", "tags": ["b"]},
    ):
        states.append(await change(db, actor, block, **fields))
    found = await history(db, actor, block)
    assert [(each.number, each.action, each.chars, each.chars_added) for each in found] == [
        (6, "edit", 0, -7),
        (5, "edit", 7, 0),
        (4, "edit", 7, 0),
        (3, "edit", 7, 0),
        (2, "edit", 7, 4),
        (1, "create", 3, 0),
    ]
    assert found[3].fields == ["value", "limit"]
    assert {each.author.id for each in found} == {actor.user_id}
    for number, state in enumerate(states, start=1):
        was = await past(db, actor, block, number)
        assert was.model_copy(update={"revision": number}) == state


async def test_what_changes_nothing_is_no_revision(db: Database, actor: Actor) -> None:
    block = await make(db, actor)
    assert await change(db, actor, block, value="one") == block
    assert [each.number for each in await history(db, actor, block)] == [1]


async def test_sixty_writes_can_each_be_read(db: Database, actor: Actor) -> None:
    block = await make(db, actor, "")
    texts = [""]
    for number in range(60):
        texts.append(texts[-1] + f"\nfact {number}" if number % 7 else f"fact {number}")
        await change(db, actor, block, value=texts[-1])
    for number, text in enumerate(texts, start=1):
        if number % 10 == 1:
            assert (await past(db, actor, block, number)).value == text


async def test_a_block_goes_back_and_that_is_a_revision_too(db: Database, actor: Actor) -> None:
    block = await make(db, actor)
    agent_id = await hold(db, actor, block)
    await change(db, actor, block, value="two", description="d")
    await change(db, actor, block, value="three")
    version = await db.read(read_version, agent_id)
    back = await restore(db, actor, block, 1)
    assert (back.value, back.description, back.revision) == ("one", None, 4)
    assert await db.read(repository.get_block, actor, block.id) == back
    assert await db.read(read_version, agent_id) == version + 1
    newest = (await history(db, actor, block))[0]
    assert (newest.action, newest.restored) == ("restore", 1)


async def test_undoing_again_goes_further_back(db: Database, actor: Actor) -> None:
    block = await make(db, actor)
    for value in ("two", "three"):
        await change(db, actor, block, value=value)
    assert (await undo(db, actor, block)).value == "two"
    assert (await undo(db, actor, block)).value == "one"
    with pytest.raises(Conflict, match="nothing to undo"):
        await undo(db, actor, block)
    await change(db, actor, block, value="new")
    assert (await undo(db, actor, block)).value == "one"


async def test_one_write_is_taken_back_and_those_after_it_stay(db: Database, actor: Actor) -> None:
    block = await make(db, actor, "a\nb\nc")
    await change(db, actor, block, value="a\npoison\nb\nc")
    await change(db, actor, block, value="a\npoison\nb\nc!")
    assert (await undo(db, actor, block, 2)).value == "a\nb\nc!"
    await change(db, actor, block, value="a\nB\nc!")
    await change(db, actor, block, value="a\nBB\nc!")
    with pytest.raises(EditConflict) as caught:
        await undo(db, actor, block, 5)
    assert caught.value.revision == 6
    assert (await db.read(repository.get_block, actor, block.id)).value == "a\nBB\nc!"


async def test_who_says_what_they_read_keeps_what_others_wrote(db: Database, actor: Actor) -> None:
    block = await make(db, actor, "a\nb\nc")
    await change(db, actor, block, value="a\nb\nc\nd", base_revision=1)
    merged = await change(db, actor, block, value="A\nb\nc", base_revision=1)
    assert (merged.value, merged.revision) == ("A\nb\nc\nd", 3)
    with pytest.raises(EditConflict, match="revision 3") as caught:
        await change(db, actor, block, value="a2\nb\nc", base_revision=1)
    assert caught.value.revision == 3
    await change(db, actor, block, description="mine")
    with pytest.raises(EditConflict):
        await change(db, actor, block, description="theirs", base_revision=3)
    assert await db.read(repository.get_block, actor, block.id) == merged.model_copy(
        update={"description": "mine", "revision": 4}
    )
    with pytest.raises(NotFound):
        await change(db, actor, block, value="x", base_revision=9)


async def test_what_agents_do_is_kept_with_its_run_and_tool(db: Database, actor: Actor) -> None:
    block, dropped = await make(db, actor), await make(db, actor, label="old")
    agent_id = await hold(db, actor, block, dropped)
    made = a_block(actor, "todo", "x")
    edits = [
        ValueSet(block_id=block.id, value="two", tool="memory_insert"),
        LabelSet(block_id=block.id, label="journal", tool="memory"),
        BlockAdded(block=made, tool="memory"),
        ValueSet(block_id=made.id, value="xy", tool="memory_insert"),
        BlockDropped(block_id=dropped.id, tool="memory"),
    ]
    await db.write(repository.apply_edits, actor, agent_id, edits, AN_AGENT)
    first = await history(db, actor, block)
    assert [(each.author.kind, each.author.tool, each.author.run_id) for each in first] == [
        ("agent", "memory", "run-x"),
        ("agent", "memory_insert", "run-x"),
        ("user", None, None),
    ]
    assert [(e.number, e.action, e.author.kind) for e in await history(db, actor, made)] == [
        (2, "edit", "agent"),
        (1, "create", "agent"),
    ]
    assert [each.action for each in await history(db, actor, dropped)] == ["drop", "create"]

    await undo(db, actor, dropped)
    await undo(db, actor, made, 1)
    labels = [each.label for each in await db.read(repository.list_agent_blocks, actor, agent_id)]
    assert labels == ["journal", "old"]


async def test_a_deleted_block_comes_back_to_those_who_held_it(db: Database, actor: Actor) -> None:
    block = await make(db, actor)
    agents = [await hold(db, actor, block) for _ in range(2)]
    await db.write(repository.delete_block, actor, block.id)
    assert [each.action for each in await history(db, actor, block)] == ["delete", "create"]
    with pytest.raises(BadArgument, match="was deleted"):
        await restore(db, actor, block, 2)
    namesake = await make(db, actor)
    await db.write(repository.attach_block, actor, agents[0], namesake.id)
    with pytest.raises(AlreadyExists):
        await undo(db, actor, block)
    await db.write(repository.detach_block, actor, agents[0], namesake.id)
    back = await undo(db, actor, block)
    assert back.value == "one"
    assert await db.read(repository.holders_of, actor, block.id) == agents


async def test_history_is_confined_to_its_organisation(db: Database, actor: Actor) -> None:
    block = await make(db, actor)
    await change(db, actor, block, value="two")
    stranger = await db.write(add_stranger)
    for attempt in (
        lambda: history(db, stranger, block),
        lambda: restore(db, stranger, block, 1),
        lambda: undo(db, stranger, block),
        lambda: undo(db, stranger, block, 2),
    ):
        with pytest.raises(NotFound):
            await attempt()


def count_revisions(connection: Connection, block_id: str) -> int:
    mine = select(func.count()).where(RevisionRow.subject_id == block_id)
    return connection.execute(mine).scalar_one()


async def test_old_revisions_are_pruned_by_count_and_by_age(db: Database, actor: Actor) -> None:
    block = await make(db, actor)
    for number in range(2, 12):
        await change(db, actor, block, value=f"value {number}")
    await db.write(repository.prune_revisions, count=4, days=None)
    assert [each.number for each in await history(db, actor, block)] == [11, 10, 9, 8]
    assert (await past(db, actor, block, 7)).value == "value 7"
    with pytest.raises(Gone):
        await restore(db, actor, block, 6)

    def age(connection: Connection) -> None:
        older = update(RevisionRow).where(RevisionRow.subject_id == block.id, RevisionRow.number < 11)
        connection.execute(older.values(created_at=RevisionRow.created_at))
        for row in connection.execute(select(RevisionRow.number, RevisionRow.created_at)).all():
            moment = row.created_at - timedelta(days=40 if row.number < 11 else 1)
            one = update(RevisionRow).where(RevisionRow.number == row.number)
            connection.execute(one.values(created_at=moment))

    await db.write(age)
    await db.write(repository.prune_revisions, count=4, days=30)
    assert [each.number for each in await history(db, actor, block)] == [11]
    await db.write(repository.purge_block, actor, block.id)
    assert await db.read(count_revisions, block.id) == 0


async def test_a_block_written_past_its_history_is_readable_from_its_next_whole_value(
    db: Database, actor: Actor
) -> None:
    block = await make(db, actor, "x" * 300)
    for number in range(2, 54):
        await change(db, actor, block, value="x" * 300 + f"\n{number}")

    def tamper(connection: Connection) -> None:
        connection.execute(update(BlockRow).where(BlockRow.id == block.id).values(value="short"))

    await db.write(tamper)
    with pytest.raises(Gone, match="cannot be read"):
        await past(db, actor, block, 51)
    assert (await past(db, actor, block, 48)).value.endswith("\n48")
