"""The filters of a query in SQL, the same for the words and for the vectors of PostgreSQL."""

import hashlib

from remanence.search.ports import ROLES, SearchQuery


def filters_of(query: SearchQuery, table: str) -> tuple[list[str], dict[str, object]]:
    """Conditions on the owner, role, moment and conversation columns of a table, and their values."""
    filters: list[str] = []
    values: dict[str, object] = {}
    if query.owner_ids is not None:
        filters.append(f"{table}.owner = ANY(CAST(:owners AS uuid[]))")
        values["owners"] = [uuid_of(id) for id in query.owner_ids]
    if query.roles is not None:
        filters.append(f"{table}.role = ANY(CAST(:roles AS smallint[]))")
        values["roles"] = [ROLES[role] for role in query.roles if role in ROLES]
    if query.start is not None:
        filters.append(f"{table}.created_at >= :start")
        values["start"] = query.start
    if query.end is not None:
        filters.append(f"{table}.created_at <= :end")
        values["end"] = query.end
    if query.conversation_id == "default":
        filters.append(f"{table}.conversation IS NULL")
    elif query.conversation_id is not None:
        filters.append(f"{table}.conversation = CAST(:conversation AS uuid)")
        values["conversation"] = uuid_of(query.conversation_id)
    return filters, values


def tags_of(query: SearchQuery) -> str:
    """The tags asked for, as an expression of words."""
    joined = " & " if query.needs_all_tags else " | "
    return joined.join(map(tag_word, dict.fromkeys(query.tags)))


def tag_word(tag: str) -> str:
    """Longer than the words of texts are cut to, so that none of them can pass for one."""
    return f"t{hashlib.sha256(tag.encode()).hexdigest()}0"


def uuid_of(id: str) -> str:
    return id[-36:]
