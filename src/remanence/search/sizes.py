"""How much room vectors take."""

from sqlalchemy import Connection, text

_OF_ORGANISATION = """
FROM search_vectors AS v JOIN embedding_models AS m ON m.id = v.model
WHERE m.organization_id = :organization AND m.kind IN ('passage', 'chunk')
"""


def vector_bytes(connection: Connection, organization_id: str) -> int:
    """Of all passages that an organisation has, in archives and in files."""
    is_sqlite = connection.dialect.name == "sqlite"
    if not is_sqlite and connection.scalar(text("SELECT to_regclass('search_vectors')::text")) is None:
        return 0
    size = "length(v.vector)" if is_sqlite else "pg_column_size(v.vector)"
    statement = text(f"SELECT coalesce(sum({size}), 0) {_OF_ORGANISATION}")
    return int(connection.scalar(statement, {"organization": organization_id}) or 0)
