"""Blocks in storage: made, found, changed, deleted."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from sqlalchemy import Connection, func, select
from tests.support.records import (
    a_block,
    add_agent,
    add_identity,
    add_stranger,
    delete_agent_softly,
    read_version,
)

from remanence.core.actor import Actor
from remanence.core.block import Block
from remanence.core.page import Page
from remanence.db.database import Database
from remanence.db.tables import BlockRow, BlocksAgentsRow, BlockTagRow
from remanence.errors import Invalid, NotFound
from remanence.kit.ids import new_block_id
from remanence.memory import repository
from remanence.memory.schemas import BlockFilter, BlockUpdate

OLDEST_FIRST = Page(order="asc")

Find = Callable[..., Awaitable[list[str]]]


@pytest.fixture
def find(db: Database, actor: Actor) -> Find:
    """The labels of the blocks that match, oldest first; and that the count agrees."""

    async def labels(**conditions: Any) -> list[str]:
        where = BlockFilter(**conditions)
        found = await db.read(repository.list_blocks, actor, where, OLDEST_FIRST)
        assert await db.read(repository.count_blocks, actor, where) == len(found)
        return [block.label for block in found]

    return labels


def rows_of(connection: Connection, table: type[Any]) -> int:
    return connection.execute(select(func.count()).select_from(table)).scalar_one()


async def add(db: Database, *blocks: Block) -> list[Block]:
    return await db.write(repository.insert_blocks, blocks)


async def test_a_block_comes_back_as_it_was_stored(db: Database, actor: Actor) -> None:
    [stored] = await add(
        db,
        a_block(
            actor,
            "work/plan",
            "Dig first. Ünïcödé 🌱\nThen sow.",
            limit=300,
            description="what we work on",
            read_only=True,
            metadata={"m": 1, "deep": {"list": [1, None, "x"]}},
            tags=["b", "a", "b", "with: colon"],
            hidden=True,
            is_template=True,
            template_name="plans",
            template_id="t",
            base_template_id="bt",
            deployment_id="d",
            entity_id="e",
            project_id="p",
            preserve_on_migration=True,
        ),
    )
    assert stored.tags == ("b", "a", "with: colon")
    assert await db.read(repository.get_block, actor, stored.id) == stored


async def test_blocks_made_together_are_listed_in_the_order_they_were_given(
    db: Database, actor: Actor, find: Find
) -> None:
    moment = a_block(actor, "x").created_at
    labels = [f"label {n}" for n in range(30)]
    await add(db, *(a_block(actor, label).model_copy(update={"created_at": moment}) for label in labels))
    assert await find() == labels


async def test_several_blocks_are_read_in_the_order_asked_for(db: Database, actor: Actor) -> None:
    one, two = await add(db, a_block(actor, "one"), a_block(actor, "two"))
    assert await db.read(repository.get_blocks, actor, [two.id, one.id, two.id]) == [two, one]
    assert await db.read(repository.get_blocks, actor, []) == []
    with pytest.raises(NotFound):
        await db.read(repository.get_blocks, actor, [one.id, new_block_id()])


async def test_each_plain_filter_finds_its_blocks(db: Database, actor: Actor, find: Find) -> None:
    await add(
        db,
        a_block(actor, "human", "Likes 100% tea", description="About the person", project_id="p1"),
        a_block(actor, "persona", "Calm_and kind", is_template=True, template_name="calm one"),
        a_block(actor, "Humans/more", "100 cups"),
    )
    assert await find() == ["human", "persona", "Humans/more"]
    assert await find(label="human") == ["human"]
    assert await find(label="uma") == []
    assert await find(templates_only=True) == ["persona"]
    assert await find(name="calm one") == ["persona"]
    assert await find(project_id="p1") == ["human"]
    assert await find(label_search="HUMAN") == ["human", "Humans/more"]
    assert await find(description_search="PERSON") == ["human"]
    assert await find(value_search="100") == ["human", "Humans/more"]
    assert await find(value_search="100%") == ["human"], "a per cent sign is a character, not a wildcard"
    assert await find(value_search="m_a") == ["persona"], "and so is an underscore"
    assert await find(label_search="human", value_search="cups") == ["Humans/more"]


async def test_tags_filter_by_any_or_by_all(db: Database, actor: Actor, find: Find) -> None:
    await add(
        db,
        a_block(actor, "both", tags=["red", "round"]),
        a_block(actor, "red", tags=["red"]),
        a_block(actor, "round", tags=["round", "soft"]),
        a_block(actor, "none"),
    )
    assert await find(tags=["red", "round"]) == ["both", "red", "round"]
    assert await find(tags=["red", "round"], match_all_tags=True) == ["both"]
    assert await find(tags=["round", "round"], match_all_tags=True) == ["both", "round"]
    assert await find(tags=["re"]) == []


async def test_blocks_are_found_by_the_identities_they_belong_to(
    db: Database, actor: Actor, find: Find
) -> None:
    hers, his, _nobodys = await add(db, a_block(actor, "hers"), a_block(actor, "his"), a_block(actor, "x"))
    una = await db.write(add_identity, actor, "una", hers.id)
    await db.write(add_identity, actor, "bob", his.id)
    assert await find(identity_id=una) == ["hers"]
    assert await find(identifier_keys=["bob", "una"]) == ["hers", "his"]
    assert await find(identity_id=una, identifier_keys=["bob"]) == []


async def test_blocks_are_found_by_how_many_live_agents_hold_them(
    db: Database, actor: Actor, find: Find
) -> None:
    _none, one, two = await add(db, a_block(actor, "0"), a_block(actor, "1"), a_block(actor, "2"))
    first, second, gone = [await db.write(add_agent, actor) for _ in range(3)]
    for agent_id, block in [(first, one), (first, two), (second, two), (gone, two)]:
        await db.write(repository.attach_block, actor, agent_id, block.id)
    await db.write(delete_agent_softly, gone)
    assert await find(connected_to_agents_count_gt=0) == ["1", "2"]
    assert await find(connected_to_agents_count_lt=2) == ["0", "1"]
    assert await find(connected_to_agents_count_eq=[1]) == ["1"]
    assert await find(connected_to_agents_count_eq=[0, 2]) == ["0", "2"]
    assert await find(connected_to_agents_count_gt=0, connected_to_agents_count_lt=2) == ["1"]


async def test_only_the_given_fields_change(db: Database, actor: Actor) -> None:
    [before] = await add(
        db, a_block(actor, "human", "old", description="d", tags=["t"], metadata={"a": 1}, hidden=True)
    )
    changed = await db.write(
        repository.update_block, actor, before.id, BlockUpdate(value="new", metadata={"b": 2}, label=None)
    )
    assert changed == before.model_copy(update={"value": "new", "metadata": {"b": 2}, "revision": 2})
    assert await db.read(repository.get_block, actor, before.id) == changed


async def test_null_empties_what_people_write_and_nothing_else(db: Database, actor: Actor) -> None:
    fields = {"description": "d", "tags": ["t"], "metadata": {"a": 1}, "hidden": True, "project_id": "p"}
    [before] = await add(db, a_block(actor, "human", "text", **fields))
    nothing = BlockUpdate.model_validate(dict.fromkeys(BlockUpdate.model_fields))
    changed = await db.write(repository.update_block, actor, before.id, nothing)
    emptied: dict[str, Any] = {"description": None, "metadata": {}, "hidden": None}
    assert changed == before.model_copy(update=emptied | {"revision": 2})


async def test_tags_are_replaced_as_a_whole(db: Database, actor: Actor) -> None:
    [block] = await add(db, a_block(actor, "human", tags=["a", "b"]))
    await db.write(repository.update_block, actor, block.id, BlockUpdate(tags=["c", "b", "c"]))
    assert (await db.read(repository.get_block, actor, block.id)).tags == ("c", "b")
    await db.write(repository.update_block, actor, block.id, BlockUpdate(tags=[]))
    assert (await db.read(repository.get_block, actor, block.id)).tags == ()


async def test_the_last_change_names_its_user(db: Database, actor: Actor) -> None:
    [block] = await add(db, a_block(actor, "human"))
    colleague = actor.model_copy(update={"user_id": "user-of-the-same-house"})
    changed = await db.write(repository.update_block, colleague, block.id, BlockUpdate(value="x"))
    assert (changed.created_by_id, changed.last_updated_by_id) == (actor.user_id, colleague.user_id)


@pytest.mark.parametrize(
    "change",
    [
        {"value": "12345678901"},
        {"limit": 2},
        {"limit": 0},
        {"limit": -1},
        {"limit": 2**31},
        {"label": ""},
        {"label": "  "},
        {"label": "two\nlines"},
        {"label": "x" * 256},
        {"tags": ["fine", ""]},
        {"tags": ["tab\there"]},
    ],
)
async def test_what_breaks_the_rules_changes_nothing(
    db: Database, actor: Actor, change: dict[str, Any]
) -> None:
    [before] = await add(db, a_block(actor, "human", "text", limit=10))
    with pytest.raises(Invalid):
        await db.write(
            repository.update_block,
            actor,
            before.id,
            BlockUpdate.model_validate(change | {"description": "d"}),
        )
    assert await db.read(repository.get_block, actor, before.id) == before
    with pytest.raises(Invalid):
        await add(db, before.model_copy(update=change | {"id": new_block_id()}))
    assert await db.read(rows_of, BlockRow) == 1


async def test_a_value_may_fill_its_limit_to_the_last_character(db: Database, actor: Actor) -> None:
    [block] = await add(db, a_block(actor, "human", "é🌱" * 5, limit=10))
    changed = await db.write(repository.update_block, actor, block.id, BlockUpdate(value="x" * 12, limit=12))
    assert len(changed.value) == changed.limit == 12


async def test_the_error_says_how_long_the_value_is_and_what_to_do(db: Database, actor: Actor) -> None:
    with pytest.raises(Invalid, match=r"'tiny' has 30 characters, but its limit is 10.*Shorten .* or raise"):
        await add(db, a_block(actor, "tiny", "x" * 30, limit=10))


async def test_a_value_and_a_limit_that_come_at_once_never_disagree(db: Database, actor: Actor) -> None:
    [block] = await add(db, a_block(actor, "human", "short"))
    changes = [BlockUpdate(value="x" * 50), BlockUpdate(limit=10)]
    await asyncio.gather(
        *(db.write(repository.update_block, actor, block.id, change) for change in changes),
        return_exceptions=True,
    )
    after = await db.read(repository.get_block, actor, block.id)
    assert len(after.value) <= after.limit


async def test_a_deleted_block_is_gone_for_everyone_but_its_row_stays(
    db: Database, actor: Actor, find: Find
) -> None:
    kept, gone = await add(db, a_block(actor, "kept"), a_block(actor, "gone", tags=["t"]))
    agent_id = await db.write(add_agent, actor)
    await db.write(repository.attach_block, actor, agent_id, gone.id)
    version = await db.read(read_version, agent_id)
    await db.write(repository.delete_block, actor, gone.id)
    assert await find() == ["kept"]
    assert await db.read(repository.list_agent_blocks, actor, agent_id) == ()
    assert await db.read(read_version, agent_id) > version
    assert await db.read(rows_of, BlockRow) == 2
    for vain in (
        db.read(repository.get_block, actor, gone.id),
        db.read(repository.get_blocks, actor, [kept.id, gone.id]),
        db.write(repository.update_block, actor, gone.id, BlockUpdate(value="back")),
        db.write(repository.delete_block, actor, gone.id),
        db.write(repository.attach_block, actor, agent_id, gone.id),
    ):
        with pytest.raises(NotFound):
            await vain


async def test_a_deleted_block_is_still_a_cursor_to_go_on_from(db: Database, actor: Actor) -> None:
    blocks = await add(db, *(a_block(actor, f"{n}") for n in range(4)))
    await db.write(repository.delete_block, actor, blocks[1].id)
    page = Page(order="asc", after=blocks[1].id)
    found = await db.read(repository.list_blocks, actor, BlockFilter(), page)
    assert [block.label for block in found] == ["2", "3"]


@pytest.mark.parametrize("is_deleted_before", [False, True])
async def test_purging_takes_the_row_and_all_that_refers_to_it(
    db: Database, actor: Actor, is_deleted_before: bool
) -> None:
    [block] = await add(db, a_block(actor, "human", tags=["t"]))
    agent_id = await db.write(add_agent, actor)
    await db.write(repository.attach_block, actor, agent_id, block.id)
    await db.write(add_identity, actor, "una", block.id)
    version = await db.read(read_version, agent_id)
    if is_deleted_before:
        await db.write(repository.delete_block, actor, block.id)
    await db.write(repository.purge_block, actor, block.id)
    for table in (BlockRow, BlockTagRow, BlocksAgentsRow):
        assert await db.read(rows_of, table) == 0
    assert await db.read(read_version, agent_id) > version
    with pytest.raises(NotFound):
        await db.write(repository.purge_block, actor, block.id)


async def test_another_organisation_sees_and_touches_nothing(db: Database, actor: Actor) -> None:
    [block] = await add(db, a_block(actor, "human", "mine"))
    agent_id = await db.write(add_agent, actor)
    await db.write(repository.attach_block, actor, agent_id, block.id)
    stranger = await db.write(add_stranger)
    where = BlockFilter()
    assert await db.read(repository.list_blocks, stranger, where, OLDEST_FIRST) == []
    assert await db.read(repository.count_blocks, stranger, where) == 0
    assert await db.read(repository.list_agent_blocks, stranger, agent_id) == ()
    assert await db.read(repository.list_blocks_of_agents, stranger, [agent_id]) == {agent_id: ()}
    assert await db.read(repository.page_agent_blocks, stranger, agent_id, OLDEST_FIRST) == []
    assert await db.read(repository.find_block_by_label, stranger, agent_id, "human") is None
    assert await db.read(repository.holders_of, stranger, block.id) == []
    own_agent = await db.write(add_agent, stranger)
    for vain in (
        db.read(repository.get_block, stranger, block.id),
        db.read(repository.get_blocks, stranger, [block.id]),
        db.read(repository.list_blocks, stranger, where, Page(after=block.id)),
        db.write(repository.update_block, stranger, block.id, BlockUpdate(value="theirs")),
        db.write(repository.delete_block, stranger, block.id),
        db.write(repository.purge_block, stranger, block.id),
        db.write(repository.attach_block, stranger, own_agent, block.id),
        db.write(repository.replace_agent_blocks, stranger, own_agent, [block.id]),
        db.write(repository.detach_block, stranger, agent_id, block.id),
    ):
        with pytest.raises(NotFound):
            await vain
    assert await db.read(repository.get_block, actor, block.id) == block
    assert await db.read(repository.list_agent_blocks, actor, agent_id) == (block,)
