"""The tags in use, on agents and on blocks."""

from sqlalchemy import Connection, collate, select, union

from remanence.core.actor import Actor
from remanence.core.page import Page
from remanence.db.dialect import byte_order
from remanence.db.tables import AgentRow, AgentTagRow, BlockRow, BlockTagRow
from remanence.memory.repository.rows import live


def list_tags(connection: Connection, actor: Actor, page: Page, name: str | None = None) -> list[str]:
    """Tags that a live agent or block has, sorted; `name` is a part of them, in any case.

    Cursors are tags, and need not be in use any more.
    """
    of_agents = (
        select(AgentTagRow.tag)
        .join(AgentRow, AgentRow.id == AgentTagRow.agent_id)
        .where(AgentRow.organization_id == actor.organization_id, AgentRow.is_deleted.is_(False))
    )
    of_blocks = (
        select(BlockTagRow.tag).join(BlockRow, BlockRow.id == BlockTagRow.block_id).where(*live(actor))
    )
    used = union(of_agents, of_blocks).subquery()
    tag = collate(used.c.tag, byte_order(connection))
    is_ascending = page.order == "asc"
    statement = select(used.c.tag)
    if name:
        statement = statement.where(used.c.tag.icontains(name, autoescape=True))
    if page.after is not None:
        statement = statement.where(tag > page.after if is_ascending else tag < page.after)
    if page.before is not None:
        statement = statement.where(tag < page.before if is_ascending else tag > page.before)
    # Going back from a cursor means the nearest tags before it, so they are read backwards and turned.
    is_backwards = page.before is not None and page.after is None
    statement = statement.order_by(tag.asc() if is_ascending != is_backwards else tag.desc())
    tags = list(connection.execute(statement.limit(page.limit)).scalars())
    return tags[::-1] if is_backwards else tags
