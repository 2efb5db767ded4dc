"""Vectors for the search index, and what waits for them.

On SQLite `search_vectors` is a log: caches in memory read what was added since. A row without a vector
takes a document out. On PostgreSQL the table of vectors needs
an extension that may be missing, so it is made at start, where it can be (`search/postgres_vectors.py`).
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_SQLITE = (
    """
    CREATE TABLE search_vectors (
      key INTEGER PRIMARY KEY AUTOINCREMENT,
      model INTEGER NOT NULL,
      owner BLOB NOT NULL,
      document BLOB NOT NULL,
      created_at INTEGER,
      role INTEGER,
      conversation BLOB,
      vector BLOB
    )
    """,
    "CREATE INDEX ix_search_vectors_owner ON search_vectors (owner, model)",
    "CREATE INDEX ix_search_vectors_model ON search_vectors (model)",
    "CREATE INDEX ix_search_vectors_document ON search_vectors (document)",
)


def upgrade() -> None:
    op.create_table(
        "embedding_models",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("organization_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("fingerprint", sa.String(), nullable=False),
        sa.Column("dimensions", sa.Integer(), nullable=False),
        sa.Column("config", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_embedding_models")),
        sa.UniqueConstraint(
            "organization_id",
            "kind",
            "fingerprint",
            name=op.f("uq_embedding_models_organization_id_kind_fingerprint"),
        ),
    )
    op.create_table(
        "embedding_backlog",
        sa.Column("key", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("document_id", sa.String(), nullable=False),
        sa.Column("owner_id", sa.String(), nullable=False),
        sa.Column("worker", sa.String(), nullable=True),
        sa.Column("alive_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("tries", sa.SmallInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_embedding_backlog")),
        sa.UniqueConstraint("document_id", name=op.f("uq_embedding_backlog_document_id")),
    )
    op.create_index("ix_embedding_backlog_owner_id", "embedding_backlog", ["owner_id"])
    op.create_index("ix_messages_organization_id_created_at", "messages", ["organization_id", "created_at"])
    if op.get_bind().dialect.name == "sqlite":
        for statement in _SQLITE:
            op.execute(statement)


def downgrade() -> None:
    op.execute("DROP TABLE IF EXISTS search_vectors")
    op.drop_index("ix_messages_organization_id_created_at", "messages")
    op.drop_table("embedding_backlog")
    op.drop_table("embedding_models")
