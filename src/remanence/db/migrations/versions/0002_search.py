"""The index that search keeps, different in the two databases.

`search_documents` says what is indexed. On SQLite the words are in FTS5, which stores neither the text nor
the places of the words in it; on PostgreSQL they are a column with a GIN index.
"""

from alembic import op

revision = "0002"
down_revision = "0001"

# Texts come folded and parted by spaces (`core/search_text.py`), so every other letter belongs to a word:
# that is what the tokenizer `ascii` does. Without places and lengths the index is half the size.
_SQLITE = (
    """
    CREATE TABLE search_documents (
      key INTEGER PRIMARY KEY AUTOINCREMENT,
      id BLOB NOT NULL UNIQUE,
      created_at INTEGER NOT NULL,
      conversation BLOB
    )
    """,
    """
    CREATE VIRTUAL TABLE search_words USING fts5 (
      words, content='', detail=none, columnsize=0, tokenize='porter ascii'
    )
    """,
)

# The stemmer without a list of stop words: what is left out of a query is decided by the query's parser,
# and names that look like stop words are found.
_POSTGRES = (
    "CREATE TEXT SEARCH DICTIONARY search_stem (TEMPLATE = snowball, LANGUAGE = english)",
    """
    CREATE TABLE search_documents (
      created_at timestamptz NOT NULL,
      id uuid NOT NULL,
      organization uuid NOT NULL,
      owner uuid NOT NULL,
      conversation uuid,
      kind smallint NOT NULL,
      role smallint NOT NULL,
      words tsvector NOT NULL,
      CONSTRAINT pk_search_documents PRIMARY KEY (id)
    )
    """,
    "CREATE INDEX ix_search_documents_owner ON search_documents (owner)",
    # New rows wait in a list that every search reads through, so it is kept short.
    """
    CREATE INDEX ix_search_documents_words ON search_documents USING gin (words)
    WITH (gin_pending_list_limit = 256)
    """,
)


def upgrade() -> None:
    for statement in _POSTGRES if op.get_bind().dialect.name == "postgresql" else _SQLITE:
        op.execute(statement)


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP TABLE search_documents")
        op.execute("DROP TEXT SEARCH DICTIONARY search_stem")
    else:
        op.execute("DROP TABLE search_words")
        op.execute("DROP TABLE search_documents")
