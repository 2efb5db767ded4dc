"""Who holds which blocks, and that every holder learns of a change."""

import asyncio

import pytest
from sqlalchemy import Connection, delete, func, select
from tests.support.records import a_block, add_agent, delete_agent_softly, read_version

from remanence.core.actor import Actor
from remanence.core.block import Block, BlockAdded, BlockDropped, DescriptionSet, LabelSet, ValueSet
from remanence.core.page import Page
from remanence.core.revision import Author
from remanence.db.database import Database
from remanence.db.tables import AgentRow, BlocksAgentsRow
from remanence.errors import AlreadyExists, NotFound
from remanence.kit.ids import AgentId, new_agent_id, new_block_id
from remanence.memory import repository
from remanence.memory.schemas import BlockUpdate

AN_AGENT = Author(kind="agent", id="agent-x")


async def make(db: Database, actor: Actor, *labels: str) -> list[Block]:
    return await db.write(repository.insert_blocks, [a_block(actor, label, f"{label}?") for label in labels])


async def hold(db: Database, actor: Actor, *blocks: Block) -> AgentId:
    """A new agent with these blocks."""
    agent_id = await db.write(add_agent, actor)
    for block in blocks:
        await db.write(repository.attach_block, actor, agent_id, block.id)
    return agent_id


async def labels_of(db: Database, actor: Actor, agent_id: AgentId) -> list[str]:
    return [block.label for block in await db.read(repository.list_agent_blocks, actor, agent_id)]


def count_links(connection: Connection) -> int:
    return connection.execute(select(func.count()).select_from(BlocksAgentsRow)).scalar_one()


async def test_an_agents_blocks_are_listed_oldest_first_whatever_the_order_of_attaching(
    db: Database, actor: Actor
) -> None:
    old, middle, new = await make(db, actor, "zebra", "human", "apple")
    agent_id = await hold(db, actor, new, old, middle)
    assert await db.read(repository.list_agent_blocks, actor, agent_id) == (old, middle, new)


async def test_the_blocks_of_many_agents_are_read_at_once(db: Database, actor: Actor) -> None:
    shared, own, other = await make(db, actor, "shared", "own", "other")
    first = await hold(db, actor, shared, own)
    second = await hold(db, actor, other, shared)
    bare = await hold(db, actor)
    found = await db.read(repository.list_blocks_of_agents, actor, [first, second, bare])
    assert found == {first: (shared, own), second: (shared, other), bare: ()}
    assert await db.read(repository.list_blocks_of_agents, actor, []) == {}


async def test_an_agents_blocks_come_in_pages(db: Database, actor: Actor) -> None:
    blocks = await make(db, actor, "a", "b", "c", "d")
    agent_id = await hold(db, actor, *blocks)
    newest = await db.read(repository.page_agent_blocks, actor, agent_id, Page(limit=2))
    assert [block.label for block in newest] == ["d", "c"]
    rest = await db.read(repository.page_agent_blocks, actor, agent_id, Page(limit=2, after=newest[-1].id))
    assert [block.label for block in rest] == ["b", "a"]
    with pytest.raises(NotFound):
        await db.read(repository.page_agent_blocks, actor, agent_id, Page(after=new_block_id()))


async def test_a_block_is_found_by_its_label_on_its_agent(db: Database, actor: Actor) -> None:
    [mine] = await make(db, actor, "work/plan")
    [theirs] = await make(db, actor, "work/plan")
    agent_id = await hold(db, actor, mine)
    await hold(db, actor, theirs)
    assert await db.read(repository.find_block_by_label, actor, agent_id, "work/plan") == mine
    assert await db.read(repository.find_block_by_label, actor, agent_id, "work") is None


async def test_attaching_twice_is_attaching_once(db: Database, actor: Actor) -> None:
    [block] = await make(db, actor, "human")
    agent_id = await hold(db, actor, block, block)
    assert await db.read(count_links) == 1
    assert await db.read(repository.holders_of, actor, block.id) == [agent_id]


async def test_holders_are_the_live_agents(db: Database, actor: Actor) -> None:
    [block] = await make(db, actor, "human")
    first = await hold(db, actor, block)
    gone = await hold(db, actor, block)
    await hold(db, actor)
    await db.write(delete_agent_softly, gone)
    assert await db.read(repository.holders_of, actor, block.id) == [first]


async def test_an_agent_cannot_hold_two_blocks_of_one_label(db: Database, actor: Actor) -> None:
    mine, second = await make(db, actor, "human", "human")
    agent_id = await hold(db, actor, mine)
    with pytest.raises(AlreadyExists, match=r"'human'.*Detach"):
        await db.write(repository.attach_block, actor, agent_id, second.id)
    assert await db.read(repository.list_agent_blocks, actor, agent_id) == (mine,)


async def test_of_two_namesakes_attached_at_once_one_stays_out(db: Database, actor: Actor) -> None:
    blocks = await make(db, actor, *["human"] * 6)
    agent_id = await hold(db, actor)
    outcomes = await asyncio.gather(
        *(db.write(repository.attach_block, actor, agent_id, block.id) for block in blocks),
        return_exceptions=True,
    )
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["AlreadyExists"] * 5 + ["NoneType"]
    assert await labels_of(db, actor, agent_id) == ["human"]


async def test_detaching_leaves_the_block_and_its_other_holders(db: Database, actor: Actor) -> None:
    [block] = await make(db, actor, "human")
    first, second = await hold(db, actor, block), await hold(db, actor, block)
    await db.write(repository.detach_block, actor, first, block.id)
    await db.write(repository.detach_block, actor, first, block.id)
    assert await db.read(repository.holders_of, actor, block.id) == [second]
    assert await db.read(repository.get_block, actor, block.id) == block


async def test_what_is_not_there_cannot_be_attached_or_detached(db: Database, actor: Actor) -> None:
    [block] = await make(db, actor, "human")
    agent_id, gone = await hold(db, actor), await hold(db, actor)
    await db.write(delete_agent_softly, gone)
    for change in (repository.attach_block, repository.detach_block):
        with pytest.raises(NotFound, match="block"):
            await db.write(change, actor, agent_id, new_block_id())
        for missing in (new_agent_id(), gone):
            with pytest.raises(NotFound, match="agent"):
                await db.write(change, actor, missing, block.id)


async def test_the_blocks_of_an_agent_are_replaced_as_a_whole_or_not_at_all(
    db: Database, actor: Actor
) -> None:
    one, two, three, twin = await make(db, actor, "one", "two", "three", "three")
    agent_id = await hold(db, actor, one, two)
    await db.write(repository.replace_agent_blocks, actor, agent_id, [three.id, two.id, two.id])
    assert await labels_of(db, actor, agent_id) == ["two", "three"]
    with pytest.raises(AlreadyExists):
        await db.write(repository.replace_agent_blocks, actor, agent_id, [three.id, twin.id])
    with pytest.raises(NotFound):
        await db.write(repository.replace_agent_blocks, actor, agent_id, [one.id, new_block_id()])
    assert await labels_of(db, actor, agent_id) == ["two", "three"]
    await db.write(repository.replace_agent_blocks, actor, agent_id, [])
    assert await labels_of(db, actor, agent_id) == []


async def test_a_new_label_reaches_every_holder(db: Database, actor: Actor) -> None:
    block, _ = await make(db, actor, "human", "persona")
    first, second = await hold(db, actor, block), await hold(db, actor, block)
    await db.write(repository.update_block, actor, block.id, BlockUpdate(label="customer"))
    for agent_id in (first, second):
        found = await db.read(repository.find_block_by_label, actor, agent_id, "customer")
        assert found is not None
        assert found.id == block.id
        assert await db.read(repository.find_block_by_label, actor, agent_id, "human") is None


async def test_a_new_label_that_a_holder_has_already_changes_nothing(db: Database, actor: Actor) -> None:
    block, persona = await make(db, actor, "human", "persona")
    alone, both = await hold(db, actor, block), await hold(db, actor, block, persona)
    with pytest.raises(AlreadyExists, match="'persona'"):
        await db.write(repository.update_block, actor, block.id, BlockUpdate(label="persona", value="x"))
    assert await labels_of(db, actor, alone) == ["human"]
    assert await labels_of(db, actor, both) == ["human", "persona"]
    assert await db.read(repository.get_block, actor, block.id) == block


async def test_a_purged_agent_lets_go_of_its_blocks(db: Database, actor: Actor) -> None:
    [block] = await make(db, actor, "human")
    agent_id = await hold(db, actor, block)
    await db.write(lambda connection: connection.execute(delete(AgentRow).where(AgentRow.id == agent_id)))
    assert await db.read(count_links) == 0
    assert await db.read(repository.get_block, actor, block.id) == block


@pytest.mark.parametrize(
    "change",
    [
        BlockUpdate(value="x"),
        BlockUpdate(label="x"),
        BlockUpdate(description="x"),
        BlockUpdate(read_only=True),
        BlockUpdate(limit=999),
        BlockUpdate(tags=["x"]),
    ],
)
async def test_a_change_raises_the_version_of_each_holder_and_of_nobody_else(
    db: Database, actor: Actor, change: BlockUpdate
) -> None:
    block, other = await make(db, actor, "human", "persona")
    holders = [await hold(db, actor, block), await hold(db, actor, block, other)]
    stranger = await hold(db, actor, other)
    before = [await db.read(read_version, each) for each in (*holders, stranger)]
    await db.write(repository.update_block, actor, block.id, change)
    after = [await db.read(read_version, each) for each in (*holders, stranger)]
    assert [new - old for new, old in zip(after, before, strict=True)] == [1, 1, 0]


async def test_a_change_that_changes_nothing_wakes_nobody(db: Database, actor: Actor) -> None:
    [block] = await make(db, actor, "human")
    agent_id = await hold(db, actor, block)
    before = await db.read(read_version, agent_id)
    same = BlockUpdate(value=block.value, limit=block.limit, read_only=False)
    await db.write(repository.update_block, actor, block.id, same)
    assert await db.read(read_version, agent_id) == before


async def test_attaching_and_detaching_raise_the_agents_version(db: Database, actor: Actor) -> None:
    [block] = await make(db, actor, "human")
    agent_id = await hold(db, actor)
    for change in (repository.attach_block, repository.detach_block):
        before = await db.read(read_version, agent_id)
        await db.write(change, actor, agent_id, block.id)
        assert await db.read(read_version, agent_id) > before


async def test_an_agents_edits_are_saved_in_order_and_seen_by_all_holders(db: Database, actor: Actor) -> None:
    human, notes, old = await make(db, actor, "human", "notes", "old")
    agent_id = await hold(db, actor, human, notes, old)
    other = await hold(db, actor, notes)
    versions = [await db.read(read_version, each) for each in (agent_id, other)]
    new = a_block(actor, "todo", "water the beds")
    edits = [
        ValueSet(block_id=human.id, value="Una"),
        ValueSet(block_id=human.id, value="Una, likes tea"),
        DescriptionSet(block_id=notes.id, description="what to keep"),
        LabelSet(block_id=notes.id, label="journal"),
        BlockDropped(block_id=old.id),
        BlockAdded(block=new),
        ValueSet(block_id=new.id, value="watered"),
    ]
    version = await db.write(repository.apply_edits, actor, agent_id, edits, AN_AGENT)
    found = await db.read(repository.list_agent_blocks, actor, agent_id)
    assert [(block.label, block.value) for block in found] == [
        ("human", "Una, likes tea"),
        ("journal", "notes?"),
        ("todo", "watered"),
    ]
    assert await labels_of(db, actor, other) == ["journal"]
    assert (await db.read(repository.get_block, actor, old.id)).label == "old"
    assert version == await db.read(read_version, agent_id) == versions[0] + 1
    assert await db.read(read_version, other) == versions[1] + 1


async def test_no_edits_change_no_version(db: Database, actor: Actor) -> None:
    agent_id = await hold(db, actor)
    before = await db.read(read_version, agent_id)
    assert await db.write(repository.apply_edits, actor, agent_id, [], AN_AGENT) is None
    assert await db.read(read_version, agent_id) == before


async def test_an_edit_does_not_bring_a_deleted_block_back(db: Database, actor: Actor) -> None:
    [block] = await make(db, actor, "human")
    agent_id = await hold(db, actor, block)
    await db.write(repository.delete_block, actor, block.id)
    late = [ValueSet(block_id=block.id, value="late")]
    await db.write(repository.apply_edits, actor, agent_id, late, AN_AGENT)
    assert await labels_of(db, actor, agent_id) == []


@pytest.mark.parametrize("is_rename", [True, False])
async def test_edits_that_meet_a_namesake_are_refused_together(
    db: Database, actor: Actor, is_rename: bool
) -> None:
    human, persona = await make(db, actor, "human", "persona")
    agent_id = await hold(db, actor, human, persona)
    clash = (
        LabelSet(block_id=human.id, label="persona")
        if is_rename
        else BlockAdded(block=a_block(actor, "persona"))
    )
    edits = [ValueSet(block_id=human.id, value="x"), clash]
    with pytest.raises(repository.EditRefused) as caught:
        await db.write(repository.apply_edits, actor, agent_id, edits, AN_AGENT)
    assert caught.value.edit == clash
    assert await db.read(repository.list_agent_blocks, actor, agent_id) == (human, persona)


async def test_an_agent_cannot_make_a_block_that_breaks_the_rules(db: Database, actor: Actor) -> None:
    agent_id = await hold(db, actor)
    for block in (a_block(actor, ""), a_block(actor, "tiny", "xx", limit=1)):
        with pytest.raises(repository.EditRefused):
            await db.write(repository.apply_edits, actor, agent_id, [BlockAdded(block=block)], AN_AGENT)
