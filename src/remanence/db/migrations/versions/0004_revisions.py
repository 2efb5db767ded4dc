"""The history of blocks and passages, and which block a conversation's copy stands in for."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_BY_RUN = sa.text("run_id IS NOT NULL")

# Until now copies stood in for the agent's block of the same label.
_LINK_COPIES = """
    UPDATE block SET copied_from = (
      SELECT held.block_id FROM blocks_agents AS held
      JOIN conversations ON conversations.agent_id = held.agent_id
      WHERE conversations.id = block.conversation_id AND held.block_label = block.label
    ) WHERE conversation_id IS NOT NULL
"""


def upgrade() -> None:
    op.create_table(
        "revisions",
        sa.Column("subject_id", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("author_kind", sa.String(), nullable=False),
        sa.Column("author_id", sa.String(), nullable=True),
        sa.Column("run_id", sa.String(), nullable=True),
        sa.Column("message_id", sa.String(), nullable=True),
        sa.Column("tool", sa.String(), nullable=True),
        sa.Column("restored", sa.Integer(), nullable=True),
        sa.Column("chars", sa.Integer(), nullable=False),
        sa.Column("change", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("subject_id", "number", name=op.f("pk_revisions")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_revisions_run_id", "revisions", ["run_id"], sqlite_where=_BY_RUN, postgresql_where=_BY_RUN
    )
    op.add_column("block", sa.Column("copied_from", sa.String(), nullable=True))
    op.add_column("block", sa.Column("revision", sa.Integer(), server_default="0", nullable=False))
    op.execute(_LINK_COPIES)


def downgrade() -> None:
    op.drop_column("block", "revision")
    op.drop_column("block", "copied_from")
    op.drop_table("revisions")
